/**
 * `/console`: the approver's page and its files (`contract.md` 18). Public: the data they show comes from the REST API, for
 * a bearer.
 */
import { createHash } from 'node:crypto';
import express, { type Router } from 'express';
import type { SignUp } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { PREVIEW_STYLE } from '../../read-api/approvals/preview/document.ts';
import { refuseRequest } from './refuse-request.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The policy of a page also applies to a frame made from text (CSP 3, 7.8), so the page names the one style of previews. */
const PREVIEW_STYLE_SOURCE = `'sha256-${createHash('sha256').update(PREVIEW_STYLE).digest('base64')}'`;

/**
 * Scripts and styles come from here and as files; nothing can be framed, posted to or loaded from elsewhere; text becomes
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

/** The page that verifies audit files reads them in the browser: it cannot connect to anything, not even to the gateway. */
const VERIFY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders = (policy: string): Map<string, string> =>
  new Map([
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Content-Security-Policy', policy],
    ['Cache-Control', 'no-store'],
    ['X-Frame-Options', 'DENY'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ]);
const PAGE_HEADERS = pageHeaders(POLICY);
const VERIFY_HEADERS = pageHeaders(VERIFY_POLICY);

/** Their address changes with their content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** What the page says of this installation to whoever opens it. */
export interface ConsoleFacts {
  readonly signUp: SignUp;
  /** Whether the gateway sends mails of its own. */
  readonly hasSystemMail: boolean;
}

/** A router for `/console` and below. */
export function consoleRouter(facts: ConsoleFacts): Router {
  const files = readConsoleFiles(facts);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get('/', (request, response) => {
    // Relative addresses in the page are resolved against its folder.
    if (request.originalUrl.split('?', 1)[0]?.endsWith('/') === true) response.redirect(308, '../console');
    else response.setHeaders(PAGE_HEADERS).end(files.page);
  });
  router.get('/verify', (_, response) => {
    response.setHeaders(VERIFY_HEADERS).end(files.verifyPage);
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
  router.all(['/', '/verify', `/${files.version}/:name`], (_, response) => {
    response.setHeader('Allow', 'GET, HEAD');
    refuseRequest(response, new GatewayError('method_not_allowed', 'This path accepts only GET and HEAD.'));
  });
  return router;
}

/** The files of the approver's page: read once, served under an address that changes with their content. */
interface ConsoleFile {
  readonly type: string;
  readonly bytes: Buffer;
}

interface ConsoleFiles {
  /** Identifies the content of all files: 16 hex digits. */
  readonly version: string;
  /** The page, with links to the files of this version. */
  readonly page: Buffer;
  readonly verifyPage: Buffer;
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

const FOLDER = join(import.meta.dirname, '../console');
const PAGE = 'console.html';
const VERIFY_PAGE = 'verify-audit.html';
const VERSION_CHARS = 16;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads all files. Throws when a page is missing. */
function readConsoleFiles({ signUp, hasSystemMail }: ConsoleFacts): ConsoleFiles {
  const names = readdirSync(FOLDER).sort();
  const files = new Map<string, ConsoleFile>();
  const hash = createHash('sha256');
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bytes = readFileSync(join(FOLDER, name));
    hash.update(`${name}\n`).update(bytes);
    files.set(name, { type, bytes });
  }
  const version = hash.digest('hex').slice(0, VERSION_CHARS);
  const page = readFileSync(join(FOLDER, PAGE), 'utf8')
    // Relative to the page's address.
    .replaceAll('{{assets}}', `console/${version}`)
    .replace('{{sign-up}}', signUp)
    .replace('{{system-mail}}', hasSystemMail ? 'on' : 'off');
  // This page is one folder below.
  const verifyPage = readFileSync(join(FOLDER, VERIFY_PAGE), 'utf8').replaceAll('{{assets}}', version);
  return { version, page: Buffer.from(page), verifyPage: Buffer.from(verifyPage), files };
}
