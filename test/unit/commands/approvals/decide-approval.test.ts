import { expect } from 'chai';
import { castVote } from '../../../../commands/operations/approval-decisions.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import {
  operation,
  type OperationFact,
  type OperationReply,
  type OperationState,
} from '../../../../commands/operations/operation.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { given, NOW } from '../../../support/suite/decider-spec.ts';
import { NEEDS_APPROVAL, type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const sample = (type: 'OperationSubmitted' | 'OperationDecided') =>
  ({ type, data: SAMPLE_EVENTS[type] }) as OperationFact;
const requested = (quorum: number): OperationFact => ({
  type: 'ApprovalRequested',
  data: {
    ...SAMPLE_EVENTS.ApprovalRequested,
    expires_at: '2026-03-02T12:00:00.000Z',
    terms: { ...SAMPLE_EVENTS.ApprovalRequested.terms, quorum, auto_commit: false },
  },
});
const granted: OperationFact = {
  type: 'ApprovalGranted',
  data: { by: 'quorum', commit_by: '2026-03-01T13:00:00.000Z' },
};
const voteCast = (decision: 'approve' | 'reject'): OperationFact => ({
  type: 'ApprovalVoteCast',
  data: { decision, content_hash: 'abc', reason: null, own_request: false },
});

describe('castVote', () => {
  /** The facts that `given` writes are of `usr_1`. */
  const votes =
    (voterId: string, decision: 'approve' | 'reject' = 'approve') =>
    (state: OperationState) =>
      castVote(state, {
        ...{ voterId, decision, role: 'approver', behindId: 'usr_behind', contentHash: 'abc' },
        ...{ reason: null, now: NOW },
      });
  const asked = (quorum: number, ...facts: readonly OperationFact[]) =>
    given(operation, sample('OperationSubmitted'), sample('OperationDecided'), requested(quorum), ...facts);

  it(`counts one vote per person and grants with the last one ${verifies('contract:9:one-vote')}`, () => {
    asked(2).when(votes('usr_1')).then(voteCast('approve'));
    const voted = asked(2, voteCast('approve'));
    voted.when(votes('usr_1')).then();
    voted.when(votes('usr_1', 'reject')).thenRefused('conflict');
    voted.when(votes('usr_2')).then(voteCast('approve'), granted);
  });

  it(`accepts a repeated approval after the grant and no further one ${verifies('contract:9:one-vote')}`, () => {
    const over = asked(1, voteCast('approve'), granted);
    over.when(votes('usr_1')).then();
    over.when(votes('usr_2')).thenRefused('approval_not_pending');
  });

  it(`accepts another person's rejection after the grant while nothing has run ${verifies('contract:10:one-end')}`, () => {
    const over = asked(1, voteCast('approve'), granted);
    over.when(votes('usr_1', 'reject')).thenRefused('conflict');
    over.when(votes('usr_2', 'reject')).then(voteCast('reject'), { type: 'ApprovalRejected', data: {} });
  });
});

describe('approval_decide', () => {
  let rig: ApprovalRig;
  let approver: Caller;
  let reply: OperationReply;

  const ask = async (...rules: readonly object[]): Promise<void> => {
    if (rules.length > 0) rig.rules(...rules);
    reply = await rig.ask([rig.arrive('INBOX')], 'archive');
  };
  const vote = (by: Caller, decision: 'approve' | 'reject' = 'approve', more: object = {}) =>
    rig.approvalAs(by, decideApproval, {
      approval_id: reply.approval?.id,
      decision,
      content_hash: reply.approval?.content_hash,
      ...(decision === 'reject' ? { reason: 'Not now.' } : {}),
      ...more,
    });

  beforeEach(async () => {
    rig = approvalRig();
    approver = rig.person('usr_approver', 'approver');
    await ask();
  });

  it(`accepts only a person in a stepped-up session ${verifies('contract:9:decision')}`, async () => {
    expect(await rejection(vote(rig.caller))).to.include({ code: 'insufficient_scope' });
    const orgScopes = new Set([...approver.orgScopes].filter((scope) => scope !== 'approvals:decide'));
    const stale: Caller = {
      ...approver,
      session: { id: 'ses_1', steppedUpUntil: null },
      orgScopes,
      scopes: orgScopes,
    };
    expect(await rejection(vote(stale))).to.include({ code: 'step_up_required' });
    expect(await vote(approver)).to.deep.include({ status: 'pending_commit' });
  });

  it(`records the vote, its reason and who cast it ${verifies('contract:9:decision')}`, async () => {
    const rejected = await vote(approver, 'reject');
    expect(rejected.status).to.equal('rejected');
    expect(rejected.votes).to.deep.equal([
      {
        by: 'usr_approver',
        decision: 'reject',
        reason: 'Not now.',
        at: '2026-03-01T12:00:00.000Z',
        content_hash: reply.approval?.content_hash,
        own_request: false,
      },
    ]);
    expect(rig.mailbox.effects).to.deep.equal([]);
  });

  it(`requires a reason to reject ${verifies('contract:9:decision')}`, async () => {
    expect(await rejection(vote(approver, 'reject', { reason: undefined }))).to.include({
      code: 'invalid_request',
    });
  });

  it(`requires the role named by the terms ${verifies('contract:9:approver')}`, async () => {
    rig.person('usr_boss', 'owner');
    await ask({ ...NEEDS_APPROVAL, then: { ...NEEDS_APPROVAL.then, approver_role: 'admin' } });
    // A caller who may decide nothing here and has no other part in it does not see it.
    expect(await rejection(vote(approver))).to.include({ code: 'not_found' });
    const involved: Caller = { ...approver, mailboxes: rig.caller.mailboxes };
    expect(await rejection(vote(involved))).to.include({ code: 'not_an_approver' });
  });

  it(`marks the requester's own vote, and refuses it when the terms exclude the owner ${verifies('contract:9:own-request')}`, async () => {
    const behind = rig.person('usr_1', 'owner');
    const own = await vote(behind);
    expect(own.votes[0]?.own_request).to.equal(true);
    await ask({ ...NEEDS_APPROVAL, then: { ...NEEDS_APPROVAL.then, exclude_owner: true } });
    expect(await rejection(vote(behind))).to.include({ code: 'self_approval_forbidden' });
    expect(await vote(approver)).to.include({ status: 'pending_commit' });
  });

  it(`records one grant when two people vote at once ${verifies('contract:10:one-end')}`, async () => {
    const second = rig.person('usr_second', 'admin');
    const answers = await Promise.allSettled([vote(approver), vote(second), vote(approver, 'reject')]);
    expect(answers.filter(({ status }) => status === 'fulfilled').length).to.be.greaterThan(0);
    const types = await rig.typesOf(reply);
    const ends = types.filter((type) => type === 'ApprovalGranted' || type === 'ApprovalRejected');
    expect(ends).to.have.length(1);
  });

  it(`keeps the vote when the commit that follows fails ${verifies('contract:10:attempt-failed')}`, async () => {
    await ask({ ...NEEDS_APPROVAL, then: { decision: 'require' } });
    rig.mail.failure = new GatewayError('mailbox_unavailable', 'No connection.');
    const after = await vote(approver);
    expect(after).to.deep.include({ status: 'pending_commit', commit_at: '2026-03-01T12:01:00.000Z' });
    expect(after.execution).to.deep.include({ status: 'waiting', attempts: 1 });
  });
});
