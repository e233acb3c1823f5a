import { expect } from 'chai';
import type { Capability } from '../../../../commands/kernel/capability.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { createAgent } from '../../../../commands/organisation/add-agent.ts';
import type { Approval } from '../../../../commands/operations/approval-payload.ts';
import { awaitEmail } from '../../../../read-api/waiting/await-email.ts';
import { monitorApproval } from '../../../../read-api/waiting/monitor-approval.ts';
import { FeedWorld } from '../../../support/worlds/feed-world.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { askedFor, type SampleApproval, wentOn } from '../../../support/samples/sample-approvals.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('monitor_approval', () => {
  let world: FeedWorld;
  let ports: Ports;

  beforeEach(async () => {
    world = await FeedWorld.start();
    ports = await world.process();
  });
  afterEach(() => world.stop());

  const ask = async (name: string, changes: SampleApproval = {}): Promise<string> => {
    const { orgId, userId } = world.gateway.org;
    await askedFor(world.gateway.events, name, {
      orgId,
      requester: userId,
      mailboxId: world.mailboxId,
      ...changes,
    });
    await world.caughtUp(ports);
    return `chk_${name}`;
  };
  const then = async (
    name: string,
    ...happened: readonly (Parameters<typeof wentOn>[2] | [Parameters<typeof wentOn>[2], object])[]
  ) => {
    for (const each of happened) {
      const [type, data] = Array.isArray(each) ? each : [each, {}];
      await wentOn(world.gateway.events, name, type, { ...data });
    }
    await world.caughtUp(ports);
  };
  const wait = (input: object, capability: Capability = monitorApproval, on = ports) =>
    world.wait<Approval>(on, capability, input);
  const look = (ids: readonly string[], cursor?: string) =>
    wait({ approval_ids: ids, timeout_seconds: 0, ...(cursor === undefined ? {} : { cursor }) });
  const told = ({ items }: { readonly items: readonly Approval[] }): string[] =>
    items.map(({ id, status }) => `${id} ${status}`);

  it(`answers when a person decides, under both its names ${verifies('contract:5:approval')}`, async () => {
    const id = await ask('a');
    const ticking = await world.process({ ticking: true });
    const byMonitor = wait({ approval_ids: [id] }, monitorApproval, ticking);
    const byAwait = wait({ for: 'approval', approval_ids: [id] }, awaitEmail, ticking);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await then('a', 'ApprovalVoteCast', 'ApprovalRejected');
    for (const reply of [await byMonitor, await byAwait]) {
      expect(reply.status).to.equal('matched');
      expect(told(reply)).to.deep.equal(['chk_a rejected']);
      expect(reply.items[0]?.votes).to.have.length(1);
    }
    expect(await look([id], (await byMonitor).cursor)).to.include({ status: 'timed_out' });
  });

  it(`answers a wait for an operation when its approval ended without running ${verifies('contract:10:not-run')}`, async () => {
    const id = await ask('a');
    const forOperation = (cursor?: string) =>
      wait(
        { for: 'operation', operation_ids: ['opn_a'], timeout_seconds: 0, ...(cursor && { cursor }) },
        awaitEmail,
      );
    const { cursor } = await look([id]);
    expect(await forOperation(cursor)).to.include({ status: 'timed_out' });
    await then('a', 'ApprovalCancelled');
    const reply = await forOperation(cursor);
    expect(reply.status).to.equal('matched');
    expect(reply.items[0]).to.include({ operation_id: 'opn_a', state: 'not_run' });
    expect(reply.items[0]).not.to.have.property('status');
  });

  it(`returns each change once, and without a cursor the changes since the call ${verifies('contract:5:approval-cursor')}`, async () => {
    const id = await ask('a');
    const other = await ask('b');
    const first = await look([id, other]);
    expect(first).to.deep.include({ status: 'timed_out', items: [] });
    await then('a', ['ApprovalGranted', { commit_by: '2100-01-01T00:00:00.000Z' }], 'CommitScheduled');
    const second = await look([id, other], first.cursor);
    expect(told(second)).to.deep.equal(['chk_a pending_commit']);
    await then('a', 'CommitStarted', 'ApprovalCommitted');
    expect(told(await look([id, other], second.cursor))).to.deep.equal(['chk_a committed']);
    expect(told(await look([id, other]))).to.deep.equal(['chk_a committed']);
    expect(told(await look([other]))).to.deep.equal([]);
  });

  it(`names the approval that superseded one ${verifies('contract:10:superseded-by')}`, async () => {
    const id = await ask('a', { draftId: 'drf_1' });
    world.gateway.sql.rows.set('s.supersedes', [{ id: null }]);
    await then('a', 'ApprovalSuperseded');
    const [before] = (await look([id])).items;
    expect(before).to.include({ status: 'superseded' }).and.not.have.property('superseded_by');
    world.gateway.sql.rows.set('s.supersedes', [{ id: 'chk_b' }]);
    const [after] = (await look([id])).items;
    expect(after).to.include({ status: 'superseded', superseded_by: 'chk_b' });
  });

  it('ignores a vote that decides nothing, and grants by policy', async () => {
    const id = await ask('a', { terms: { quorum: 2 } });
    await then('a', 'ApprovalVoteCast');
    expect(await look([id])).to.include({ status: 'timed_out' });
    const prepared = await ask('b', { terms: { quorum: 0 } });
    await then('b', ['ApprovalGranted', { by: 'policy', commit_by: '2100-01-01T00:00:00.000Z' }]);
    expect(await look([prepared])).to.include({ status: 'timed_out' });
  });

  it(`returns an expiry once, at its moment ${verifies('contract:5:approval-expiry')}`, async () => {
    const begun = ports.clock.now().getTime();
    const expiresAt = new Date(begun + 10_500).toISOString();
    const id = await ask('a', { expiresAt });
    const before = await look([id]);
    const reply = await wait({ approval_ids: [id], cursor: before.cursor });
    expect(told(reply)).to.deep.equal(['chk_a expired']);
    expect(ports.clock.now().getTime() - begun).to.equal(10_500);
    expect(await look([id], reply.cursor)).to.include({ status: 'timed_out' });
    await then('a', ['ApprovalExpired', { expired_at: expiresAt }]);
    expect(await look([id], reply.cursor), 'it is written down').to.include({ status: 'timed_out' });
    expect(told(await look([id], before.cursor)), 'whoever did not wait').to.deep.equal(['chk_a expired']);
    expect(told(await look([id])), 'whoever has no cursor').to.deep.equal(['chk_a expired']);
  });

  it('hides approvals of others and of other mailboxes, and unknown ids', async () => {
    const { orgId } = world.gateway.org;
    await ask('a');
    await ask('b', { orgId: 'org_other' });
    await ask('c', { mailboxId: 'mbx_other', requester: 'usr_other' });
    await ask('d', { mailboxId: 'mbx_other', orgId });
    for (const ids of [['chk_b'], ['chk_a', 'chk_c'], ['chk_none'], ['opn_a']]) {
      expect(await rejection(look(ids)), ids.join()).to.include({ code: 'not_found' });
    }
    expect(await look(['chk_d'])).to.include({ status: 'timed_out' });
    const elsewhere = wait({ for: 'approval', approval_ids: ['chk_d'], timeout_seconds: 0 }, awaitEmail);
    expect(await rejection(elsewhere), 'on its mailbox').to.include({ code: 'not_found' });
  });

  it('shows the owner of an agent what the agent requested', async () => {
    const { id: agentId } = await world.gateway.call<{ id: string }>(createAgent, { name: 'Bot' });
    await ask('a', { requester: agentId, mailboxId: 'mbx_other' });
    expect(await look(['chk_a']), 'asked for by an agent of the caller').to.include({ status: 'timed_out' });
  });

  it('keeps an answer within the size of an MCP result, and omits nothing', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const ids = [];
    for (const name of names) ids.push(await ask(name));
    for (const name of names) {
      await then(
        name,
        ['ApprovalVoteCast', { reason: `sealed:x:${'y'.repeat(40_000)}` }],
        'ApprovalRejected',
      );
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let answers = 0; answers < 5 && seen.length < 5; answers += 1) {
      const reply = await look(ids, cursor);
      expect(JSON.stringify(reply).length).to.be.at.most(ports.server.limits.mcpResultBytes);
      seen.push(...reply.items.map(({ id }) => id));
      ({ cursor } = reply);
    }
    expect(seen).to.deep.equal(ids);
  });

  it(`reads one stream a few times, however many callers wait ${verifies('contract:5:many-waiters')}`, async () => {
    const id = await ask('a');
    const ticking = await world.process({ ticking: true });
    let reads = 0;
    const events = Object.create(world.gateway.events, {
      readStream: {
        value: async (stream: string) => {
          reads += 1;
          await new Promise(setImmediate);
          return await world.gateway.events.readStream(stream);
        },
      },
    }) as Ports['events'];
    const waiting = Array.from({ length: 1_000 }, () =>
      wait({ approval_ids: [id], timeout_seconds: 10 }, monitorApproval, { ...ticking, events }),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(reads).to.be.below(10);
    reads = 0;
    const decidedAt = performance.now();
    await then('a', 'ApprovalRejected');
    for (const reply of await Promise.all(waiting)) expect(told(reply)).to.deep.equal(['chk_a rejected']);
    expect(performance.now() - decidedAt).to.be.below(8_000);
    expect(reads).to.be.below(10);
  });
});
