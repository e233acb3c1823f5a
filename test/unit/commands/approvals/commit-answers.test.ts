import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { getApproval } from '../../../../read-api/approvals/read-approvals.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('approval_commit answers', () => {
  let rig: ApprovalRig;
  let boss: Caller;
  beforeEach(() => {
    rig = approvalRig();
    rig.sql.rows.set('read.approval', [{ id: null }]);
    boss = rig.person('usr_boss', 'owner');
  });

  const vote = ({ approval }: OperationReply, content_hash = approval?.content_hash) =>
    rig.approvalAs(boss, decideApproval, { approval_id: approval?.id, decision: 'approve', content_hash });
  const commit = async ({ approval }: OperationReply, key: string): Promise<OperationReply> =>
    (await rig.invokeAs(rig.caller, commitApproval, { approval_id: approval?.id }, key))
      .output as OperationReply;

  it(`returns the outcome when the gateway committed automatically ${verifies('contract:10:runs-by-itself')}`, async () => {
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', auto_commit: true } });
    const asked = await rig.ask([rig.arrive('INBOX')], 'archive');
    expect(await rejection(commit(asked, 'early'))).to.include({ code: 'approval_pending' });
    await vote(asked);
    const told = await commit(asked, 'late');
    expect(told).to.include({ status: 'completed' });
    expect([told.approval?.status, told.results.length]).to.deep.equal(['committed', 1]);
    expect(rig.mailbox.effects).to.have.length(1);
  });

  it(`names who must commit and by when, unless the gateway commits automatically ${verifies('contract:10:run-by')}`, async () => {
    rig.rules({ id: 'free', when: {}, then: { decision: 'require' } });
    const asked = await rig.ask([rig.arrive('INBOX')], 'expunge');
    const shown = () => rig.approvalAs(rig.caller, getApproval, { approval_id: asked.approval?.id });
    const id = rig.caller.principal.id;
    expect((await shown()).run_by).to.deep.equal({ id, until: null, within_seconds: 3_600 });
    const granted = await vote(asked);
    expect(granted.run_by).to.deep.equal({ id, until: granted.commit_by, within_seconds: 3_600 });
    await commit(asked, 'run');
    expect(await shown()).not.to.have.property('run_by');
  });

  it(`leaves out the content hash when the approver sent another one ${verifies('contract:9:hash')}`, async () => {
    const asked = await rig.ask([rig.arrive('INBOX')], 'archive');
    const refused = await rejection(vote(asked, 'wrong'));
    expect(refused).to.deep.include({ code: 'version_conflict', details: {} });
  });

  it(`leaves the key free when the mail server refuses the credentials ${verifies('contract:14:auth-failed-free')}`, async () => {
    const asked = await rig.ask([rig.arrive('INBOX')], 'archive');
    await vote(asked);
    rig.mail.failure = new GatewayError('mailbox_auth_failed', 'Refused.');
    expect(await rejection(commit(asked, 'run'))).to.include({ code: 'mailbox_auth_failed' });
    rig.mail.failure = null;
    expect(await commit(asked, 'run')).to.include({ status: 'completed' });
    expect(rig.mailbox.effects).to.have.length(1);
  });
});
