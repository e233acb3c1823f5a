import { expect } from 'chai';
import { GatewayError } from '../../../commands/values/errors.ts';
import { errorOf, stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import { callOf, helloOf, rpc } from '../../support/worlds/mcp/raw-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('answers of /mcp', () => {
  const stage = stageMcp();

  it('are one plain JSON body with its length, a request id and no ETag', async () => {
    const { status, headers, text } = await stage.inSession(rpc('ping', {}, 'p'));
    expect([status, text]).to.deep.equal([200, '{"jsonrpc":"2.0","id":"p","result":{}}']);
    expect(headers.get('content-type')).to.equal('application/json');
    expect(headers.get('content-length')).to.equal(String(text.length));
    expect(headers.get('request-id')).to.match(/^req_/);
    expect(headers.get('etag')).to.equal(null);
  });

  it('are 202 without a body for notifications, known or not, and for responses', async () => {
    const silent = [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/of/another/kind', params: { a: 1 } },
      { jsonrpc: '2.0', id: 4, result: {} },
      { jsonrpc: '2.0', id: 4, error: { code: 1, message: 'x' } },
    ];
    for (const message of silent) {
      const { status, text } = await stage.inSession(message);
      expect([status, text]).to.deep.equal([202, '']);
    }
  });

  it(`are JSON-RPC errors for unknown methods and malformed params ${verifies('contract:16:json-rpc-codes')}`, async () => {
    const cases: [unknown, number][] = [
      [rpc('resources/list'), -32601],
      [rpc('__proto__'), -32601],
      [rpc('tools/list', { cursor: 'x' }), -32602],
      [rpc('tools/call', { arguments: {} }), -32602],
      [rpc('tools/call', { name: 'get_identity', arguments: [] }), -32602],
      [callOf('no_such_tool'), -32602],
    ];
    for (const [message, code] of cases) {
      const answer = await stage.inSession(message);
      expect([answer.status, errorOf(answer).code]).to.deep.equal([200, code]);
      expect(answer.body).to.include({ id: 1 });
    }
    const badHello = await stage.send({ body: rpc('initialize', { protocolVersion: 5 }) });
    expect([badHello.status, errorOf(badHello).code, badHello.headers.get('mcp-session-id')]).to.deep.equal([
      200,
      -32602,
      null,
    ]);
  });

  it(`are 403 with a challenge for a tool out of scope ${verifies('contract:16:out-of-scope')}`, async () => {
    const headers = await stage.open('2025-11-25', 'narrow');
    const answer = await stage.send({
      bearer: 'narrow',
      headers,
      body: callOf('note_copy', { message_ids: ['m'] }),
    });
    expect([answer.status, errorOf(answer).code]).to.deep.equal([403, 'insufficient_scope']);
    expect(answer.headers.get('www-authenticate')).to.match(
      /^Bearer realm="mcp", error="insufficient_scope", scope="messages:copy", resource_metadata="http[^"]+"$/,
    );
  });

  it('are 429 when the writes exceed their limit', async () => {
    stage.served.gate.writesClosed = true;
    const write = callOf('note_copy', { message_ids: ['m'], idempotency_key: 'k' });
    expect((await stage.inSession(write)).status).to.equal(429);
    expect((await stage.inSession(callOf('get_identity'))).status).to.equal(200);
  });

  it(`are 503 with a time to retry when the sessions cannot be reached ${verifies('contract:13:retry-503')}`, async () => {
    stage.served.sessions.failure = new GatewayError('store_unavailable', 'the database is away');
    const answers = [await stage.inSession(rpc('ping')), await stage.send({ body: helloOf('2025-11-25') })];
    for (const answer of answers) {
      expect([answer.status, errorOf(answer).code]).to.deep.equal([503, 'store_unavailable']);
      expect(answer.headers.get('retry-after')).to.equal('2');
    }
  });

  it(`hide the text of an internal failure ${verifies('contract:13:internal', 'contract:16:json-rpc-codes')}`, async () => {
    stage.served.sessions.failure = new Error('secret');
    const answer = await stage.send({ body: helloOf('2025-11-25') });
    expect(errorOf(answer)).to.deep.equal({ code: -32603, message: 'Internal error' });
  });

  it(`accept unknown protocol params, a task too ${verifies('contract:0:protocol-params-loose', 'contract:16:other-revisions-ignore-task')}`, async () => {
    const extra = { _meta: { progressToken: 1 }, of_tomorrow: { a: 1 }, task: { ttl: 60_000 } };
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const greeted = await stage.send({ body: rpc('initialize', { ...hello, ...extra }) });
    expect(greeted.status).to.equal(200);
    const listed = await stage.inSession(rpc('tools/list', extra));
    expect(listed.body).to.have.nested.property('result.tools').with.length.above(0);
    for (const revision of ['2025-06-18', '2025-03-26']) {
      const headers = await stage.open(revision);
      const params = { name: 'get_identity', arguments: {}, ...extra };
      const { body } = await stage.send({ headers, body: rpc('tools/call', params) });
      expect(body).to.have.deep.nested.property('result.structuredContent', { tools: ['get_identity'] });
      expect(body).not.to.have.nested.property('result.task');
    }
  });

  it(`are an event stream with the notification when the call changed the list ${verifies('contract:16:list-changed')}`, async () => {
    const toggle = callOf('settings_toggle_advanced_tools', { enabled: true }, 'switch');
    const { status, headers, text } = await stage.inSession(toggle);
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/event-stream']);
    const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as object);
    expect(messages).to.have.length(2);
    expect(messages).to.deep.include({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(messages.at(-1)).to.include({ id: 'switch' });
    const again = await stage.inSession(toggle);
    expect(again.headers.get('content-type')).to.equal('application/json');
  });

  it('continue for others when a client disconnects in the middle of its body', async () => {
    const controller = new AbortController();
    const body = new ReadableStream({
      start: (stream) => {
        stream.enqueue(Buffer.from('{"jsonrpc"'));
        setTimeout(() => {
          controller.abort();
        }, 20);
      },
    });
    const headers = { authorization: 'Bearer one', accept: '*/*', 'content-type': 'application/json' };
    const aborted = fetch(stage.served.url, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      signal: controller.signal,
    });
    expect(await aborted.catch((error: unknown) => error)).to.have.property('name', 'AbortError');
    expect((await stage.inSession(rpc('ping'))).status).to.equal(200);
  });
});
