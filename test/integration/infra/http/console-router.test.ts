import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { PREVIEW_STYLE } from '../../../../read-api/approvals/preview/document.ts';
import { errorOf, type RestStage, startRestStage } from '../../../support/worlds/rest/rest-stage.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const FOLDER = join(import.meta.dirname, '../../../../infra/console');
const sources = globSync('*.{js,mjs,css,html,svg}', { cwd: FOLDER }).map((name) => ({
  name,
  text: readFileSync(join(FOLDER, name), 'utf8'),
}));

describe('the files of the console', () => {
  let stage: RestStage;

  before(async () => {
    stage = await startRestStage();
  });
  after(() => stage.close());

  const call = (url: string, method = 'GET', headers = {}) =>
    stage.call(method, '', { url, bearer: null, headers });
  const assetsOf = (page: string): readonly string[] =>
    [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);

  it(`are served without sign-in, and no other file ${verifies('contract:18:console-files')}`, async () => {
    const page = await call('/console');
    expect(page.status).to.equal(200);
    expect(page.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(page.text, 'what it tells of the installation').to.contain('name="sign-up" content="invite"');
    expect(page.text).to.contain('name="system-mail" content="on"').and.not.to.contain('{{');
    const assets = assetsOf(page.text);
    expect(assets.map((address) => basename(address))).to.have.members([
      'icon.svg',
      'console.css',
      'main.js',
    ]);
    const [folder = ''] = /^console\/[0-9a-f]{16}\//.exec(assets[0] ?? '') ?? [];
    for (const { name } of sources.filter(({ name }) => !name.endsWith('.html'))) {
      const { status, headers } = await call(`/${folder}${name}`);
      expect(status, name).to.equal(200);
      expect(headers['content-type'], name).to.match(
        /^(text\/javascript; charset=utf-8|text\/css; charset=utf-8|image\/svg\+xml)$/,
      );
      expect(headers['cache-control'], name).to.equal('public, max-age=31536000, immutable');
      expect((await call(`/${folder}${name}`, 'GET', { 'if-none-match': headers.etag })).status).to.equal(
        304,
      );
    }
    const beside = ['tsconfig.json', 'payloads.d.ts', 'console.html', '..%2fmain.ts', '%2e%2e/main.ts', ''];
    for (const url of [...beside.map((name) => `/${folder}${name}`), '/console/main.js', '/CONSOLE']) {
      const answer = await call(url);
      expect(answer.status, url).to.equal(404);
      expect(errorOf(answer), url).to.include({ code: 'not_found' });
    }
  });

  it(`have a content policy that allows their own files only and no frame around them ${verifies('contract:18:console-policy')}`, async () => {
    const { headers, text } = await call('/console?any=query');
    expect(String(headers['content-security-policy']).split('; ')).to.have.members([
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'sha256-${createHash('sha256').update(PREVIEW_STYLE).digest('base64')}'`,
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types console-preview',
    ]);
    expect(headers).to.include({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers).not.to.have.property('set-cookie');
    expect(text).not.to.match(/<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/i);
  });

  it('include a page that verifies audit files and connects to nothing', async () => {
    const { status, headers, text } = await call('/console/verify');
    expect(status).to.equal(200);
    expect(String(headers['content-security-policy']).split('; ')).to.include.members([
      "default-src 'none'",
      "connect-src 'none'",
      "form-action 'none'",
      "trusted-types 'none'",
    ]);
    // Links lead back to the console; what the page loads is beside it.
    const loaded = assetsOf(text).filter((address) => !address.startsWith('..'));
    for (const address of loaded) expect((await call(`/console/${address}`)).status, address).to.equal(200);
    const [folder = ''] = loaded[0]?.split('/') ?? [];
    const verifier = await call(`/console/${folder}/verify-audit.mjs`);
    expect(verifier.headers['content-type']).to.equal('text/javascript; charset=utf-8');
    expect((await call('/console/verify', 'POST')).status).to.equal(405);
  });

  it('are served by GET and HEAD at one address', async () => {
    const refused = await call('/console', 'POST');
    expect(refused.status).to.equal(405);
    expect(refused.headers.allow).to.equal('GET, HEAD');
    expect(errorOf(refused)).to.include({ code: 'method_not_allowed' });
    expect(await call('/console', 'HEAD')).to.include({ status: 200, text: '' });
    const moved = await call('/console/');
    expect(moved.status).to.equal(308);
    expect(new URL(String(moved.headers.location), 'http://gateway.example/console/').pathname).to.equal(
      '/console',
    );
  });

  it('name no other host and create markup from text in one place only', () => {
    for (const { name, text } of sources) {
      const hosts = [...text.matchAll(/\b(?:https?:)?\/\/[\w-]+\.[\w.-]+/g)].map(([host]) => host);
      expect(
        hosts.filter((host) => !host.endsWith('//www.w3.org')),
        name,
      ).to.deep.equal([]);
      const sinks =
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|cookie/i;
      const isFrame = name === 'preview-frame.js';
      expect(sinks.test(text.replaceAll(/\/\*[^]*?\*\//g, '')), name).to.equal(isFrame);
    }
  });
});
