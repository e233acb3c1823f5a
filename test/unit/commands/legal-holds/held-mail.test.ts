import { expect } from 'chai';
import { cancelApproval } from '../../../../commands/approvals/cancel-approval.ts';
import { commitApproval, commitDue } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { endOverdue } from '../../../../commands/approvals/invalidate-missing-targets.ts';
import { wantsToExpunge } from '../../../../commands/approvals/wants-to-act.ts';
import { discardDraftCapability, discardOrphan } from '../../../../commands/drafts/discard-draft.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import {
  archiveMessages,
  moveMessages,
  trashMessages,
} from '../../../../commands/messages/act-on-messages.ts';
import type { HoldTarget, LegalHoldEntry } from '../../../../commands/ports/legal-holds.ts';
import type { AccessEntry, Ports } from '../../../../commands/ports/ports.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { holdOn } from '../../../support/fakes/directory-holding.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { type ApprovalRig, approvalRig, NEEDS_APPROVAL } from '../../../support/worlds/approval-rig.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const holdsOf = ({ ports }: Pick<ApprovalRig, 'ports'>): Map<string, LegalHoldEntry> =>
  ports.directory.state.legalHolds as Map<string, LegalHoldEntry>;
/** The lines of refusals from now on: what was called, and why it was refused. */
function refusalsIn({ accessLog }: Pick<Ports, 'accessLog'>): readonly unknown[] {
  const refusals: unknown[] = [];
  Object.assign(accessLog, {
    record: ({ type, data }: AccessEntry) => {
      if (type === 'RequestRefused') refusals.push([data['capability'], data['code']]);
      return Promise.resolve();
    },
  });
  return refusals;
}
const HELD = holdOn('hld_1', { type: 'mailbox', id: 'mbx_0' });

describe('mail under a legal hold', () => {
  let rig: ApprovalRig;
  beforeEach(() => {
    rig = approvalRig();
  });
  const hold = (entry: LegalHoldEntry = HELD): void => {
    holdsOf(rig).set(entry.id, entry);
  };
  const select = (...ids: readonly string[]) => ({ message_ids: ids });
  const act = (ids: readonly string[], ...actions: readonly object[]) =>
    rig.invoke(actOnEmail, { operation: { type: 'message_actions', select: select(...ids), actions } });

  it(`is neither moved to the trash nor removed, by any road ${verifies('contract:12:hold-blocks')}`, async () => {
    const id = rig.arrive('INBOX');
    hold();
    const roads = [
      () => rig.invoke(trashMessages, { message_ids: [id] }),
      () => rig.invoke(moveMessages, { message_ids: [id], folder: 'Trash' }),
      () => rig.invoke(moveMessages, { message_ids: [id], folder: 'trash' }),
      () => rig.invoke(wantsToExpunge, { message_ids: [id], reason: 'why' }),
      () => act([id], { type: 'trash' }),
      () => act([id], { type: 'set_flags', seen: true }, { type: 'trash' }),
      () => act([id], { type: 'expunge' }),
    ];
    for (const road of roads)
      expect(await rejection(road())).to.deep.include({ code: 'legal_hold', details: { holds: [] } });
    expect(rig.mailbox.commands).to.deep.equal([]);
  });

  it('is read, flagged, filed and copied as before', async () => {
    rig.rules();
    hold();
    const [one, two] = [rig.arrive('INBOX'), rig.arrive('INBOX')];
    expect(await rig.reply(archiveMessages, { message_ids: [one] })).to.include({ status: 'completed' });
    const moved = await rig.reply(moveMessages, { message_ids: [two], folder: 'Work' });
    expect(moved).to.include({ status: 'completed' });
  });

  it('is not touched by what was admitted before the hold and runs after it', async () => {
    const id = rig.arrive('INBOX');
    const identify = rig.mailbox.identify.bind(rig.mailbox);
    rig.mailbox.identify = async (...asked) => {
      const found = await identify(...asked);
      hold();
      return found;
    };
    const reply = await rig.reply(trashMessages, { message_ids: [id] }, 'key');
    expect(reply.results).to.have.length(1);
    expect(reply.results[0]).to.deep.include({ outcome: 'failed' });
    expect(reply.results[0]?.error).to.include({ code: 'legal_hold' });
    expect(rig.mailbox.commands).to.deep.equal([]);
    expect(await rig.typesOf(reply)).to.include.members(['ActionOutcomesRecorded', 'OperationCompleted']);
  });

  it('is not touched while this process may lack a hold', async () => {
    const id = rig.arrive('INBOX');
    const identify = rig.mailbox.identify.bind(rig.mailbox);
    rig.mailbox.identify = async (...asked) => {
      const found = await identify(...asked);
      Object.assign(rig.ports.directory, { isCurrent: false });
      return found;
    };
    const reply = await rig.reply(trashMessages, { message_ids: [id] });
    expect(reply.results[0]?.error).to.include({ code: 'store_unavailable' });
    expect(rig.mailbox.commands).to.deep.equal([]);
  });

  describe('with an approval', () => {
    let reply: OperationReply;
    const request = async (): Promise<void> => {
      rig.person('usr_boss', 'owner');
      reply = await rig.ask([rig.arrive('INBOX')], 'expunge');
    };
    const approve = async (): Promise<void> => {
      const { id: approval_id, content_hash } = reply.approval ?? {};
      const boss = rig.person('usr_boss', 'owner');
      await rig.approvalAs(boss, decideApproval, { approval_id, content_hash, decision: 'approve' });
    };
    const commit = (key?: string) =>
      rig.invokeAs(rig.caller, commitApproval, { approval_id: reply.approval?.id }, key);
    const due = () =>
      commitDue(rig.ports, {
        operationId: reply.operation_id ?? '',
        author: systemAuthor(rig.ports, 'org_1'),
        notePosition: () => undefined,
      });

    it(`refuses the commit and keeps the approval, which can be committed after the release ${verifies('contract:12:hold-blocks')}`, async () => {
      await request();
      hold();
      await approve();
      const before = await rig.typesOf(reply);
      const refusals = refusalsIn(rig.ports);
      expect(await rejection(commit('key'))).to.include({ code: 'legal_hold' });
      expect(await rejection(commit('key'))).to.include({ code: 'legal_hold' });
      expect(refusals, 'each is a line').to.deep.equal([
        ['approval_commit', 'legal_hold'],
        ['approval_commit', 'legal_hold'],
      ]);
      expect(await rig.typesOf(reply)).to.deep.equal(before);
      expect(rig.mailbox.commands).to.deep.equal([]);
      holdsOf(rig).set('hld_1', { ...HELD, state: 'released' });
      expect((await commit('key')).output).to.include({ status: 'completed' });
      expect(rig.mailbox.commands).to.deep.equal(['expunge INBOX 1']);
    });

    it('lets it be cancelled', async () => {
      await request();
      await approve();
      hold();
      const cancelled = await rig.approvalAs(rig.caller, cancelApproval, { approval_id: reply.approval?.id });
      expect(cancelled).to.include({ status: 'cancelled' });
    });

    it('has the gateway try again later, and lets it expire', async () => {
      rig.person('usr_boss', 'owner');
      const when = { actions: ['trash'] };
      rig.rules({ ...NEEDS_APPROVAL, when, then: { decision: 'require', undo_seconds: 60 } });
      reply = await rig.ask([rig.arrive('INBOX')], 'trash');
      await approve();
      hold();
      rig.at(60);
      expect(await due()).to.equal(false);
      expect((await rig.stateOf(reply)).approval).to.include({ phase: 'scheduled', attempt: null });
      rig.at(8 * 24 * 3_600);
      await endOverdue(rig.ports, { operationId: reply.operation_id ?? '', orgId: 'org_1' });
      expect((await rig.typesOf(reply)).at(-1)).to.equal('ApprovalExpired');
      expect(rig.mailbox.commands).to.deep.equal([]);
    });
  });
});

