import { endOf } from '../../../../commands/operations/approval-state.ts';
import { expect } from 'chai';
import { cancelApproval } from '../../../../commands/approvals/cancel-approval.ts';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { GrantEntry, MailboxEntry, TokenEntry } from '../../../../commands/ports/directory.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { OperationReply } from '../../../../commands/operations/operation.ts';
import { emailRequests } from '../../../../read-api/approvals/email-requests.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { unseatMember } from '../../../support/worlds/people.ts';

const DAY = 24 * 60 * 60;

describe('approval_commit of message actions', () => {
  let rig: ApprovalRig;
  let boss: Caller;
  let one: string;

  beforeEach(() => {
    rig = approvalRig();
    boss = rig.person('usr_boss', 'owner');
    one = rig.arrive('INBOX', '<one@example.com>');
  });

  const idOf = ({ approval }: OperationReply): string => approval?.id ?? '';
  const vote = (reply: OperationReply, by = boss, decision = 'approve', more: object = {}) =>
    rig.approvalAs(by, decideApproval, {
      approval_id: idOf(reply),
      decision,
      content_hash: reply.approval?.content_hash,
      ...more,
    });
  const commit = async (reply: OperationReply, key?: string, by = rig.caller): Promise<OperationReply> =>
    (await rig.invokeAs(by, commitApproval, { approval_id: idOf(reply) }, key)).output as OperationReply;
  const refused = (reply: OperationReply, key?: string) => rejection(commit(reply, key));
  const granted = async (type = 'archive'): Promise<OperationReply> => {
    const reply = await rig.ask([one], type);
    await vote(reply);
    return reply;
  };

  it(`runs an approved operation exactly once ${verifies('contract:10:commit')}`, async () => {
    const reply = await rig.ask([one], 'archive');
    expect(await refused(reply)).to.include({ code: 'approval_pending' });
    const approved = await vote(reply);
    expect(approved).to.deep.include({
      status: 'pending_commit',
      quorum: { ...approved.quorum, approved: 1 },
    });
    expect(rig.mailbox.effects).to.deep.equal([]);
    const done = await commit(reply, 'c');
    expect(done).to.deep.include({ status: 'completed', summary: { done: 1, failed: 0, unknown: 0 } });
    expect(done.approval?.status).to.equal('committed');
    const again = await rig.invokeAs(rig.caller, commitApproval, { approval_id: idOf(reply) }, 'c');
    expect(again.replayed).to.equal(true);
    expect(again.output).to.deep.equal(done);
    expect(await refused(reply)).to.include({ code: 'approval_not_pending' });
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
    expect((await rig.typesOf(reply)).slice(3)).to.deep.equal([
      'ApprovalVoteCast',
      'ApprovalGranted',
      'CommitStarted',
      'ActionsIntended',
      'ActionOutcomesRecorded',
      'OperationCompleted',
      'ApprovalCommitted',
    ]);
  });

  it('reports messages that were missing at the request as failed, and runs the rest', async () => {
    const gone = rig.idOf('INBOX', 4_000);
    const reply = await rig.ask([one, gone], 'archive');
    await vote(reply);
    const done = await commit(reply);
    expect(done.summary).to.deep.equal({ done: 1, failed: 1, unknown: 0 });
    expect(done.results[1]).to.deep.include({ message_id: gone, outcome: 'failed' });
    expect(done.approval?.status).to.equal('committed');
  });

  it(`expunges exactly the messages of the manifest ${verifies('contract:6:expunge-uidplus')}`, async () => {
    rig.arrive('INBOX', '<other@example.com>', ['\\Deleted']);
    const reply = await granted('expunge');
    expect((await commit(reply)).results).to.deep.equal([
      { message_id: one, action: 'expunge', outcome: 'done' },
    ]);
    expect([...rig.mailbox.folder('INBOX').messages.keys()]).to.deep.equal([2]);
  });

  it(`is done by the gateway with the last vote when the terms say auto_commit ${verifies('contract:8:auto-commit')}`, async () => {
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require' } });
    const reply = await rig.ask([one], 'archive');
    expect(await vote(reply)).to.include({ status: 'committed' });
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
  });

  it(`waits undo_seconds, and can be cancelled until then ${verifies('contract:8:undo')}`, async () => {
    rig.rules({ ...NEEDS_APPROVAL, then: { ...NEEDS_APPROVAL.then, undo_seconds: 60 } });
    const [kept, stopped] = [await granted(), await granted()];
    for (const reply of [kept, stopped]) {
      const held = await commit(reply);
      expect(held).to.include({ status: 'pending_commit' });
      expect(held.approval?.commit_at).to.equal('2026-03-01T12:01:00.000Z');
    }
    rig.at(59);
    const cancelled = await rig.approvalAs(rig.caller, cancelApproval, { approval_id: idOf(stopped) });
    expect(cancelled).to.include({ status: 'cancelled' });
    expect((await commit(kept)).status).to.equal('pending_commit');
    rig.at(60);
    expect((await commit(kept)).status).to.equal('completed');
    expect(await refused(stopped)).to.include({ code: 'approval_not_pending' });
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
  });

  it(`reports approval_expired when the approval ran out, undecided or uncommitted ${verifies('contract:10:expiry')}`, async () => {
    const [undecided, uncommitted] = [await rig.ask([one], 'archive'), await granted()];
    rig.at(3_600);
    expect(await refused(uncommitted)).to.include({ code: 'approval_expired' });
    rig.at(DAY);
    expect(await rejection(vote(undecided))).to.include({ code: 'approval_expired' });
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`refuses to run when a message has left its place ${verifies('contract:9:commit-checks')}`, async () => {
    const reply = await granted();
    rig.mailbox.folder('INBOX').messages.delete(1);
    expect(await refused(reply)).to.deep.include({
      code: 'selection_changed',
      details: { message_ids: [one], folders: 0, reason: 'targets_gone' },
    });
    expect((await rig.typesOf(reply)).at(-1)).to.equal('ApprovalInvalidated');
    expect(await refused(reply), 'and says why again').to.deep.include({
      code: 'approval_invalidated',
      details: { status: 'invalidated', reason: 'targets_gone' },
    });
  });

  /** What can change in the directory between approval and commit, and why the approval then ends. */
  const losses: readonly (readonly [why: string, when: string, change: (rig: ApprovalRig) => void])[] = [
    [
      'policy_stricter',
      'policy denies',
      (rig) => {
        rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'deny' } });
      },
    ],
    [
      'policy_stricter',
      'policy requires another role',
      (rig) => {
        rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', approver_role: 'owner' } });
      },
    ],
    [
      'mailbox_removed',
      'the mailbox was removed',
      ({ ports }) => {
        const mailboxes = ports.directory.state.mailboxes as Map<string, MailboxEntry>;
        for (const [id, entry] of mailboxes) mailboxes.set(id, { ...entry, state: 'removed' });
      },
    ],
    [
      'grant_gone',
      'the grant lost its scopes',
      ({ ports }) => {
        const grants = ports.directory.state.grants as Map<string, GrantEntry>;
        for (const [id, grant] of grants) grants.set(id, { ...grant, scopes: ['messages:read'] });
      },
    ],
    [
      'requester_gone',
      'the token was revoked',
      ({ ports, caller }) => {
        const tokens = ports.directory.state.tokens as Map<string, TokenEntry>;
        tokens.set(caller.token.id, { ...caller.token, revokedAt: '2026-03-01T11:00:00.000Z' });
      },
    ],
    [
      'requester_gone',
      'the requester left',
      ({ ports }) => {
        unseatMember(ports.directory.state, 'org_1', 'usr_1');
      },
    ],
  ];
  for (const [why, when, change] of losses) {
    it(`ends the approval with ${why} and runs nothing when ${when} ${verifies('contract:9:commit-checks', 'contract:10:invalidated')}`, async () => {
      const reply = await granted();
      change(rig);
      expect(await refused(reply)).to.deep.include({
        code: 'approval_invalidated',
        details: { status: 'invalidated', reason: why },
      });
      expect(endOf((await rig.stateOf(reply)).approval)).to.have.nested.property('why.reason', why);
      expect(rig.mailbox.effects).to.deep.equal([]);
    });
  }

  it(`runs when the token has expired since and the policy has become less strict ${verifies('contract:9:commit-checks')}`, async () => {
    const reply = await granted();
    const tokens = rig.ports.directory.state.tokens as Map<string, TokenEntry>;
    tokens.set(rig.caller.token.id, { ...rig.caller.token, expiresAt: '2026-01-01T00:00:00.000Z' });
    rig.rules();
    expect((await commit(reply)).status).to.equal('completed');
  });

  it(`runs when the session behind the requesting token has ended since ${verifies('contract:9:commit-checks')}`, async () => {
    const byJwt = { ...rig.caller, token: { ...rig.caller.token, id: 'ses_ended' } };
    const operation = {
      type: 'message_actions',
      select: { message_ids: [one] },
      actions: [{ type: 'archive' }],
    };
    const input = { mailbox_id: 'mbx_0', operation };
    const reply = (await rig.invokeAs(byJwt, actOnEmail, input)).output as OperationReply;
    await vote(reply);
    expect((await commit(reply)).status).to.equal('completed');
  });

  it(`hides the approval from a token whose owner could decide it when signed in ${verifies('contract:3:approval-visibility')}`, async () => {
    const reply = await granted();
    const scopes = new Set(['approvals:cancel'] as const);
    const token: Caller = { ...boss, actor: 'delegated', session: null, scopes };
    const cancel = rig.approvalAs(token, cancelApproval, { approval_id: idOf(reply) });
    expect(await rejection(cancel)).to.include({ code: 'not_found' });
  });

  it(`lets the person behind the request withdraw it even without a grant, and no other person ${verifies('contract:9:cancel')}`, async () => {
    const reply = await granted();
    const behind = rig.person('usr_1', 'member');
    expect(behind.mailboxes.size).to.equal(0);
    const cancel = (by: Caller) => rig.approvalAs(by, cancelApproval, { approval_id: idOf(reply) });
    expect(await rejection(cancel(boss))).to.include({ code: 'insufficient_scope' });
    expect(await cancel(behind)).to.include({ status: 'cancelled' });
    const another = { approval_id: idOf(await rig.ask([one], 'archive')), action: 'cancel' };
    const refused = rig.approvalAs(boss, emailRequests, another);
    expect(await rejection(refused)).to.include({ code: 'insufficient_scope' });
    expect(await rig.approvalAs(behind, emailRequests, another)).to.include({ status: 'cancelled' });
  });

  it(`keeps the approval when the mailbox is unavailable ${verifies('contract:10:attempt-failed')}`, async () => {
    const reply = await granted();
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'No connection.');
    expect(await refused(reply, 'c')).to.include({ code: 'mailbox_unavailable' });
    const { approval } = await rig.stateOf(reply);
    expect(approval).to.deep.nested.include({
      'attempt.number': 1,
      phase: 'granted',
      expiresAt: '2026-03-02T12:00:00.000Z',
    });
    rig.mail.failure = null;
    rig.at(2 * 3_600);
    expect((await commit(reply, 'c')).status).to.equal('completed');
    expect(rig.mailbox.effects).to.deep.equal([['INBOX 1']]);
  });

  it(`reaches one end when ten commits and a cancel race ${verifies('contract:10:one-end')}`, async () => {
    const reply = await granted();
    const ends = await Promise.allSettled([
      ...Array.from({ length: 10 }, () => commit(reply)),
      rig.approvalAs(rig.caller, cancelApproval, { approval_id: idOf(reply) }),
    ]);
    const end = endOf((await rig.stateOf(reply)).approval)?.status;
    expect(['committed', 'cancelled']).to.include(end);
    expect(rig.mailbox.effects).to.have.length(end === 'committed' ? 1 : 0);
    expect(ends.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
  });

  it(`accepts the requester, or a person with the scope on the mailbox ${verifies('contract:9:committer')}`, async () => {
    const reply = await granted();
    const other = { ...rig.caller, principal: { ...rig.caller.principal, id: 'usr_other' } };
    expect(await rejection(commit(reply, undefined, other))).to.include({ code: 'insufficient_scope' });
    const person: Caller = { ...other, actor: 'person' };
    expect((await commit(reply, undefined, person)).status).to.equal('completed');
  });

  it(`refuses a commit or vote when the content hash differs ${verifies('contract:9:hash')}`, async () => {
    const reply = await granted();
    const other = { approval_id: idOf(reply), content_hash: 'f'.repeat(64) };
    expect(await rejection(rig.invokeAs(rig.caller, commitApproval, other))).to.include({
      code: 'version_conflict',
    });
    expect(await rejection(vote(reply, boss, 'approve', { content_hash: 'f'.repeat(64) }))).to.include({
      code: 'version_conflict',
    });
  });

  it('reports not_found to another organisation and to persons without a part in it', async () => {
    const reply = await granted();
    const stranger: Caller = {
      ...boss,
      role: 'member',
      principal: { ...boss.principal, id: 'usr_stranger' },
    };
    expect(await rejection(vote(reply, stranger))).to.include({ code: 'not_found' });
    const foreign: Caller = { ...boss, org: { ...boss.org, id: 'org_2' } };
    expect(await rejection(vote(reply, foreign))).to.include({ code: 'not_found' });
  });
});
