import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { expect } from 'chai';
import { startHttpServer } from '../../../../infra/http/http-server.ts';
import { createMetrics } from '../../../../infra/observability/metrics.ts';
import { errorOf, type RestStage, startRestStage } from '../../../support/worlds/rest/rest-stage.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { exchange } from '../../../support/servers/raw-http.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the HTTP server', () => {
  let stage: RestStage;

  beforeEach(async () => {
    stage = await startRestStage();
  });
  afterEach(() => stage.close());

  const get = (url: string) => stage.call('GET', '', { url, bearer: null });

  it(`lists its adapters without sign-in ${verifies('contract:19:rest-base')}`, async () => {
    const answer = await get('/');
    expect(answer.json).to.include({
      rest: '/api/v1',
      mcp: '/mcp',
      openapi: '/api/v1/openapi.json',
      console: '/console',
    });
    expect((await stage.call('GET', '/notes/n')).status).to.equal(200);
  });

  it('redirects a browser to the console', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const led = await stage.call('GET', '', { url: '/', bearer: null, headers: { accept } });
    expect(led.status).to.equal(303);
    expect(led.headers).to.include({ location: 'console', vary: 'Accept' });
    expect((await stage.call('GET', '', { url: '/', headers: { accept: '*/*' } })).status).to.equal(200);
  });

  it('routes /mcp with any query to its handler, and no path beside it', async () => {
    expect((await get('/mcp')).text).to.equal('mcp');
    expect((await get('/mcp?a=b')).text).to.equal('mcp');
    for (const url of [
      '/mcp/',
      '/mcpx',
      '/MCP',
      '/notes/n',
      '/api',
      '/api/v2/notes/n',
      '/metrics',
      '//',
      '/%zz',
    ]) {
      const answer = await get(url);
      expect(answer.status, url).to.equal(404);
      expect(errorOf(answer), url).to.include({
        code: 'not_found',
        request_id: answer.headers['request-id'],
      });
    }
  });

  it('sends an id and the headers that stop content sniffing with every answer', async () => {
    for (const url of ['/', '/nothing', '/health/live', '/health/ready', '/api/v1/notes/n', '/api/v1/%zz']) {
      const { headers } = await get(url);
      expect(headers['request-id'], url).to.match(/^req_[0-9a-z]{26}$/);
      expect(headers, url).to.include({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
      });
      expect(headers, url).not.to.have.any.keys('x-powered-by', 'etag');
    }
    expect((await get('/mcp')).headers).to.include({ 'x-content-type-options': 'nosniff' });
  });

  it('logs one line per request with its ids and without secrets', async () => {
    const answer = await stage.call('GET', '/notes/n?text=swordfish');
    const lines = stage.lines.filter(({ message }) => message === 'http: request');
    expect(lines).to.have.length(1);
    expect(lines[0]?.fields).to.deep.include({
      method: 'GET',
      path: '/api/v1/notes/n',
      capability: 'get_note',
      status: 200,
      request_id: answer.headers['request-id'],
      remote: '127.0.0.1',
    });
    expect(JSON.stringify(lines)).not.to.match(/swordfish|mgw_/);
    await get('/health/live');
    await get('/nothing');
    expect(stage.lines.slice(1).map(({ fields }) => fields['path'])).to.deep.equal(['/nothing']);
  });

  it(`logs caller, capability and size of the answer ${verifies('contract:20:access-log')}`, async () => {
    const { text } = await stage.call('GET', '/notes/n', { headers: { 'user-agent': 'Probe/1.0' } });
    await stage.call('GET', '/notes/n', { bearer: null });
    const [known, unknown] = stage.lines.map(({ fields }) => fields);
    const { memory } = stage;
    expect(known).to.include({
      token_id: memory.ownerTokenId,
      principal_id: memory.org.userId,
      org_id: memory.org.orgId,
      user_agent: 'Probe/1.0',
    });
    expect(known?.['bytes']).to.be.within(text.length, text.length + 2_000);
    expect(unknown).to.include({ status: 401, token_id: undefined, principal_id: undefined });
  });

  it('counts requests by adapter, capability and status', async () => {
    await stage.call('GET', '/notes/n');
    await stage.call('GET', '/closed');
    await get('/nothing');
    const text = await stage.metrics.text();
    for (const labels of [
      'face="rest",capability="get_note",status="200"',
      'face="rest",capability="closed_note",status="403"',
      'face="other",capability="none",status="404"',
    ]) {
      expect(text).to.include(`gateway_request_seconds_count{${labels}} 1`);
    }
  });

  it('logs a disconnected client differently from an answer', async () => {
    const open = stage.notes.holdSlow();
    const request = http.get({
      host: '127.0.0.1',
      port: stage.server.port,
      path: '/api/v1/slow',
      headers: { authorization: `Bearer ${stage.memory.org.restToken}` },
    });
    request.on('error', () => undefined);
    await stage.notes.slowAtWork(1);
    const logged = stage.nextLine();
    request.destroy();
    expect((await logged).fields['status']).to.equal(499);
    open();
  });

  it('reports a taken port in one sentence', async () => {
    const options = {
      host: '127.0.0.1',
      port: stage.server.port,
      log: stage.ports.log,
      metrics: stage.metrics,
    };
    const { message } = await rejection(startHttpServer(options));
    expect(message).to.match(/^Cannot listen on port \d+ of 127\.0\.0\.1/);
  });
});

