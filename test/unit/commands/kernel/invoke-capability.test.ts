import { expect } from 'chai';
import { z } from 'zod';
import { eventCatalogue } from '../../../../commands/event-catalogue.ts';
import { type Capability, defineCapability } from '../../../../commands/kernel/capability.ts';
import { ERROR_TABLE, type ErrorCode, GatewayError } from '../../../../commands/values/errors.ts';
import { invokeCapability } from '../../../../commands/kernel/invoke-capability.ts';
import type { AccessEntry, Ports } from '../../../../commands/ports/ports.ts';
import { type MemoryGateway, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { invokeAs } from '../../../support/worlds/invoke-as.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

interface Probe {
  readonly capability: Capability;
  readonly ran: unknown[];
}

/** A capability that records its input, and answers or fails as configured. */
function probe(change: Partial<Capability> = {}, answer: () => unknown = () => ({ ok: true })): Probe {
  const ran: unknown[] = [];
  const capability = defineCapability({
    name: 'probe',
    title: 'Probe',
    summary: 'Probe.',
    description: 'Probe.',
    effect: 'write' as const,
    access: 'any-token' as const,
    rest: { method: 'post' as const, path: '/probe' },
    tool: null,
    idempotency: { kind: 'none' as const },
    input: z.strictObject({ mailbox_id: z.string().optional(), secret: z.string().max(4).default('none') }),
    output: z.object({ ok: z.boolean() }),
    handle: (input) => {
      ran.push(input);
      return Promise.resolve(answer() as { ok: boolean });
    },
  });
  return { capability: { ...capability, ...change }, ran };
}

const MAILBOX_ID = `mbx_${'0'.repeat(26)}`;

describe('invokeCapability', () => {
  let gateway: MemoryGateway;
  let recorded: AccessEntry[];
  let isStoreAway: boolean;
  let counted: string[];

  beforeEach(async () => {
    gateway = await startMemoryGateway();
    recorded = [];
    counted = [];
    isStoreAway = false;
    const accessLog: Ports['accessLog'] = {
      record: (entry) => {
        if (isStoreAway) return Promise.reject(new GatewayError('store_unavailable', 'away'));
        recorded.push(entry);
        return Promise.resolve();
      },
      countRefusal: (code, source) => {
        counted.push(`${code} ${source}`);
      },
    };
    Object.assign(gateway.ports, { accessLog });
  });

  const failing = (code: ErrorCode): Capability =>
    probe({}, () => {
      throw new GatewayError(code, 'Refused.');
    }).capability;

  it(`refuses an owner whose organisation is deleted, except what can restore it ${verifies('contract:18:organisation-deletion')}`, async () => {
    const { ports } = gateway;
    const caller = gateway.callerOf(await gateway.signIn());
    const ofDeleted = { ...caller, org: { ...caller.org, isDeleted: true } };
    const { capability, ran } = probe();
    const refused = await rejection(invokeAs(ports, ofDeleted, [capability, {}]));
    expect(refused).to.include({ code: 'conflict' });
    expect(String(refused)).to.contain('PATCH /org');
    expect(ran).to.deep.equal([]);
    await invokeAs(ports, ofDeleted, [{ ...capability, whileDeleted: true }, {}]);
    expect(ran).to.have.length(1);
  });

  it('passes parsed input to the handler and returns its answer', async () => {
    const { capability, ran } = probe();
    expect(await gateway.invoke(capability, {})).to.deep.equal({
      output: { ok: true },
      json: null,
      position: null,
      replayed: false,
      unchanged: false,
      stale: false,
    });
    expect(ran).to.deep.equal([{ secret: 'none' }]);
  });

  it(`refuses bad input by path and code, without the values ${verifies('contract:13:issues', 'contract:0:unknown-fields')}`, async () => {
    const { capability, ran } = probe();
    const error = await rejection(gateway.invoke(capability, { secret: 'hunter2', cardinalty: 1 }));
    if (!(error instanceof GatewayError)) throw error;
    expect(error.code).to.equal('invalid_request');
    const issues = error.details['issues'] as { path: string; code: string }[];
    expect(issues.map(({ path, code }) => [path, code])).to.have.deep.members([
      ['secret', 'too_big'],
      ['cardinalty', 'unrecognized_key'],
    ]);
    expect(JSON.stringify(issues)).not.to.contain('hunter2');
    expect(ran).to.deep.equal([]);
  });

  it('requires scopes before it reads the input', async () => {
    const { capability } = probe({ access: { any: ['org:manage'] } });
    const tokens = [...gateway.ports.directory.state.tokens.values()];
    const token = tokens.find(({ principalKind }) => principalKind === 'agent')?.id ?? '';
    const refused = gateway.invoke(capability, { nonsense: true }, { token });
    expect(await rejection(refused)).to.include({ code: 'insufficient_scope' });
  });

  it(`records one event per refusal that is worth recording, and no others ${verifies('contract:12:denials', 'contract:12:not-recorded')}`, async () => {
    for (const code of Object.keys(ERROR_TABLE) as ErrorCode[]) {
      recorded = [];
      await rejection(gateway.invoke(failing(code), { mailbox_id: MAILBOX_ID }));
      const isWorth =
        code === 'invalid_credentials' || [403, 404, 409, 412, 422, 424].includes(ERROR_TABLE[code].status);
      expect(
        recorded.map(({ type, data }) => [type, data]),
        code,
      ).to.deep.equal(
        isWorth ? [['RequestRefused', { capability: 'probe', code, mailbox_id: MAILBOX_ID }]] : [],
      );
    }
  });

  it(`records no text that a caller sent in place of an id ${verifies('contract:12:nothing-of-mail')}`, async () => {
    for (const mailbox_id of ['<1@example.org>', 'anna@example.com', 'mbx_1', undefined]) {
      recorded = [];
      await rejection(gateway.invoke(failing('not_found'), { mailbox_id }));
      expect(recorded.map(({ data }) => data)).to.deep.equal([
        { capability: 'probe', code: 'not_found', mailbox_id: null },
      ]);
    }
  });

  it(`records a policy denial as an event with rule and version ${verifies('contract:11:policy-denied')}`, async () => {
    const policy = { decision: 'deny', rule_id: 'no-mail', version: 3 };
    for (const [code, type] of [
      ['policy_denied', 'PolicyDenied'],
      ['approval_required', 'RequestRefused'],
    ] as const) {
      recorded = [];
      const { capability } = probe({
        handle: () => Promise.reject(new GatewayError(code, 'No.', { details: { policy } })),
      });
      await rejection(gateway.invoke(capability, { mailbox_id: MAILBOX_ID }));
      expect(recorded.map((entry) => [entry.type, entry.data])).to.deep.equal([
        [type, { capability: 'probe', code, mailbox_id: MAILBOX_ID, policy }],
      ]);
    }
    expect(eventCatalogue.get('PolicyDenied')?.webhook?.types).to.have.keys('policy.denied');
  });

  it(`answers and counts a refusal when it cannot be recorded ${verifies('contract:12:store-down')}`, async () => {
    isStoreAway = true;
    expect(await rejection(gateway.invoke(failing('not_found'), {}))).to.include({ code: 'not_found' });
    expect(counted).to.deep.equal(['not_found store-away']);
  });

  it(`returns no body text when the read cannot be recorded ${verifies('contract:12:store-down', 'contract:12:body-reads')}`, async () => {
    const reading = probe();
    const capability: Capability = {
      ...reading.capability,
      handle: async (_, context) => {
        await context.recordRead({ mailboxId: 'mbx_1', messageIds: ['msg_1'], what: 'text' });
        return { ok: true };
      },
    };
    await gateway.invoke(capability, {});
    expect(recorded.map(({ type, data }) => [type, data])).to.deep.equal([
      ['BodiesRead', { mailbox_id: 'mbx_1', message_ids: ['msg_1'], what: 'text' }],
    ]);
    isStoreAway = true;
    expect(await rejection(gateway.invoke(capability, {}))).to.include({ code: 'store_unavailable' });
  });

  it('requires a well-formed key, where one is needed, before anything runs', async () => {
    const { capability, ran } = probe({ idempotency: { kind: 'operation', required: () => true } });
    expect(await rejection(gateway.invoke(capability, {}))).to.include({ code: 'idempotency_key_required' });
    expect(await rejection(gateway.invoke(capability, {}, { key: 'two words' }))).to.include({
      code: 'invalid_request',
    });
    expect(ran).to.deep.equal([]);
    await gateway.invoke(capability, {}, { key: 'one-word' });
    expect(ran).to.have.length(1);
  });

  it(`computes the same fingerprint on REST and MCP ${verifies('contract:14:faces-share')}`, async () => {
    const prints: string[] = [];
    const { capability } = probe({ idempotency: { kind: 'operation', required: () => true } });
    const noting: Capability = {
      ...capability,
      handle: (_, context) => {
        prints.push(context.fingerprint);
        return Promise.resolve({ ok: true });
      },
    };
    const caller = gateway.callerOf(gateway.ownerTokenId);
    for (const surface of ['rest', 'mcp'] as const) {
      const request = {
        id: 'req_1',
        surface,
        idempotencyKey: 'key',
        ifMatch: null,
        ifPosition: null,
        mcpSessionId: null,
      };
      await invokeCapability({
        capability: noting,
        input: { secret: 'a' },
        caller,
        client: null,
        registry: [],
        ports: gateway.ports,
        request,
      });
    }
    await gateway.invoke(noting, { secret: 'b' }, { key: 'key' });
    expect(prints[0]).to.equal(prints[1]).and.not.equal(prints[2]);
    expect(prints.every((print) => print.length >= 32)).to.equal(true);
  });

  it('returns the newest position it wrote', async () => {
    const { capability } = probe();
    const noting: Capability = {
      ...capability,
      handle: (_, context) => {
        for (const position of [5n, null, 9n, 7n, undefined]) context.notePosition(position);
        return Promise.resolve({ ok: true });
      },
    };
    expect((await gateway.invoke(noting, {})).position).to.equal(9n);
  });

  it('answers with the JSON a handler noted, and without a second look at its output', async () => {
    const { capability } = probe();
    const noting: Capability = {
      ...capability,
      handle: (_, context) => {
        context.noteJson('{"ok":"checked before"}');
        return Promise.resolve({ ok: 'checked before' });
      },
    };
    const { output, json } = await gateway.invoke(noting, {});
    expect(output).to.deep.equal({ ok: 'checked before' });
    expect(json).to.equal('{"ok":"checked before"}');
  });

  it('reports an answer that breaks its schema: an error in tests, a log line otherwise', async () => {
    const { capability } = probe({}, () => ({ ok: 'yes' }));
    expect((await rejection(gateway.invoke(capability, {}))).message).to.contain('probe breaks its schema');
    const lines: string[] = [];
    Object.assign(gateway.ports, {
      server: { ...gateway.ports.server, strictOutput: false },
      log: { ...gateway.ports.log, error: (line: string) => lines.push(line) },
    });
    expect((await gateway.invoke(capability, {})).output).to.deep.equal({ ok: 'yes' });
    expect(lines).to.deep.equal(['capability: response does not match its schema']);
    for (let call = 1; call <= 32; call += 1) await gateway.invoke(capability, {});
    expect(lines, 'not every answer is checked').to.have.length(3);
  });
});
