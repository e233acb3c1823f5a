import { expect } from 'chai';
import { JSONRPCErrorException } from 'json-rpc-2.0';
import { GatewayError } from '../../../commands/values/errors.ts';
import type { ServerInfo } from '../../../commands/ports/ports.ts';
import { callTool, type ToolCall } from '../../../mcp/call-tool.ts';
import { NEWEST_REVISION } from '../../../mcp/protocol-revisions.ts';
import { ToolCatalogue } from '../../../mcp/list-tools.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { samplePorts } from '../../support/worlds/mcp/sample-ports.ts';
import { sampleRegistry } from '../../support/worlds/mcp/sample-registry.ts';
import { verifies } from '../../support/suite/verifies.ts';

interface Result {
  readonly content: { type: string; text: string }[];
  readonly structuredContent: Record<string, unknown> & { error?: { code: string; message: string } };
  readonly isError: boolean;
  readonly _meta?: unknown;
}

function stage(server: Partial<ServerInfo> = {}) {
  const sample = sampleRegistry();
  const fake = samplePorts(server);
  const toolbox = {
    catalogue: new ToolCatalogue(sample.registry),
    registry: sample.registry,
    ports: fake.ports,
  };
  const admitted: string[] = [];
  const call = (name: string, args: Record<string, unknown> = {}, more: Partial<ToolCall> = {}) =>
    callTool(toolbox, {
      name,
      args,
      caller: sampleCaller(),
      client: null,
      requestId: 'req_1',
      sessionId: 'session',
      ifPosition: null,
      admit: ({ effect }) => {
        admitted.push(effect);
      },
      gone: () => new AbortController().signal,
      revision: NEWEST_REVISION,
      resultMeta: {},
      ...more,
    });
  const result = async (...parameters: Parameters<typeof call>): Promise<Result> =>
    JSON.parse((await call(...parameters)).result) as Result;
  return { ...sample, ...fake, admitted, call, result };
}

