import { expect } from 'chai';
import { supportedRevisions } from '../../../mcp/protocol-revisions.ts';
import { eventually } from '../../support/suite/eventually.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { heldTools } from '../../support/worlds/mcp/held-tools.ts';
import { errorOf, stageMcp } from '../../support/worlds/mcp/mcp-stage.ts';
import {
  callOf,
  type RawAnswer,
  rawMcp,
  rpc,
  sessionless,
  sessionlessCall,
} from '../../support/worlds/mcp/raw-mcp.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { serveMcp } from '../../support/worlds/mcp/serve-mcp.ts';

const SERVER = { 'io.modelcontextprotocol/serverInfo': { name: 'mailbox-gateway', version: '0.0.0' } };
const on = { mcpRevisions: supportedRevisions({ sessionless: true }) };

interface Result {
  readonly resultType: string;
  readonly _meta: Record<string, unknown>;
  readonly tools: readonly { name: string; outputSchema?: unknown; execution?: unknown }[];
  readonly isError: boolean;
  readonly structuredContent: { readonly error?: { code: string } } & Record<string, unknown>;
}

const resultOf = ({ body }: RawAnswer): Result => (body as { result: Result }).result;

const act = (key: string) =>
  sessionlessCall('note_act', {
    operation: { type: 'note_actions', select: { message_ids: ['m'] } },
    idempotency_key: key,
  });

