import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createOAuthGuard, guardedFetch } from '../../../../infra/oauth/guarded-fetch.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const GET = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const;

describe('guardedFetch', () => {
  let server: http.Server;
  let port: number;
  let seen: http.IncomingMessage[];

  before(async () => {
    server = http.createServer((request, response) => {
      seen.push(request);
      if (request.url === '/moved') response.writeHead(302, { location: '/elsewhere' }).end();
      else if (request.url === '/endless') response.writeHead(200).end(Buffer.alloc(300 * 1024));
      else if (request.method === 'POST') request.pipe(response);
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  after(() => server.close());
  beforeEach(() => {
    seen = [];
  });

  const named = (resolve = () => Promise.resolve(['127.0.0.1'])) =>
    guardedFetch(createOAuthGuard([new URL(`http://idp.example:${String(port)}/tenant`)], resolve));
  const at = (path: string): string => `http://idp.example:${String(port)}${path}`;

  it(`connects to the address it tested, whatever the name resolves to later ${verifies('contract:18:provider-egress')}`, async () => {
    const answers = [['127.0.0.1'], ['192.0.2.1']];
    const response = await named(() => Promise.resolve(answers.shift() ?? []))(at('/'), GET);
    expect(await response.json()).to.deep.equal({ ok: true });
    expect(seen[0]?.headers.host).to.equal(`idp.example:${String(port)}`);
    expect(answers, 'resolved once').to.have.length(1);
  });

  it(`follows no redirect ${verifies('contract:18:provider-egress')}`, async () => {
    const response = await named()(at('/moved'), GET);
    expect(response.status).to.equal(302);
    expect(seen.map(({ url }) => url)).to.deep.equal(['/moved']);
  });

  it('refuses an endless answer', async () => {
    expect((await rejection(Promise.resolve(named()(at('/endless'), GET)))).message).to.contain('too large');
  });

  it('sends the headers of a Headers object, and ends with its signal', async () => {
    const headers = new Headers({ accept: 'application/json' });
    await named()(at('/'), { headers });
    expect(seen[0]?.headers.accept).to.equal('application/json');
    const ended = named()(at('/'), { signal: AbortSignal.abort() });
    expect((await rejection(ended)).name).to.equal('AbortError');
    expect(seen).to.have.length(1);
  });

  it('sends a form unchanged', async () => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'a b&c' });
    const response = await named()(at('/token'), { ...GET, method: 'POST', body });
    expect(await response.text()).to.equal('grant_type=refresh_token&refresh_token=a+b%26c');
  });

  const blockedBy = async (url: string, address: string): Promise<unknown> => {
    const failure = await rejection(Promise.resolve(named(() => Promise.resolve([address]))(url, GET)));
    expect(failure).to.have.property('code', 'target_blocked');
    return (failure as { details?: { reason?: unknown } }).details?.reason;
  };

  it(`refuses private addresses that no setting names, and public ones without HTTPS ${verifies('contract:18:provider-egress')}`, async () => {
    expect(await blockedBy('https://metadata.example/', '169.254.169.254')).to.equal('egress');
    expect(await blockedBy('https://idp.example/', '127.0.0.1')).to.equal('egress');
    expect(await blockedBy('https://elsewhere.example:8443/', '8.8.8.8')).to.equal('egress');
    expect(await blockedBy('http://elsewhere.example/', '8.8.8.8')).to.equal('egress');
    expect(await blockedBy(at('/'), '8.8.8.8'), 'plain, to another machine').to.equal('plain_connection');
    expect(seen).to.deep.equal([]);
  });
});