async function thrown(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

async function jsonRpcError(promise: Promise<unknown>): Promise<JSONRPCErrorException> {
  const error = await thrown(promise);
  if (error instanceof JSONRPCErrorException) return error;
  throw error;
}

const act = { operation: { type: 'note_actions', select: { message_ids: ['m'] } } };

describe('callTool', () => {
  it(`answers with structured content and the identical JSON as text ${verifies('contract:16:structured-content')}`, async () => {
    const { result } = stage();
    const { content, structuredContent, isError } = await result('get_identity');
    expect(isError).to.equal(false);
    expect(structuredContent).to.deep.equal({ tools: ['get_identity'] });
    expect(content).to.deep.equal([{ type: 'text', text: JSON.stringify(structuredContent) }]);
  });

  it(`leaves content empty, not absent, when the text block is off ${verifies('contract:16:text-block-off', 'contract:16:structured-content')}`, async () => {
    const { result } = stage({ mcpTextBlock: false });
    expect((await result('get_identity')).content).to.deep.equal([]);
    const failed = await result('note_fail', { code: 'conflict' });
    expect(failed.content).to.deep.equal([]);
    expect(failed.structuredContent.error?.code).to.equal('conflict');
  });

  it(`throws −32602 for an unknown tool and for a capability without a tool ${verifies('contract:16:unknown-tool')}`, async () => {
    const { call } = stage();
    for (const name of ['nothing', 'rest_only', 'toString']) {
      const { code, message } = await jsonRpcError(call(name));
      expect(code).to.equal(-32602);
      expect(message).to.match(/^Unknown tool/);
    }
  });

  it(`throws −32602 when arguments break the schema before 2025-11-25, with every path and no value ${verifies('contract:0:unknown-fields', 'contract:16:argument-errors')}`, async () => {
    const { call, seen } = stage();
    const old = { revision: { argumentErrorsAsResults: false } };
    const error = await jsonRpcError(
      call('note_query', { select: { limit: 'do-not-echo' }, extra: 'do-not-echo' }, old),
    );
    expect(error.code).to.equal(-32602);
    expect(error.message).to.contain('select.limit').and.contain('extra');
    expect(JSON.stringify(error.toObject())).to.not.contain('do-not-echo');
    expect(seen).to.deep.equal([]);
  });

  it(`returns invalid_request when arguments break the schema from 2025-11-25 on ${verifies('contract:16:argument-errors')}`, async () => {
    const { result, seen } = stage();
    const answer = await result('note_query', {
      select: { limit: 'do-not-echo' },
      extra: 'do-not-echo',
    });
    const { error } = answer.structuredContent as {
      error: { code: string; message: string; details: unknown };
    };
    expect([answer.isError, error.code]).to.deep.equal([true, 'invalid_request']);
    expect(error.message).to.contain('select.limit').and.contain('extra').and.contain('nothing was done');
    expect(error.details).to.have.nested.property('issues[1].path');
    expect(JSON.stringify(answer)).to.not.contain('do-not-echo');
    expect(seen).to.deep.equal([]);
  });

  it('throws insufficient_scope before it reads the arguments, and records it', async () => {
    const { call, recorded } = stage();
    const error = await thrown(
      call('note_copy', { broken: true }, { caller: sampleCaller({ scopes: ['messages:read'] }) }),
    );
    expect(error).to.be.instanceOf(GatewayError).with.property('code', 'insufficient_scope');
    expect(recorded.map(({ data }) => data['code'])).to.deep.equal(['insufficient_scope']);
  });

  it('throws errors that belong to the HTTP layer', async () => {
    const { call } = stage();
    for (const code of ['insufficient_scope', 'rate_limited', 'session_not_found']) {
      expect(await thrown(call('note_fail', { code }))).to.have.property('code', code);
    }
  });

  it('returns every other error as a result', async () => {
    const { result } = stage();
    for (const code of [
      'not_found',
      'policy_denied',
      'store_unavailable',
      'cardinality_violation',
      'invalid_request',
    ]) {
      const { isError, structuredContent, content } = await result('note_fail', { code });
      expect(isError).to.equal(true);
      expect(structuredContent.error).to.include({ code, request_id: 'req_1' });
      expect(content[0]?.text).to.equal(JSON.stringify(structuredContent));
    }
  });

  it(`reveals nothing of an unforeseen failure, and logs it ${verifies('contract:13:internal')}`, async () => {
    const { result, logged } = stage();
    const { structuredContent } = await result('note_fail', { code: 'anything' });
    expect(structuredContent.error?.code).to.equal('internal_error');
    expect(JSON.stringify(structuredContent)).to.not.contain('secret');
    expect(logged).to.deep.equal(['mcp: tool failed']);
  });

  it('returns idempotency_key_required when only this input requires a key', async () => {
    const { result } = stage();
    expect((await result('note_act', act)).structuredContent.error?.code).to.equal(
      'idempotency_key_required',
    );
    expect((await result('note_act', { ...act, mode: 'preview' })).isError).to.equal(false);
  });

  it('returns invalid_request when a mailbox must be named', async () => {
    const { result } = stage();
    const caller = sampleCaller({ mailboxIds: ['mbx_1', 'mbx_2'] });
    const { structuredContent } = await result('note_query', { select: {} }, { caller });
    expect(structuredContent.error?.code).to.equal('invalid_request');
  });

  it('passes the key separately from the input', async () => {
    const { call, seen } = stage();
    await call('note_act', { ...act, idempotency_key: 'k' });
    expect(seen[0]).to.deep.include({ idempotencyKey: 'k', input: { mailbox_id: 'mbx_1', ...act } });
  });

  it('counts a valid call by its effect', async () => {
    const { call, admitted } = stage();
    await call('note_query', { select: {} });
    await call('note_act', { ...act, idempotency_key: 'k' });
    expect((await call('note_query', {})).isError).to.equal(true);
    expect(admitted).to.deep.equal(['read', 'write', 'read']);
  });

  it('returns the position of a write, and waits for a position only in reads', async () => {
    const { call, seen } = stage();
    const { position } = await call('note_act', { ...act, idempotency_key: 'k' }, { ifPosition: 9n });
    await call('note_query', { select: {} }, { ifPosition: 9n });
    expect(position).to.equal(1n);
    expect(seen.map(({ ifPosition }) => ifPosition)).to.deep.equal([null, 9n]);
  });

  it('says that the answer is stale when the read models are late', async () => {
    const { result, ports } = stage();
    Object.assign(ports.readModels, { waitFor: () => Promise.resolve(false) });
    const { _meta } = await result('get_identity', {}, { ifPosition: 9n });
    expect(_meta).to.deep.equal({ stale: true });
  });
});
