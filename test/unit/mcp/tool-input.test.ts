import { expect } from 'chai';
import type { Caller } from '../../../commands/kernel/access.ts';
import { GatewayError } from '../../../commands/values/errors.ts';
import { type Tool, toolOf } from '../../../mcp/tool.ts';
import { InvalidArguments, readArguments, schemaIssues } from '../../../mcp/tool-input.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { sampleRegistry } from '../../support/worlds/mcp/sample-registry.ts';
import { verifies } from '../../support/suite/verifies.ts';

const tools = new Map(sampleRegistry().registry.map((capability) => [capability.name, toolOf(capability)]));
function tool(name: string): Tool {
  const found = tools.get(name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
}

const one = sampleCaller();
const two = sampleCaller({ mailboxIds: ['mbx_1', 'mbx_2'] });
const read = (name: string, args: Record<string, unknown>, caller: Caller = one) =>
  readArguments(tool(name), args, caller);

function pathsOf(name: string, args: Record<string, unknown>, caller: Caller = one): string[] {
  try {
    return schemaIssues(tool(name), read(name, args, caller).input).map(({ path }) => path);
  } catch (error) {
    if (error instanceof InvalidArguments) return error.issues.map(({ path }) => path);
    throw error;
  }
}

function refusal(name: string, args: Record<string, unknown>, caller: Caller): GatewayError {
  try {
    read(name, args, caller);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('the arguments were taken');
}

const key = { idempotency_key: 'k-1' };
const operation = { type: 'note_actions', select: { message_ids: ['m'] } };

describe('readArguments', () => {
  it('moves the mailbox from the select to its place in the route', () => {
    const { input } = read('note_query', { select: { mailbox_id: 'mbx_9', folder: 'inbox' } }, two);
    expect(input).to.deep.equal({ mailbox_id: 'mbx_9', select: { folder: 'inbox' } });
  });

  it('takes the mailbox of an operation from the top or from its select', () => {
    const atTop = read('note_act', { mailbox_id: 'mbx_9', operation, ...key }, two).input;
    const inSelect = { ...operation, select: { ...operation.select, mailbox_id: 'mbx_9' } };
    expect(atTop).to.deep.equal({ mailbox_id: 'mbx_9', operation });
    expect(read('note_act', { operation: inSelect, ...key }, two).input).to.deep.equal(atTop);
  });

  it('leaves two different mailboxes to the capability', () => {
    const inSelect = { ...operation, select: { ...operation.select, mailbox_id: 'mbx_2' } };
    const { input } = read('note_act', { mailbox_id: 'mbx_1', operation: inSelect, ...key }, two);
    expect(input).to.deep.equal({ mailbox_id: 'mbx_1', operation: inSelect });
  });

  it(`fills in the only mailbox ${verifies('contract:4:select-mailbox')}`, () => {
    expect(read('note_query', { select: {} }).input).to.deep.equal({ mailbox_id: 'mbx_1', select: {} });
    expect(read('note_act', { operation, ...key }).input).to.include({ mailbox_id: 'mbx_1' });
    expect(read('note_copy', { message_ids: ['m'], ...key }).input).to.include({ mailbox_id: 'mbx_1' });
  });

  it(`refuses a missing mailbox when there are several, and names them ${verifies('contract:4:select-mailbox')}`, () => {
    for (const [name, args, path] of [
      ['note_query', { select: {} }, 'select.mailbox_id'],
      ['note_act', { operation, ...key }, 'mailbox_id'],
    ] as const) {
      const { code, details, message } = refusal(name, args, two);
      expect(code).to.equal('invalid_request');
      expect(details).to.deep.include({ allowed: ['mbx_1', 'mbx_2'], suggested_tool: 'get_identity' });
      expect(details['issues']).to.deep.equal([
        { path, code: 'required', message: 'is missing: name a mailbox' },
      ]);
      expect(message).to.contain(path);
    }
  });

  it('answers not_found when the token reaches no mailbox', () => {
    expect(refusal('note_query', { select: {} }, sampleCaller({ mailboxIds: [] })).code).to.equal(
      'not_found',
    );
  });

  it('reports invalid arguments before a missing mailbox', () => {
    expect(pathsOf('note_query', { select: { limit: 'many' }, other: 1 }, two)).to.have.members([
      'select.limit',
      'other',
    ]);
  });

  it('refuses a mailbox at the top of a tool with a select', () => {
    expect(pathsOf('note_query', { mailbox_id: 'mbx_1', select: {} })).to.deep.equal(['mailbox_id']);
  });

  it('never replaces a malformed mailbox by the only one', () => {
    for (const mailbox_id of [5, null, {}]) {
      expect(pathsOf('note_query', { select: { mailbox_id } })).to.deep.equal(['select.mailbox_id']);
      expect(pathsOf('note_copy', { mailbox_id, message_ids: ['m'], ...key })).to.deep.equal(['mailbox_id']);
    }
    expect(pathsOf('note_query', { select: { mailbox_id: '' } })).to.deep.equal(['select.mailbox_id']);
  });

  it('removes the idempotency key from the input', () => {
    const { input, idempotencyKey } = read('note_copy', { message_ids: ['m'], ...key });
    expect(idempotencyKey).to.equal('k-1');
    expect(input).to.not.have.property('idempotency_key');
  });

  it('requires the key when every input needs one, and leaves other cases to the capability', () => {
    expect(pathsOf('note_copy', { message_ids: ['m'] })).to.deep.equal(['idempotency_key']);
    expect(read('note_act', { operation }).idempotencyKey).to.equal(null);
  });

  it(`requires a key of 1 to 255 visible ASCII characters ${verifies('contract:14:key-form')}`, () => {
    for (const idempotency_key of ['', ' ', 'é', 'x'.repeat(256), 5, null]) {
      expect(pathsOf('note_act', { operation, idempotency_key })).to.deep.equal(['idempotency_key']);
    }
  });

  it('refuses a key for a tool that takes none', () => {
    expect(pathsOf('note_query', { select: {}, ...key })).to.deep.equal(['idempotency_key']);
  });

  it(`refuses a page over 100 ${verifies('contract:4:page-limits')}`, () => {
    expect(pathsOf('note_query', { select: { limit: 101 } })).to.deep.equal(['select.limit']);
    expect(pathsOf('note_query', { select: { limit: 100 } })).to.deep.equal([]);
  });

  it('names each failing path and no value', () => {
    const secret = 'do-not-echo';
    try {
      read('note_copy', { message_ids: secret, [`x`]: secret });
      throw new Error('taken');
    } catch (error) {
      if (!(error instanceof InvalidArguments)) throw error;
      expect(error.issues.map(({ path }) => path)).to.have.members(['idempotency_key', 'message_ids', 'x']);
      expect(JSON.stringify(error.issues)).to.not.contain(secret);
    }
  });
});
