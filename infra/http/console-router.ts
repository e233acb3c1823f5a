/** `/console`: the approver's page and its files (`contract.md` 18). Public: what they show comes from the REST face, for a bearer. */
import { createHash } from 'node:crypto';
import express, { type Router } from 'express';
import { GatewayError } from '../../commands/values/errors.ts';
import { PREVIEW_STYLE } from '../../read-api/approvals/preview/document.ts';
import { type ConsoleFiles, readConsoleFiles } from './console-files.ts';
import { refuseRequest } from './refuse-request.ts';

/** A frame made of a text is under the policy of its page too (CSP 3, 7.8), so the page names the one style of previews. */
const PREVIEW_STYLE_SOURCE = `'sha256-${createHash('sha256').update(PREVIEW_STYLE).digest('base64')}'`;

/**
 * Scripts and styles come from here and as files; nothing can be framed, posted to or loaded from elsewhere; a text becomes
 * markup through one named policy, which feeds the sandboxed frame of the preview (`console/preview-frame.js`).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${PREVIEW_STYLE_SOURCE}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types console-preview',
].join('; ');

const PAGE_HEADERS = new Map([
  ['Content-Type', 'text/html; charset=utf-8'],
  ['Content-Security-Policy', POLICY],
  ['Cache-Control', 'no-store'],
  ['X-Frame-Options', 'DENY'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
]);

/** Their address changes with their content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** A router for `/console` and below. */
export function consoleRouter(files: ConsoleFiles = readConsoleFiles()): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get('/', (request, response) => {
    // Relative addresses in the page count from the folder it lies in.
    if (request.originalUrl.split('?', 1)[0]?.endsWith('/') === true) response.redirect(308, '../console');
    else response.setHeaders(PAGE_HEADERS).end(files.page);
  });
  router.get(`/${files.version}/:name`, (request, response, next) => {
    const file = files.files.get(request.params.name);
    if (file === undefined) {
      next('router');
      return;
    }
    response.set({
      'Content-Type': file.type,
      'Cache-Control': FOR_EVER,
      ETag: `"${files.version}"`,
      'Cross-Origin-Resource-Policy': 'same-origin',
    });
    if (request.fresh) response.status(304).end();
    else response.end(file.bytes);
  });
  router.all(['/', `/${files.version}/:name`], (_, response) => {
    response.setHeader('Allow', 'GET, HEAD');
    refuseRequest(response, new GatewayError('method_not_allowed', 'This path takes GET and HEAD.'));
  });
  return router;
}
