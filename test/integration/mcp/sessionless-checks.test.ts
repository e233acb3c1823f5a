import { expect } from 'chai';
import { supportedRevisions } from '../../../mcp/protocol-revisions.ts';
import { exchange } from '../../support/servers/raw-http.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import {
  helloOf,
  META,
  type RawAnswer,
  type RawRequest,
  rpc,
  sessionless,
  sessionlessCall,
} from '../../support/worlds/mcp/raw-mcp.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const CLIENT = 'io.modelcontextprotocol/clientInfo';

interface Answer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const answerOf = ({ body }: RawAnswer): Answer => body as Answer;

/** A list of tools whose `_meta` is this one. */
const withMeta = (meta: unknown): RawRequest => sessionless('tools/list', { _meta: meta }, 'x');

const withHeaders = (request: RawRequest, headers: RawRequest['headers']): RawRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});

const list = sessionless('tools/list', {}, 'x');
const call = sessionlessCall('get_identity', {}, 'x');
const without = (key: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(META).filter(([name]) => name !== key));
const inVersion = (version: unknown, header: string): RawRequest =>
  withHeaders(withMeta({ ...META, [VERSION]: version }), { 'mcp-protocol-version': header });
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('the checks of a request without a session', () => {
  const stage = stageMcp({ mcpRevisions: supportedRevisions({ sessionless: true }) });

  const accepted: Readonly<Record<string, RawRequest>> = {
    'that is complete': list,
    'of a client that does not name itself': withMeta(without(CLIENT)),
    'with further keys in _meta': withMeta({
      ...META,
      traceparent: '00-0',
      'com.example/x': 1,
      progressToken: 1,
    }),
    'with a tool': call,
    'whose tool is encoded as base64': withHeaders(call, { 'mcp-name': base64('get_identity') }),
    'with the id of a session, which is ignored': withHeaders(list, { 'mcp-session-id': 'unknown' }),
  };
  for (const [kind, request] of Object.entries(accepted)) {
    it(`accept one ${kind} ${verifies('contract:16:sessionless-headers')}`, async () => {
      const answer = await stage.send(request);
      expect([answer.status, answerOf(answer).id], answer.text).to.deep.equal([200, 'x']);
      expect(answerOf(answer)).to.have.property('result');
      expect(answer.headers.has('mcp-session-id')).to.equal(false);
    });
  }

  const [invalidParams, mismatch, unsupported] = [-32602, -32020, -32022];
  const refused: readonly (readonly [kind: string, RawRequest, code: number])[] = [
    ['without _meta', { ...list, body: rpc('tools/list', {}, 'x') }, invalidParams],
    ['without params', { ...list, body: { jsonrpc: '2.0', id: 'x', method: 'tools/list' } }, invalidParams],
    ['whose _meta is no object', withMeta('x'), invalidParams],
    ['whose _meta names no version', withMeta(without(VERSION)), invalidParams],
    ['whose version is no text', withMeta({ ...META, [VERSION]: 2026 }), invalidParams],
    ['without capabilities', withMeta(without(CAPABILITIES)), invalidParams],
    ['whose capabilities are no object', withMeta({ ...META, [CAPABILITIES]: [] }), invalidParams],
    ['whose client has no version', withMeta({ ...META, [CLIENT]: { name: 'raw' } }), invalidParams],
    ['without the version header', withHeaders(list, { 'mcp-protocol-version': undefined }), mismatch],
    [
      'whose version header is of a session',
      withHeaders(list, { 'mcp-protocol-version': '2025-11-25' }),
      mismatch,
    ],
    ['whose _meta names another version', inVersion('2027-01-01', '2026-07-28'), mismatch],
    ['of an unknown version', inVersion('2027-01-01', '2027-01-01'), unsupported],
    ['of a version with sessions', inVersion('2025-11-25', '2025-11-25'), unsupported],
    ['without the method header', withHeaders(list, { 'mcp-method': undefined }), mismatch],
    ['whose method header is another', withHeaders(list, { 'mcp-method': 'tools/call' }), mismatch],
    ['whose method header is in capitals', withHeaders(list, { 'mcp-method': 'TOOLS/LIST' }), mismatch],
    ['without the name header', withHeaders(call, { 'mcp-name': undefined }), mismatch],
    ['whose name header is another', withHeaders(call, { 'mcp-name': 'note_query' }), mismatch],
    ['whose encoded name is another', withHeaders(call, { 'mcp-name': base64('note_query') }), mismatch],
    [
      'whose name is encoded badly',
      withHeaders(call, { 'mcp-name': '=?base64?Z2V0X2lkZW50aXR5=?=' }),
      mismatch,
    ],
    ['whose encoded name is no text', withHeaders(call, { 'mcp-name': '=?base64?/w==?=' }), mismatch],
    ['whose method header repeats', withHeaders(list, { 'mcp-method': 'tools/list, tools/list' }), mismatch],
  ];
  for (const [kind, request, code] of refused) {
    it(`refuse one ${kind} with 400 and ${String(code)} ${verifies('contract:16:sessionless-headers', 'contract:16:sessionless-errors')}`, async () => {
      const answer = await stage.send(request);
      expect([answer.status, answerOf(answer).error?.code], answer.text).to.deep.equal([400, code]);
      expect(answerOf(answer).id).to.equal('x');
      expect(answer.headers.get('content-type')).to.equal('application/json');
      expect(stage.served.gate.counted).to.deep.equal(['request']);
    });
  }

  it('name every key of _meta that is missing, and the header with the value it needs', async () => {
    const missing = answerOf(await stage.send(withMeta({}))).error?.message;
    expect(missing).to.include(VERSION).and.include(CAPABILITIES).and.not.include(CLIENT);
    const header = answerOf(await stage.send(withHeaders(call, { 'mcp-name': 'other' }))).error?.message;
    expect(header).to.equal('Header mismatch: Mcp-Name differs from the body; expected "get_identity".');
  });

  it(`name the version they have, and the one that was requested ${verifies('contract:16:sessionless-headers')}`, async () => {
    const { error } = answerOf(await stage.send(inVersion('2027-01-01', '2027-01-01')));
    expect(error?.data).to.deep.equal({ supported: ['2026-07-28'], requested: '2027-01-01' });
  });

  it('ignore spaces around the value of a header', async () => {
    const body = JSON.stringify(call.body);
    const head = [
      'POST /mcp HTTP/1.1', 'Host: x', 'Authorization: Bearer one', 'Accept: */*', 'Content-Type: application/json',
      'MCP-PROTOCOL-VERSION: \t 2026-07-28 ', 'mcp-method:tools/call\t', 'Mcp-Name:   get_identity  ',
      `Content-Length: ${String(body.length)}`, 'Connection: close',
    ]; // prettier-ignore
    const answer = await exchange(
      Number(new URL(stage.served.url).port),
      `${head.join('\r\n')}\r\n\r\n${body}`,
    );
    expect(answer).to.match(/^HTTP\/1\.1 200 /);
  });

  for (const method of [
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/list',
    'resources/subscribe',
    'prompts/list',
    'tasks/get',
    'tasks/list',
    'subscriptions/listen',
    'unknown/method',
    'constructor',
    '__proto__',
  ])
    // prettier-ignore
    it(`answer ${method} with 404 and −32601 ${verifies('contract:16:sessionless-errors')}`, async () => {
      const answer = await stage.send(sessionless(method, {}, 7));
      expect(answer.status).to.equal(404);
      expect(answer.body).to.deep.equal({
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32601, message: 'Method not found' },
      });
    });

  it('refuse a batch and a posted response, and drop notifications', async () => {
    const { headers } = list;
    for (const body of [[list.body], { jsonrpc: '2.0', id: 1, result: {} }]) {
      const answer = await stage.send({ body, headers });
      expect([answer.status, answerOf(answer).error?.code]).to.deep.equal([400, -32600]);
      expect(answerOf(answer)).to.not.have.property('id');
    }
    const params = { _meta: META, requestId: 1 };
    const notification = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
    for (const sent of [headers, {}]) {
      const answer = await stage.send({ body: notification, headers: sent });
      expect([answer.status, answer.text]).to.deep.equal([202, '']);
    }
  });

  it(`leave initialize without _meta to the sessions, whatever its header ${verifies('contract:16:sessionless-off')}`, async () => {
    for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28' }]) {
      const answer = await stage.send({ body: helloOf('2026-07-28'), headers });
      expect([answer.status, answerOf(answer).result]).to.have.nested.property(
        '[1].protocolVersion',
        '2025-11-25',
      );
      expect(answer.headers.get('mcp-session-id')).to.be.a('string');
    }
  });
});

describe('a request without a session, where the revision is off', () => {
  const stage = stageMcp({ mcpRevisions: supportedRevisions({ sessionless: false }) });

  it(`is refused as before, which makes a client initialize ${verifies('contract:16:sessionless-off')}`, async () => {
    for (const request of [list, call, sessionless('server/discover'), inVersion('2027-01-01', '2027-01-01')])
      expect(await stage.refusal(request)).to.deep.equal([400, 'invalid_request']);
    const inSession = {
      ...list,
      headers: { ...list.headers, 'mcp-session-id': stage.session['mcp-session-id'] },
    };
    expect(await stage.refusal(inSession)).to.deep.equal([400, 'protocol_version_unsupported']);
  });
});
