import { expect } from 'chai';
import { GatewayError } from '../../../commands/kernel/errors.ts';
import {
  callOf,
  helloOf,
  openSession,
  type RawAnswer,
  rawMcp,
  type RawRequest,
  rpc,
} from '../../support/mcp/raw-mcp.ts';
import { sampleCaller } from '../../support/mcp/sample-caller.ts';
import { type ServedMcp, serveMcp } from '../../support/mcp/serve-mcp.ts';

interface ErrorAnswer {
  readonly error: { code: string | number; status?: number; request_id?: string };
}
const errorOf = ({ body }: RawAnswer): ErrorAnswer['error'] => (body as ErrorAnswer).error;

describe('/mcp over HTTP', () => {
  let served: ServedMcp;
  let session: Record<string, string>;
  const send = (request: RawRequest): Promise<RawAnswer> => rawMcp(served.url, request);
  const inSession = (body: unknown, more: RawRequest = {}): Promise<RawAnswer> =>
    send({ ...more, body, headers: { ...session, ...more.headers } });

  /** The answer's status and code, checked to be our own error body. */
  async function refusal(request: RawRequest): Promise<[number, string | number]> {
    const answer = await send(request);
    const { code, status, request_id } = errorOf(answer);
    expect(status).to.equal(answer.status);
    expect(request_id).to.equal(answer.headers.get('request-id'));
    return [answer.status, code];
  }

  before(async () => {
    served = await serveMcp();
    served.gate.callers.set('one', sampleCaller());
    served.gate.callers.set('narrow', sampleCaller({ tokenId: 'tok_2', scopes: ['messages:read'] }));
    served.gate.callers.set('other-principal', sampleCaller({ principalId: 'agt_2' }));
    served.gate.callers.set('other-org', sampleCaller({ orgId: 'org_2' }));
  });
  beforeEach(async () => {
    session = await openSession(served.url, '2025-11-25');
    served.gate.counted.length = 0;
  });
  afterEach(() => {
    expect(served.gate.atWork).to.equal(0);
    served.gate.closed = false;
    served.gate.writesClosed = false;
  });
  after(() => served.close());

  describe('checks, each before the next', () => {
    it('refuses a foreign origin, and null, with 403', async () => {
      for (const origin of ['http://evil.example', 'null']) {
        expect(await refusal({ headers: { origin, authorization: undefined } })).to.deep.equal([
          403,
          'origin_not_allowed',
        ]);
      }
      expect((await inSession(rpc('ping'), { headers: { origin: 'http://good.example' } })).status).to.equal(
        200,
      );
    });

    it('refuses a missing or bad bearer with 401 and a challenge, whatever the method', async () => {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const answer = await send({ method, headers: { authorization: undefined } });
        expect([answer.status, errorOf(answer).code]).to.deep.equal([401, 'unauthenticated']);
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer realm="mcp"');
      }
      const bad = await send({ method: 'GET', bearer: 'bad' });
      expect(bad.headers.get('www-authenticate')).to.equal('Bearer realm="mcp", error="invalid_token"');
    });

    it('refuses too many requests with 429 and Retry-After', async () => {
      served.gate.closed = true;
      const answer = await send({ method: 'GET' });
      expect([answer.status, errorOf(answer).code]).to.deep.equal([429, 'rate_limited']);
      expect(answer.headers.get('retry-after')).to.equal('7');
    });

    it('answers other methods with 405 and Allow', async () => {
      for (const method of ['GET', 'PUT', 'PATCH', 'OPTIONS']) {
        const answer = await send({ method, headers: { accept: 'text/event-stream' } });
        expect([answer.status, errorOf(answer).code]).to.deep.equal([405, 'method_not_allowed']);
        expect(answer.headers.get('allow')).to.equal('POST, DELETE');
      }
    });

    it('wants JSON (415) and both media types accepted (406) on POST', async () => {
      const wrongType = { body: 'x', headers: { 'content-type': 'text/plain', accept: 'x/y' } };
      expect(await refusal(wrongType)).to.deep.equal([415, 'unsupported_media_type']);
      expect(await refusal({ body: 'x', headers: { accept: 'application/json' } })).to.deep.equal([
        406,
        'not_acceptable',
      ]);
    });

    it('refuses more than 1 MiB with 413, announced or not', async () => {
      const large = `{"a":"${'x'.repeat(1_048_576)}"}`;
      expect(await refusal({ body: large })).to.deep.equal([413, 'payload_too_large']);
      const chunks = new Blob([large]).stream();
      const init = { method: 'POST', body: chunks, duplex: 'half' } as const;
      const headers = { authorization: 'Bearer one', accept: '*/*', 'content-type': 'application/json' };
      expect((await fetch(served.url, { ...init, headers })).status).to.equal(413);
    });

    it('answers what is no JSON, or no message, with 400 and a JSON-RPC error, session or not', async () => {
      const notJson = await send({ body: '{"jsonrpc":' });
      expect([notJson.status, errorOf(notJson).code]).to.deep.equal([400, -32700]);
      for (const [message, id] of [
        [{ jsonrpc: '2.0', id: null, method: 'ping' }, undefined],
        [{ id: 3, method: 'ping' }, 3],
      ] as const) {
        const answer = await inSession(message);
        expect([answer.status, errorOf(answer).code]).to.deep.equal([400, -32600]);
        expect((answer.body as { id?: unknown }).id).to.equal(id);
      }
    });

    it('wants the session header on everything but initialize', async () => {
      expect(await refusal({ body: rpc('ping') })).to.deep.equal([400, 'invalid_request']);
      expect(await refusal({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } })).to.deep.equal([
        400,
        'invalid_request',
      ]);
      expect(await refusal({ method: 'DELETE' })).to.deep.equal([400, 'invalid_request']);
    });

    it('answers an unknown session with 404 before it judges the version', async () => {
      const headers = { 'mcp-session-id': 'unknown', 'mcp-protocol-version': 'nonsense' };
      expect(await refusal({ body: rpc('ping'), headers })).to.deep.equal([404, 'session_not_found']);
      expect(await refusal({ method: 'DELETE', headers })).to.deep.equal([404, 'session_not_found']);
    });

    it('wants the negotiated revision named', async () => {
      for (const version of [undefined, '2025-06-18', '1999-01-01']) {
        const request = { body: rpc('ping'), headers: { ...session, 'mcp-protocol-version': version } };
        expect(await refusal(request)).to.deep.equal([400, 'protocol_version_unsupported']);
      }
    });
  });

  describe('sessions', () => {
    it('are unknown to any other token, principal or organisation', async () => {
      for (const bearer of ['narrow', 'other-principal', 'other-org']) {
        expect(await refusal({ body: rpc('ping'), headers: session, bearer })).to.deep.equal([
          404,
          'session_not_found',
        ]);
        expect(await refusal({ method: 'DELETE', headers: session, bearer })).to.deep.equal([
          404,
          'session_not_found',
        ]);
      }
      expect((await inSession(rpc('ping'))).status).to.equal(200);
    });

    it('leave a trace when they are asked for by somebody else, store or no store', async () => {
      const request = { body: rpc('ping'), headers: session, bearer: 'narrow' };
      served.recorded.length = 0;
      const { headers } = await send(request);
      expect(served.recorded.map(({ data }) => data)).to.deep.equal([
        { capability: null, code: 'session_not_found', mailbox_id: null },
      ]);
      expect(served.recorded[0]?.metadata).to.include({ request_id: headers.get('request-id') });
      const { record } = served.ports.accessLog;
      served.ports.accessLog.record = () => Promise.reject(new Error('store away'));
      expect((await send(request)).status).to.equal(404);
      served.ports.accessLog.record = record;
    });

    it('end with DELETE: 204, then 404 for everything', async () => {
      const ended = await send({ method: 'DELETE', headers: { ...session, accept: undefined } });
      expect([ended.status, ended.text]).to.deep.equal([204, '']);
      expect(await refusal({ method: 'DELETE', headers: session })).to.deep.equal([404, 'session_not_found']);
      expect(await refusal({ body: callOf('get_identity'), headers: session })).to.deep.equal([
        404,
        'session_not_found',
      ]);
    });

    it('are made anew by an initialize that carries a stale id or any version header', async () => {
      const headers = { 'mcp-session-id': 'stale', 'mcp-protocol-version': 'x' };
      const { status, headers: answered } = await send({ body: helloOf('2025-06-18'), headers });
      expect(status).to.equal(200);
      expect(answered.get('mcp-session-id'))
        .to.match(/^[\u0021-\u007e]{32,}$/)
        .and.not.equal('stale');
    });

    it('are bound to token, organisation and principal', () => {
      const row = served.sessions.rows.get(session['mcp-session-id'] ?? '');
      expect(row).to.include({
        tokenId: 'tok_1',
        orgId: 'org_1',
        principalId: 'agt_1',
        revision: '2025-11-25',
        advancedTools: false,
      });
    });

    it('may be a copy for tools/call, but not for the list, the switch or the end', async () => {
      served.sessions.ages.length = 0;
      await inSession(callOf('get_identity'));
      await inSession(rpc('tools/list'));
      await inSession(callOf('settings_toggle_advanced_tools', { enabled: false }));
      await send({ method: 'DELETE', headers: session });
      expect(served.sessions.ages).to.deep.equal([1_000, 0, 0, 0]);
    });
  });

  describe('answers', () => {
    it('are one plain JSON body with its length, a request id and no ETag', async () => {
      const { status, headers, text } = await inSession(rpc('ping', {}, 'p'));
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
        const { status, text } = await inSession(message);
        expect([status, text]).to.deep.equal([202, '']);
      }
    });

    it('are JSON-RPC errors for unknown methods and malformed params', async () => {
      const cases: [unknown, number][] = [
        [rpc('resources/list'), -32601],
        [rpc('__proto__'), -32601],
        [rpc('tools/list', { cursor: 'x' }), -32602],
        [rpc('tools/call', { arguments: {} }), -32602],
        [rpc('tools/call', { name: 'get_identity', arguments: [] }), -32602],
        [callOf('no_such_tool'), -32602],
        [callOf('note_query', { select: 5 }), -32602],
      ];
      for (const [message, code] of cases) {
        const answer = await inSession(message);
        expect([answer.status, errorOf(answer).code]).to.deep.equal([200, code]);
        expect(answer.body).to.include({ id: 1 });
      }
      const badHello = await send({ body: rpc('initialize', { protocolVersion: 5 }) });
      expect([badHello.status, errorOf(badHello).code, badHello.headers.get('mcp-session-id')]).to.deep.equal(
        [200, -32602, null],
      );
    });

    it('are 403 with a challenge for a tool out of scope', async () => {
      const headers = await openSession(served.url, '2025-11-25', 'narrow');
      const answer = await send({
        bearer: 'narrow',
        headers,
        body: callOf('note_copy', { message_ids: ['m'] }),
      });
      expect([answer.status, errorOf(answer).code]).to.deep.equal([403, 'insufficient_scope']);
      expect(answer.headers.get('www-authenticate')).to.equal(
        'Bearer realm="mcp", error="insufficient_scope", scope="messages:copy"',
      );
    });

    it('are 429 for a write too many', async () => {
      served.gate.writesClosed = true;
      const write = callOf('note_copy', { message_ids: ['m'], idempotency_key: 'k' });
      expect((await inSession(write)).status).to.equal(429);
      expect((await inSession(callOf('get_identity'))).status).to.equal(200);
    });

    it('are 503 and say when to come back while the sessions cannot be reached', async () => {
      const { find, create } = served.sessions;
      const away = () => Promise.reject(new GatewayError('store_unavailable', 'the database is away'));
      Object.assign(served.sessions, { find: away, create: away });
      const answers = [await inSession(rpc('ping')), await send({ body: helloOf('2025-11-25') })];
      Object.assign(served.sessions, { find, create });
      for (const answer of answers) {
        expect([answer.status, errorOf(answer).code]).to.deep.equal([503, 'store_unavailable']);
        expect(answer.headers.get('retry-after')).to.equal('2');
      }
    });

    it('hide what fails inside', async () => {
      const { create } = served.sessions;
      served.sessions.create = () => Promise.reject(new Error('secret'));
      const answer = await send({ body: helloOf('2025-11-25') });
      served.sessions.create = create;
      expect(errorOf(answer)).to.deep.equal({ code: -32603, message: 'Internal error' });
    });
  });

  describe('batches', () => {
    const silent = { jsonrpc: '2.0', method: 'notifications/x' };

    it('are refused from 2025-06-18 on', async () => {
      for (const revision of ['2025-06-18', '2025-11-25']) {
        const answer = await send({ body: [rpc('ping')], headers: await openSession(served.url, revision) });
        expect([answer.status, errorOf(answer).code]).to.deep.equal([400, -32600]);
      }
    });

    it('of 2025-03-26 are answered by an array, also for one request, and need no version header', async () => {
      const { 'mcp-session-id': id } = await openSession(served.url, '2025-03-26');
      const headers = { 'mcp-session-id': id };
      const one = await send({ headers, body: [rpc('ping', {}, 'a')] });
      expect(one.body).to.deep.equal([{ jsonrpc: '2.0', id: 'a', result: {} }]);
      const mixed = await send({
        headers,
        body: [rpc('ping', {}, 'a'), silent, { id: 9 }, rpc('nope', {}, 'b')],
      });
      const answers = mixed.body as { id: unknown; error?: { code: number } }[];
      expect(answers.map(({ id: told, error }) => [told, error?.code])).to.deep.equal([
        ['a', undefined],
        [9, -32600],
        ['b', -32601],
      ]);
      const quiet = await send({ headers, body: [silent, { jsonrpc: '2.0', id: 1, result: {} }] });
      expect([quiet.status, quiet.text]).to.deep.equal([202, '']);
    });

    it('answer a call out of scope, or too many, as that item and count each call', async () => {
      served.gate.writesClosed = true;
      const { 'mcp-session-id': id } = await openSession(served.url, '2025-03-26', 'narrow');
      served.gate.counted.length = 0;
      const { status, body } = await send({
        bearer: 'narrow',
        headers: { 'mcp-session-id': id },
        body: [
          callOf('note_copy', {}, 'a'),
          callOf('get_identity', {}, 'b'),
          callOf('get_identity', {}, 'c'),
        ],
      });
      const items = body as {
        id: string;
        result: { isError: boolean; structuredContent: { error?: { code: string } } };
      }[];
      expect(status).to.equal(200);
      expect(items.map(({ id: told, result }) => [told, result.isError])).to.deep.equal([
        ['a', true],
        ['b', false],
        ['c', false],
      ]);
      expect(items[0]?.result.structuredContent.error?.code).to.equal('insufficient_scope');
      expect(served.gate.counted).to.deep.equal(['request', 'read', 'read']);
    });
  });

  it('lets later reads of a session wait for its writes', async () => {
    served.seen.length = 0;
    const act = { operation: { type: 'note_actions', select: { message_ids: ['m'] } }, idempotency_key: 'k' };
    await inSession(callOf('get_identity'));
    await inSession(callOf('note_act', act));
    await inSession(callOf('get_identity'));
    expect(served.seen.map(({ ifPosition }) => ifPosition)).to.deep.equal([null, null, 2n]);
  });

  it('survives a client that goes away in the middle of its body', async () => {
    const controller = new AbortController();
    const body = new ReadableStream({
      start: (stream) => {
        stream.enqueue(Buffer.from('{"jsonrpc"'));
        setTimeout(() => controller.abort(), 20);
      },
    });
    const headers = { authorization: 'Bearer one', accept: '*/*', 'content-type': 'application/json' };
    const aborted = fetch(served.url, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      signal: controller.signal,
    });
    expect(await aborted.catch((error: unknown) => error)).to.have.property('name', 'AbortError');
    expect((await inSession(rpc('ping'))).status).to.equal(200);
  });
});
