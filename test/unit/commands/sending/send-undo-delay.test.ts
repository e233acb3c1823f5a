import { expect } from 'chai';
import { discardDraftCapability } from '../../../../commands/drafts/discard-draft.ts';
import { patchDraftCapability } from '../../../../commands/drafts/edit-draft.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { ProcessGone } from '../../../support/fakes/breaking-mailbox.ts';
import { dyingAfter } from '../../../support/fakes/dying-ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig, type SendRigOptions } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';

const KEY = 'key-1';
const HELD_FOR_MS = 60_000;
const POLICY = policyEntry([
  { id: 'held', when: {}, then: { decision: 'allow', undo_seconds: HELD_FOR_MS / 1_000 } },
]);

describe('a direct send with an undo delay', () => {
  const world = async (options: SendRigOptions = {}) => {
    const rig = new SendRig({ policy: POLICY, ...options });
    const id = await rig.startDraft();
    const operationId = rig.operationId(KEY);
    const settle = (ports: Ports = rig.ports) => settleSend(ports, { operationId, orgId: 'org_1' });
    const commitAt = new Date(rig.ports.clock.now().getTime() + HELD_FOR_MS).toISOString();
    return { rig, id, operationId, settle, commitAt };
  };

  it(`waits in state sending, and is sent automatically afterwards ${verifies('contract:8:send-undo')}`, async () => {
    const { rig, id, settle, commitAt } = await world();
    const reply = await rig.send(id, KEY);
    expect(reply).to.deep.include({ status: 'pending_commit', draft_id: id });
    expect(reply.draft).to.include({ status: 'sending', commit_at: commitAt });
    expect((await settle())?.send?.commitAt).to.equal(commitAt);
    expect(rig.submission.taken).to.deep.equal([]);
    expect(await rig.send(id, KEY)).to.deep.equal({ ...reply, original_status: 'pending_commit' });
    rig.parts.clock.advance(HELD_FOR_MS);
    await settle();
    expect((await rig.draft(id)).status).to.equal('sent');
    expect(rig.submission.taken).to.have.length(1);
    const later = await rig.send(id, KEY);
    expect(later).to.include({ status: 'completed', original_status: 'pending_commit' });
    expect(later.draft).not.to.have.property('commit_at');
  });

  it(`ends when its draft is discarded, and returns its quota ${verifies('contract:8:send-undo')}`, async () => {
    const { rig, id, operationId, settle } = await world({ kind: 'agent' });
    await rig.send(id, KEY);
    expect(
      await rejection(rig.invoke(patchDraftCapability, { draft_id: id, subject: 'No' }, 'edit-1')),
    ).to.include({
      code: 'draft_locked',
    });
    await rig.invoke(discardDraftCapability, { draft_id: id }, 'discard-1');
    rig.parts.clock.advance(HELD_FOR_MS);
    await settle();
    expect(rig.submission.taken).to.deep.equal([]);
    const { send } = await rig.operation(operationId);
    expect(send?.outcome).to.deep.include({ outcome: 'failed' });
    const written = await rig.ports.events.readAll(-1n, 100);
    expect(written.map(({ type }) => type)).to.include.members(['QuotaTaken', 'QuotaGivenBack']);
  });

  for (const [title, types] of [
    ['before the draft was touched', /^SendIntended$/],
    ['after it was scheduled', /^SendScheduled$/],
  ] as const) {
    it(`keeps its delay when the process died ${title}`, async () => {
      const { rig, id, settle, commitAt } = await world();
      expect(await rejection(rig.send(id, KEY, { ports: dyingAfter(rig.ports, types) }))).to.be.instanceOf(
        ProcessGone,
      );
      expect((await settle(rig.newRun()))?.send?.commitAt).to.equal(commitAt);
      expect((await rig.draft(id)).status).to.equal('sending');
      expect(rig.submission.taken).to.deep.equal([]);
      rig.parts.clock.advance(HELD_FOR_MS);
      await settle(rig.newRun());
      expect(rig.submission.taken).to.have.length(1);
      expect((await rig.operation(rig.operationId(KEY))).send?.outcome?.outcome).to.equal('done');
    });
  }
});
