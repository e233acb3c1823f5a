import { expect } from 'chai';
import { commitDue } from '../../../../commands/approvals/commit-approval.ts';
import { endOverdue } from '../../../../commands/approvals/invalidate-missing-targets.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('scheduled work on approvals', () => {
  let rig: ApprovalRig;
  let reply: OperationReply;

  /** An approval with an undo delay of a minute after its last vote. */
  const held = async (): Promise<void> => {
    rig = approvalRig();
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', undo_seconds: 60 } });
    const boss = rig.person('usr_boss', 'owner');
    reply = await rig.ask([rig.arrive('INBOX')], 'archive');
    const { id: approval_id, content_hash } = reply.approval ?? {};
    await rig.approvalAs(boss, decideApproval, { approval_id, content_hash, decision: 'approve' });
  };
  const idOf = (): string => reply.operation_id ?? '';
  const commit = () =>
    commitDue(rig.ports, {
      operationId: idOf(),
      author: systemAuthor(rig.ports, 'org_1'),
      notePosition: () => undefined,
    });
  const end = () => endOverdue(rig.ports, { operationId: idOf(), orgId: 'org_1' });
  const last = async () => (await rig.typesOf(reply)).at(-1);

  it(`commits an approval once when its time has come, not before ${verifies('contract:8:undo')}`, async () => {
    await held();
    await commit();
    expect(rig.mailbox.effects).to.deep.equal([]);
    rig.at(60);
    expect(await Promise.all([commit(), commit()])).to.deep.equal([true, true]);
    expect(await last()).to.equal('ApprovalCommitted');
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
  });

  it(`schedules another attempt when the mailbox is unavailable ${verifies('contract:10:attempt-failed')}`, async () => {
    await held();
    rig.at(60);
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'No connection.');
    await commit();
    expect((await rig.stateOf(reply)).approval).to.deep.nested.include({
      commitAt: '2026-03-01T12:02:00.000Z',
      'attempt.number': 1,
    });
    rig.mail.failure = null;
    rig.at(120);
    await commit();
    expect(await last()).to.equal('ApprovalCommitted');
  });

  it('records the expiry of an approval once', async () => {
    await held();
    await end();
    expect(await last()).to.equal('CommitScheduled');
    rig.at(24 * 60 * 60);
    await end();
    await end();
    expect((await rig.typesOf(reply)).filter((type) => type === 'ApprovalExpired')).to.have.length(1);
  });
});