describe('MCP without sessions', () => {
  const stage = stageMcp(on);
  const names = async (bearer = 'one'): Promise<string[]> =>
    resultOf(await stage.send({ ...sessionless('tools/list'), bearer })).tools.map(({ name }) => name);

  it(`introduces itself by server/discover, for five minutes and this caller only ${verifies('contract:16:sessionless-results')}`, async () => {
    const { body, status } = await stage.send(sessionless('server/discover', {}, 'd'));
    const { instructions, ...result } = (body as { result: Record<string, unknown> }).result;
    expect(status).to.equal(200);
    expect(result).to.deep.equal({
      resultType: 'complete',
      ttlMs: 300_000,
      cacheScope: 'private',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: SERVER,
    });
    expect(instructions)
      .to.match(/^This server reads and changes e-mail/)
      .and.not.include('settings_toggle');
  });

  it(`lists every tool in scope, never the switch, and with schemas ${verifies('contract:16:sessionless-tools', 'contract:16:sessionless-results')}`, async () => {
    const result = resultOf(await stage.send(sessionless('tools/list')));
    expect(result).to.include({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'private' });
    expect(result._meta).to.deep.equal(SERVER);
    expect(result.tools.map(({ name }) => name)).to.deep.equal([
      'get_identity',
      'note_query',
      'note_act',
      'note_copy',
      'note_fail',
    ]);
    for (const tool of result.tools) expect(tool).to.have.property('outputSchema').and.not.equal(undefined);
    for (const tool of result.tools) expect(tool).to.not.have.property('execution');
    expect(await names('narrow')).to.deep.equal(['get_identity', 'note_query', 'note_fail']);
    expect((await stage.send(sessionless('tools/list', { cursor: 'x' }))).body).to.have.nested.property(
      'error.code',
      -32602,
    );
  });

  it(`lists the same while a session of the token switches its list ${verifies('contract:16:sessionless-tools')}`, async () => {
    const before = await names();
    const toggled = await stage.inSession(callOf('settings_toggle_advanced_tools', { enabled: true }));
    expect(toggled.headers.get('content-type')).to.equal('text/event-stream');
    expect(await names()).to.deep.equal(before);
    const { body } = await stage.inSession(rpc('tools/list'));
    const { tools } = (body as { result: Result }).result;
    expect(tools.map(({ name }) => name)).to.include.members(['settings_toggle_advanced_tools', 'note_fail']);
    const call = await stage.send(sessionlessCall('settings_toggle_advanced_tools', { enabled: true }));
    expect([call.status, errorOf(call).code]).to.deep.equal([200, -32602]);
  });

  it(`answers a call with its type, the server and the content of a session's answer ${verifies('contract:16:sessionless-results')}`, async () => {
    const inSession = await stage.inSession(callOf('get_identity'));
    stage.served.sessions.ages.length = 0;
    const here = await stage.send(sessionlessCall('get_identity'));
    expect(resultOf(here)).to.deep.equal({ ...resultOf(inSession), resultType: 'complete', _meta: SERVER });
    expect(stage.served.sessions.ages).to.deep.equal([]);
  });

  it('ignores a wish for a task, and marks domain errors and invalid arguments with isError', async () => {
    const asTask = await stage.send(
      sessionless('tools/call', { name: 'get_identity', arguments: {}, task: { ttl: 60_000 } }),
    );
    expect(resultOf(asTask).isError).to.equal(false);
    for (const [name, args, code] of [
      ['note_query', { nonsense: 1 }, 'invalid_request'],
      [
        'note_act',
        { operation: { type: 'note_actions', select: { message_ids: ['m'] } } },
        'idempotency_key_required',
      ],
      ['note_fail', { code: 'conflict' }, 'conflict'],
      ['note_fail', { code: 'x' }, 'internal_error'],
    ] as const) {
      const answer = await stage.send(sessionlessCall(name, args));
      expect(answer.status).to.equal(200);
      expect(resultOf(answer)).to.include({ resultType: 'complete', isError: true });
      expect(resultOf(answer)._meta).to.deep.equal(SERVER);
      expect(resultOf(answer).structuredContent.error?.code).to.equal(code);
    }
  });

  it(`answers an unknown tool and a malformed call with −32602 in the body ${verifies('contract:16:sessionless-errors')}`, async () => {
    for (const request of [
      sessionlessCall('no_such_tool', {}, 9),
      sessionless('tools/call', {}, 9),
      sessionless('tools/call', { name: 'get_identity', arguments: [] }, 9),
    ]) {
      const answer = await stage.send(request);
      expect([answer.status, errorOf(answer).code]).to.deep.equal([200, -32602]);
      expect(answer.body).to.have.property('id', 9);
    }
  });

  it(`keeps the HTTP status of a refusal, its headers and its error as data ${verifies('contract:16:sessionless-errors', 'contract:16:out-of-scope')}`, async () => {
    const forbidden = await stage.send({ ...act('k'), bearer: 'narrow' });
    expect(forbidden.status).to.equal(403);
    expect(forbidden.headers.get('www-authenticate')).to.match(
      /^Bearer realm="mcp", error="insufficient_scope", scope="messages:archive", resource_metadata="[^"]+"$/,
    );
    const { id, error } = forbidden.body as { id: unknown; error: { code: number; data: object } };
    expect([id, error.code]).to.deep.equal([1, 403]);
    expect(error.data).to.include({ code: 'insufficient_scope', status: 403 });
    expect(error.data).to.have.property('request_id', forbidden.headers.get('request-id'));
    stage.served.gate.writesClosed = true;
    const limited = await stage.send(act('k2'));
    expect([limited.status, errorOf(limited).code, limited.headers.get('retry-after')]).to.deep.equal([
      429,
      429,
      '7',
    ]);
  });

  it('answers what precedes the message as for a session', async () => {
    const list = sessionless('tools/list');
    const cases = [
      [{ ...list, headers: { ...list.headers, authorization: undefined } }, 401, 'unauthenticated'],
      [{ ...list, headers: { ...list.headers, origin: 'null' } }, 403, 'origin_not_allowed'],
      [{ ...list, headers: { ...list.headers, accept: 'application/json' } }, 406, 'not_acceptable'],
      [{ headers: list.headers, method: 'GET' }, 405, 'method_not_allowed'],
    ] as const;
    for (const [request, status, code] of cases)
      expect(await stage.refusal(request)).to.deep.equal([status, code]);
  });

  it(`lets later reads of the token wait for its writes, not those of its sessions ${verifies('contract:16:sessionless-writes')}`, async () => {
    stage.served.seen.length = 0;
    await stage.send(act('w'));
    await stage.send(sessionlessCall('get_identity'));
    await stage.inSession(callOf('get_identity'));
    await stage.send({ ...sessionlessCall('get_identity'), bearer: 'narrow' });
    expect(stage.served.seen.map(({ ifPosition }) => ifPosition)).to.deep.equal([null, 1n, null, null]);
  });

  it('names no session in events, and needs none', async () => {
    stage.served.recorded.length = 0;
    stage.served.sessions.ages.length = 0;
    await stage.send({ ...act('r'), bearer: 'narrow' });
    expect(stage.served.recorded).to.have.length(1);
    expect(stage.served.recorded[0]?.metadata).to.not.have.property('mcp_session');
    expect(stage.served.sessions.ages).to.deep.equal([]);
  });
});

describe('a call without a session that its client leaves', () => {
  it(`ends its wait and frees its place; a write runs to its outcome ${verifies('contract:16:sessionless-cancel')}`, async () => {
    const { registry, ended, finishWrite } = heldTools();
    const served = await serveMcp(on, { registry });
    served.gate.callers.set('one', sampleCaller());
    const leaving = new AbortController();
    const calls = ['note_wait', 'note_write'].map((name) =>
      rawMcp(served.url, { ...sessionlessCall(name), signal: leaving.signal }).catch(
        (error: unknown) => error,
      ),
    );
    await eventually(() => served.gate.waiting === 1 && served.gate.counted.includes('write'));
    leaving.abort();
    for (const outcome of await Promise.all(calls)) expect(outcome).to.have.property('name', 'AbortError');
    await eventually(() => ended.length === 1 && served.gate.waiting === 0);
    expect(ended).to.deep.equal(['wait']);
    finishWrite();
    await eventually(() => ended.length === 2 && served.gate.atWork === 0);
    expect(served.logged).to.deep.equal([]);
    await served.close();
  });
});