describe('the HTTP server before an invalid request', () => {
  let stage: RestStage;

  beforeEach(async () => {
    stage = await startRestStage({}, { maxConnections: 2 });
  });
  afterEach(() => stage.close());

  it(`refuses it with an id and the usual body ${verifies('contract:13:node-refusals')}`, async () => {
    const bearer = `Authorization: Bearer ${stage.memory.org.restToken}`;
    const refusals = [
      ['GET /\u0000 HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
      ['GET / HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
      [`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'header_fields_too_large'],
      [
        `POST /api/v1/notes HTTP/1.1\r\nHost: x\r\n${bearer}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
        400,
        'invalid_request',
      ],
    ] as const;
    for (const [text, status, code] of refusals) {
      const answer = await exchange(stage.server.port, text);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      expect(head, text).to.match(new RegExp(`^HTTP/1\\.1 ${String(status)} `));
      expect(head).to.match(/\r\nConnection: close(\r\n|$)/i);
      const [, id] = /\r\nRequest-Id: (req_[0-9a-z]{26})(?:\r\n|$)/i.exec(head) ?? [];
      const { error } = JSON.parse(body) as { error: object };
      expect(error).to.include({ code, status, request_id: id, retryable: false });
      const line = stage.lines.find(({ fields }) => fields['request_id'] === id);
      expect(line?.fields).to.include({ status });
    }
    expect(stage.lines.filter(({ level }) => level !== 'info')).to.deep.equal([]);
  });

  it('answers a complete request before it refuses the bytes behind it', async () => {
    const bearer = `Authorization: Bearer ${stage.memory.org.restToken}`;
    const request = `GET /api/v1/notes/n HTTP/1.1\r\nHost: x\r\n${bearer}\r\n\r\n`;
    const answer = await exchange(stage.server.port, `${request}\u0000 is no request`);
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
    expect(answer).to.match(/\r\nConnection: close\r\n/i);
  });

  it('serves a request with an unknown Expect header', async () => {
    const answer = await exchange(
      stage.server.port,
      'GET / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
    );
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
  });

  it(`limits the connections and logs the limit once ${verifies('contract:15:max-connections')}`, async () => {
    const sockets = [1, 2].map(() => net.connect(stage.server.port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (let n = 0; n < 2; n += 1) {
      const third = net.connect(stage.server.port, '127.0.0.1');
      third.on('error', () => undefined);
      await new Promise((resolve) => third.once('close', resolve));
    }
    const told = stage.lines.filter(({ level }) => level === 'warn');
    expect(told.map(({ fields }) => fields)).to.deep.equal([{ max_connections: 2 }]);
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
    await eventually(async () => (await stage.call('GET', '/notes/n')).status === 200);
  });
});

describe('the HTTP server behind a trusted proxy', () => {
  let stage: RestStage;

  before(async () => {
    stage = await startRestStage({}, { trustedProxies: ['127.0.0.0/8'] });
  });
  after(() => stage.close());

  it(`uses its forwarded client address in audit, log and limits ${verifies('contract:20:trusted-proxies')}`, async () => {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': `6.6.6.6, ${address}` } });
    await stage.call('GET', '/closed', from('198.51.100.5'));
    const { actor } = stage.recorded[0]?.metadata as { actor: { client: string } };
    expect(actor.client).to.include('"ip":"198.51.100.5"');
    expect(stage.lines[0]?.fields).to.include({ remote: '198.51.100.5' });

    for (const address of ['198.51.100.5', '198.51.100.6', '198.51.100.5'])
      await stage.call('GET', '/notes/n', { bearer: null, ...from(address) });
    expect(new Set(stage.counted).size, 'refusals by source').to.equal(2);

    const sourceOf = async (address: string) =>
      (await stage.call('POST', '/open', { bearer: null, ...from(address) })).json?.['source'];
    expect(await sourceOf('198.51.100.5')).to.equal(await sourceOf('198.51.100.5'));
    expect(await sourceOf('198.51.100.5')).not.to.equal(await sourceOf('198.51.100.6'));
  });
});

describe('the HTTP server of a process without adapters', () => {
  it('answers health checks, and the usual 404 for other paths when it has started', async () => {
    const options = { host: '127.0.0.1', port: 0, log: silentLog, metrics: createMetrics() };
    const server = await startHttpServer(options);
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${String(server.port)}${path}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    try {
      expect((await get('/health/live')).status).to.equal(200);
      const { status, body } = await get('/health/ready');
      expect(status).to.equal(503);
      expect(body).to.deep.equal({ status: 'not_ready', checks: { started: { ok: false } } });
      expect((await get('/mcp')).body['error']).to.include({ code: 'overloaded', retryable: true });
      server.serve({ faces: null, checks: {} });
      expect((await get('/health/live')).status).to.equal(200);
      expect((await get('/health/ready')).body).to.deep.equal({ status: 'ready', checks: {} });
      for (const path of ['/', '/mcp', '/mcp?x=1', '/api/v1/identity']) {
        const { status, body } = await get(path);
        expect(status, path).to.equal(404);
        expect(body['error'], path).to.include({ code: 'not_found', status: 404, retryable: false });
      }
    } finally {
      await server.close();
    }
  });
});

describe('the shutdown of the HTTP server', () => {
  let stage: RestStage;

  beforeEach(async () => {
    stage = await startRestStage();
  });

  it('finishes open calls, accepts no new ones and ends idle connections', async () => {
    const open = stage.notes.holdSlow();
    // Left open and idle by a client that keeps connections alive.
    await stage.call('GET', '/notes/n');
    const slow = stage.call('GET', '/slow');
    await stage.notes.slowAtWork(1);
    const begin = performance.now();
    const closed = stage.server.close();
    const late = net.connect(stage.server.port, '127.0.0.1');
    const refused = await new Promise<Error>((resolve) => late.once('error', resolve));
    expect(refused).to.include({ code: 'ECONNREFUSED' });
    open();
    expect((await slow).status).to.equal(200);
    await closed;
    expect(performance.now() - begin).to.be.lessThan(8_000);
    stage.agent.destroy();
  });
});
