import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { resolveOperation } from '../../../../commands/email/resolve-operation.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { settleOperation } from '../../../../commands/messages/reconcile-operation.ts';
import { approvalStatusOf } from '../../../../commands/operations/approval-reply.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('an interrupted commit', () => {
  let rig: ApprovalRig;
  let reply: OperationReply;
  let approval_id: string;

  const commit = (key?: string) => rig.invokeAs(rig.caller, commitApproval, { approval_id }, key);
  const status = async () => approvalStatusOf(await rig.stateOf(reply), rig.ports.clock.now());
  /** Removes the lease of the run, and then sweeps. */
  const sweep = async () => {
    rig.leaseTable.clear();
    rig.mailbox.loss = null;
    return await settleOperation(rig.ports, { operationId: reply.operation_id ?? '', orgId: 'org_1' });
  };

  const granted = async (type: string, messageId: string | null = '<one@example.com>'): Promise<void> => {
    rig = approvalRig();
    const boss = rig.person('usr_boss', 'owner');
    reply = await rig.ask([rig.arrive('INBOX', messageId)], type);
    approval_id = reply.approval?.id ?? '';
    const content_hash = reply.approval?.content_hash;
    await rig.approvalAs(boss, decideApproval, {
      approval_id,
      decision: 'approve',
      content_hash,
    });
  };

  for (const type of ['archive', 'expunge']) {
    it(`settles ${type} as done when it was interrupted after the effect ${verifies('contract:10:commit-unknown')}`, async () => {
      await granted(type);
      rig.mailbox.loss = { at: 0, isDone: true, of: 'process' };
      await rejection(commit('c'));
      expect(await status()).to.equal('committing');
      await sweep();
      expect(await status()).to.equal('committed');
      const again = await commit('c');
      expect(again.replayed).to.equal(true);
      expect((again.output as OperationReply).summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
      expect(rig.mailbox.effects).to.have.length(1);
    });

    it(`returns ${type} to pending_commit when it was interrupted before the effect, and then runs it once ${verifies('contract:10:commit-unknown', 'contract:10:attempt-failed')}`, async () => {
      await granted(type);
      rig.mailbox.loss = { at: 0, isDone: false, of: 'process' };
      await rejection(commit('c'));
      await sweep();
      expect(await status()).to.equal('pending_commit');
      expect((await rig.typesOf(reply)).at(-1)).to.equal('CommitAttemptFailed');
      const { approval, results, completed } = await rig.stateOf(reply);
      expect(approval).to.deep.nested.include({ 'attempt.number': 1, expiresAt: '2026-03-02T12:00:00.000Z' });
      expect({ results, completed }).to.deep.equal({ results: null, completed: false });
      expect(((await commit('c')).output as OperationReply).status).to.equal('completed');
      expect(await status()).to.equal('committed');
      expect(rig.mailbox.effects).to.have.length(1);
    });
  }

  it(`becomes unknown when nothing can be proved, until a person settles it ${verifies('contract:10:commit-unknown')}`, async () => {
    await granted('archive', null);
    rig.mailbox.loss = { at: 0, isDone: true, of: 'connection' };
    const { output } = await commit();
    expect((output as OperationReply).approval?.status).to.equal('commit_unknown');
    expect(await sweep()).to.equal('later');
    expect(await status()).to.equal('commit_unknown');
    expect(await rejection(commit())).to.include({ code: 'approval_not_pending' });
    const author = systemAuthor(rig.ports, 'org_1');
    const word = { outcome: 'done', reason: 'I saw it.' } as const;
    await resolveOperation(rig.ports, author, reply.operation_id ?? '', word);
    expect(await status()).to.equal('committed');
  });

  it(`fails when a person says that it was not done ${verifies('contract:10:commit-unknown')}`, async () => {
    await granted('archive', null);
    rig.mailbox.loss = { at: 0, isDone: true, of: 'connection' };
    await commit();
    const author = systemAuthor(rig.ports, 'org_1');
    const word = { outcome: 'not_done', reason: 'It is still there.' } as const;
    await resolveOperation(rig.ports, author, reply.operation_id ?? '', word);
    expect(await status()).to.equal('commit_failed');
  });

  it('is not taken for an expunge when the folder was recreated', async () => {
    await granted('expunge');
    rig.mailbox.loss = { at: 0, isDone: false, of: 'process' };
    await rejection(commit());
    const inbox = rig.mailbox.folder('INBOX');
    inbox.messages.clear();
    Object.assign(inbox, { uidValidity: inbox.uidValidity + 1 });
    await sweep();
    expect(await status()).to.equal('commit_unknown');
  });
});
