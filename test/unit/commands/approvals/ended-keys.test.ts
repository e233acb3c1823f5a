import { expect } from 'chai';
import { cancelApproval } from '../../../../commands/approvals/cancel-approval.ts';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { endReviewOf } from '../../../../commands/drafts/end-review.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { UnrunStatus } from '../../../../commands/operations/approval-state.ts';
import { appendFacts } from '../../../../commands/kernel/decide-and-append.ts';
import { operation, type OperationReply } from '../../../../commands/operations/operation.ts';
import { getOperation } from '../../../../read-api/operations/read-operations.ts';
import type { Operation } from '../../../../read-api/operations/operation-view.ts';
import { ApprovedSendRig } from '../../../support/worlds/approved-send-rig.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const KEY = 'key-1';
const HOUR = 3_600;

describe('an Idempotency-Key whose approval ended without running', () => {
  let rig: ApprovalRig;
  let input: object;
  let reply: OperationReply;
  let id: string;

  beforeEach(async () => {
    rig = approvalRig();
    rig.sql.rows.set('read.audit', []);
    rig.person('usr_approver', 'approver');
    const select = { message_ids: [rig.arrive('INBOX'), rig.arrive('INBOX')] };
    const actions = [{ type: 'set_flags', seen: true }, { type: 'archive' }];
    input = { operation: { type: 'message_actions', select, actions } };
    reply = await rig.reply(actOnEmail, input, KEY);
    id = reply.approval?.id ?? '';
  });

  const ends: Readonly<Record<Exclude<UnrunStatus, 'superseded'>, () => Promise<unknown>>> = {
    rejected: () =>
      rig.invokeAs(rig.person('usr_approver', 'approver'), decideApproval, {
        approval_id: id,
        decision: 'reject',
        content_hash: reply.approval?.content_hash,
        reason: 'No.',
      }),
    cancelled: () => rig.invokeAs(rig.caller, cancelApproval, { approval_id: id }),
    expired: async () => {
      rig.at(25 * HOUR);
      await Promise.resolve();
    },
    invalidated: () =>
      appendFacts(rig.ports, sampleAuthor('org_1'), {
        stream: `operation-${reply.operation_id ?? ''}`,
        expected: 2n,
        catalogue: operation.catalogue,
        facts: [{ type: 'ApprovalInvalidated', data: { reason: 'targets_gone', policy: null } }],
      }),
  };

  for (const [status, end] of Object.entries(ends)) {
    it(`answers approval_${status} with the approval, and the operation is not_run ${verifies('contract:14:ended-replay', 'contract:10:not-run')}`, async () => {
      await end();
      const refused = await rejection(rig.reply(actOnEmail, input, KEY));
      expect(refused).to.include({ code: `approval_${status}`, replayed: true });
      expect(refused).to.have.nested.include({
        'details.approval.id': id,
        'details.approval.status': status,
      });
      const { output } = await rig.invokeAs(rig.caller, getOperation, { operation_id: reply.operation_id });
      const shown = output as Operation;
      expect(shown).to.include({ state: 'not_run' }).and.not.have.property('status');
      expect(shown.results.map(({ action, outcome }) => [action, outcome])).to.deep.equal([
        ['set_flags', 'skipped'],
        ['archive', 'skipped'],
        ['set_flags', 'skipped'],
        ['archive', 'skipped'],
      ]);
      expect(shown.summary).to.deep.equal({ done: 0, failed: 0, unknown: 0 });
      expect(rig.mailbox.effects).to.deep.equal([]);
    });
  }

  it(`answers approval_cancelled when the commit was withdrawn during its undo delay ${verifies('contract:14:ended-replay')}`, async () => {
    rig.rules({ id: 'slow', when: {}, then: { decision: 'require', undo_seconds: 60, auto_commit: false } });
    const asked = await rig.ask([rig.arrive('INBOX')], 'archive');
    const { id: approval_id = '', content_hash } = asked.approval ?? {};
    const approver = rig.person('usr_approver', 'approver');
    await rig.invokeAs(approver, decideApproval, { approval_id, decision: 'approve', content_hash });
    const commit = () => rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1');
    expect((await commit()).output).to.include({ status: 'pending_commit' });
    await rig.invokeAs(rig.caller, cancelApproval, { approval_id });
    expect(await rejection(commit())).to.include({ code: 'approval_cancelled' });
    const another = rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-2');
    expect(await rejection(another)).to.include({ code: 'approval_not_pending' });
  });

  it(`answers approval_superseded when a send ended because its draft was edited ${verifies('contract:14:ended-replay')}`, async () => {
    const sends = new ApprovedSendRig();
    const draftId = await sends.startDraft();
    await sends.ask(draftId, KEY);
    const author = sampleAuthor('org_1');
    const before = await sends.draft(draftId);
    await sends.edit(draftId);
    await endReviewOf(sends.ports, author, { before, after: await sends.draft(draftId) });
    const refused = await rejection(sends.ask(draftId, KEY));
    expect(refused).to.include({ code: 'approval_superseded' });
    expect(refused).to.have.nested.include({ 'details.approval.status': 'superseded' });
  });
});
