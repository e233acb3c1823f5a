import { commitAtOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { commitApproval, commitDue } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';

describe('automatic retry of a commit', () => {
  let rig: ApprovalRig;
  let operationId: string;

  /** Granted and attempted while the mailbox is unavailable. */
  beforeEach(async () => {
    rig = approvalRig();
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', auto_commit: true } });
    const boss = rig.person('usr_boss', 'owner');
    const reply = await rig.ask([rig.arrive('INBOX', '<one@example.com>')], 'archive');
    operationId = reply.operation_id ?? '';
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'No connection.');
    await rig.approvalAs(boss, decideApproval, {
      approval_id: reply.approval?.id,
      decision: 'approve',
      content_hash: reply.approval?.content_hash,
    });
  });

  const due = () =>
    commitDue(rig.ports, {
      operationId,
      author: systemAuthor(rig.ports, 'org_1'),
      notePosition: () => undefined,
    });
  const commitAt = async () =>
    commitAtOf((await rig.stateOf({ operation_id: operationId } as never)).approval);

  it('runs after a pause when the failure was temporary, and not after it succeeded', async () => {
    rig.at(60);
    expect(await due()).to.equal(false);
    rig.mail.failure = null;
    rig.at(60 + 300);
    expect(await due()).to.equal(true);
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
  });

  it('stays scheduled when another caller tried in between', async () => {
    expect(await commitAt()).to.equal('2026-03-01T12:01:00.000Z');
    rig.at(30);
    const approval_id = operationId.replace('opn_', 'chk_');
    expect(await rejection(rig.invokeAs(rig.caller, commitApproval, { approval_id }))).to.include({
      code: 'mailbox_unavailable',
    });
    expect(await commitAt(), 'five minutes after the second attempt').to.equal('2026-03-01T12:05:30.000Z');
  });
});
