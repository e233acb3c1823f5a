import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { resolveOperation } from '../../../../commands/email/resolve-operation.ts';
import type { MailboxEntry } from '../../../../commands/ports/directory.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { progressAt, approvalStatusOf } from '../../../../commands/operations/approval-reply.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { settleOperation } from '../../../../commands/messages/reconcile-operation.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const DAY = 24 * 60 * 60;

describe('an interrupted operation that cannot be reconciled', () => {
  let rig: ApprovalRig;
  let reply: OperationReply;

  const progress = async () => progressAt(await rig.stateOf(reply), rig.ports.clock.now());
  const approval = async () => approvalStatusOf(await rig.stateOf(reply), rig.ports.clock.now());
  const sweep = async () => {
    rig.leaseTable.clear();
    rig.mailbox.loss = null;
    return await settleOperation(rig.ports, { operationId: reply.operation_id ?? '', orgId: 'org_1' });
  };
  const isAway = (away: boolean): void => {
    rig.mail.failure = away ? new GatewayError('mailbox_unavailable', 'The host does not answer.') : null;
  };
  const setMailbox = (state: MailboxEntry['state']): void => {
    const mailboxes = rig.ports.directory.state.mailboxes as Map<string, MailboxEntry>;
    const entry = mailboxes.get('mbx_0');
    if (entry) mailboxes.set('mbx_0', { ...entry, state });
  };
  const settle = (outcome: 'done' | 'not_done') =>
    resolveOperation(rig.ports, systemAuthor(rig.ports, 'org_1'), reply.operation_id ?? '', {
      outcome,
      reason: 'I looked.',
    });

  /** The process ended after the effect, before the outcome was recorded: of a commit, or of an operation that ran without an approval. */
  const cutOff = {
    commit: async (): Promise<void> => {
      rig = approvalRig();
      const boss = rig.person('usr_boss', 'owner');
      reply = await rig.ask([rig.arrive('INBOX')], 'archive');
      const approval_id = reply.approval?.id ?? '';
      const content_hash = reply.approval?.content_hash;
      const vote = { approval_id, decision: 'approve', content_hash };
      await rig.approvalAs(boss, decideApproval, vote);
      rig.mailbox.loss = { at: 0, isDone: true, of: 'process' };
      await rejection(rig.invokeAs(rig.caller, commitApproval, { approval_id }));
    },
    direct: async (): Promise<void> => {
      rig = approvalRig();
      rig.mailbox.loss = { at: 0, isDone: true, of: 'process' };
      const select = { message_ids: [rig.arrive('INBOX')] };
      const operation = { type: 'message_actions', select, actions: [{ type: 'trash' }] };
      await rejection(rig.invoke(actOnEmail, { operation }));
      const stream = rig.events.all.find(({ type }) => type === 'OperationSubmitted')?.streamName ?? '';
      reply = { status: 'completed', operation_id: stream.replace('operation-', ''), results: [] };
    },
  };

  for (const kind of ['commit', 'direct'] as const) {
    const ofApproval = (expected: string): string | null => (kind === 'commit' ? expected : null);

    it(`becomes unknown after a day and is settled by a later reconciliation: ${kind} ${verifies('contract:10:cut-off', 'contract:10:never-looked-up')}`, async () => {
      await cutOff[kind]();
      isAway(true);
      rig.at(DAY - 1);
      expect(await rejection(sweep())).to.include({ code: 'mailbox_unavailable' });
      expect(await progress()).to.equal('running');
      rig.at(DAY);
      await sweep();
      expect([await progress(), await approval()]).to.deep.equal(['unknown', ofApproval('commit_unknown')]);
      const told = rig.events.all.length;
      expect(await rejection(sweep())).to.include({ code: 'mailbox_unavailable' });
      expect(rig.events.all).to.have.length(told);
      isAway(false);
      expect(await sweep()).to.equal('settled');
      expect([await progress(), await approval()]).to.deep.equal(['completed', ofApproval('committed')]);
      expect(rig.mailbox.effects).to.have.length(1);
    });

    it(`becomes unknown when its mailbox is removed, and a person settles it: ${kind} ${verifies('contract:10:never-looked-up')}`, async () => {
      for (const [word, state, status] of [
        ['done', 'completed', 'committed'],
        ['not_done', 'failed', 'commit_failed'],
      ] as const) {
        await cutOff[kind]();
        setMailbox('removed');
        expect(await rejection(settle(word))).to.include({ code: 'conflict' });
        await sweep();
        expect([await progress(), await approval()]).to.deep.equal(['unknown', ofApproval('commit_unknown')]);
        await sweep();
        await settle(word);
        expect([await progress(), await approval()]).to.deep.equal([state, ofApproval(status)]);
      }
    });

    it(`is reconciled when its mailbox is restored: ${kind}`, async () => {
      await cutOff[kind]();
      setMailbox('removed');
      await sweep();
      setMailbox('connected');
      await sweep();
      expect([await progress(), await approval()]).to.deep.equal(['completed', ofApproval('committed')]);
    });
  }
});