describe('a draft under a legal hold', () => {
  const rigHolding = (target: Pick<HoldTarget, 'type' | 'id'> & Partial<HoldTarget>) => {
    const rig = new SendRig();
    const holds = rig.ports.directory.state.legalHolds as Map<string, LegalHoldEntry>;
    const set = (state: LegalHoldEntry['state']) =>
      holds.set('hld_1', { ...holdOn('hld_1', target), orgId: 'org_1', state });
    return { rig, set };
  };

  it(`is not discarded when its mailbox is removed, until the release ${verifies('contract:12:hold-blocks')}`, async () => {
    const { rig, set } = rigHolding({ type: 'mailbox', id: 'mbx_0' });
    const draftId = await rig.startDraft();
    set('active');
    expect(await discardOrphan(rig.ports, { draftId, orgId: 'org_1' })).to.equal(false);
    expect((await rig.draft(draftId)).status).to.equal('open');
    set('released');
    expect(await discardOrphan(rig.ports, { draftId, orgId: 'org_1' })).to.equal(true);
    expect((await rig.draft(draftId)).status).to.equal('discarded');
  });

  it(`is not discarded by a caller ${verifies('contract:12:hold-blocks')}`, async () => {
    for (const target of [
      { type: 'person', id: 'usr_1' },
      { type: 'mailbox', id: 'mbx_0' },
      { type: 'draft' },
      { type: 'approval', id: 'chk_1' },
    ] as const) {
      const rig = new SendRig();
      const id = await rig.startDraft();
      const named = { id, ...target, draftId: id };
      const holds = rig.ports.directory.state.legalHolds as Map<string, LegalHoldEntry>;
      holds.set('hld_1', holdOn('hld_1', named));
      const refusals = refusalsIn(rig.ports);
      const discard = () => rig.invoke(discardDraftCapability, { draft_id: id }, null);
      expect(await rejection(discard()), target.type).to.include({ code: 'legal_hold' });
      expect(refusals, 'it is a line').to.deep.equal([['discard_draft', 'legal_hold']]);
      expect((await rig.draft(id)).status).to.equal('open');
      holds.clear();
      await discard();
      expect((await rig.draft(id)).status).to.equal('discarded');
    }
  });
});
