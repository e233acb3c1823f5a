/** A person's vote on an approval and what follows from it, and the ends before anything ran (`contract.md` 9 and 10). Pure. */
import { GatewayError } from '../values/errors.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Role } from '../values/scopes.ts';
import type { OperationFact, OperationState } from './operation.ts';
import { type ApprovalState, type ApprovalStatus, isOpen } from './approval-state.ts';
import { fulfilsRole } from './eligible-approvers.ts';
import { approvalStatusOf, assertContentHash, refusedIn } from './approval-reply.ts';
import { secondsAfter } from './request-approval.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { Invalidation } from './approval-events.ts';

interface Ballot {
  readonly voterId: string;
  readonly role: Role | null;
  /** The person in whose name it was requested. */
  readonly behindId: string;
  readonly decision: 'approve' | 'reject';
  readonly contentHash: string;
  readonly reason: Sealed | null;
  readonly now: Date;
}

/**
 * Returns the vote and what follows from it: with the last vote of the quorum, the grant. Returns nothing for
 * a repeated vote. Throws `not_an_approver`, `self_approval_forbidden`, `version_conflict` for another hash,
 * `conflict` for a different vote of the same person, and the refusal of the status.
 */
export function castVote(state: OperationState, ballot: Ballot): readonly OperationFact[] {
  const { approval } = state;
  const { now, voterId, decision, contentHash } = ballot;
  const status = approvalStatusOf(state, now);
  if (approval === null || status === null)
    throw new Error('an operation without an approval cannot be voted on');
  assertApprover(approval, ballot);
  assertContentHash(contentHash, approval.requested);
  const earlier = approval.votes.find(
    ({ by, content_hash }) => by.id === voterId && content_hash === contentHash,
  );
  if (earlier?.decision === decision) return [];
  if (!canStillBeDecided(status, approval, ballot)) throw refusedIn(status, approval);
  if (earlier) throw new GatewayError('conflict', 'You have voted on this already; a vote counts once.');
  return [voteOf(ballot), ...consequences(approval, ballot)];
}

/** Until something of it runs, another approver can still reject it. */
const canStillBeDecided = (status: ApprovalStatus, { terms }: ApprovalState, { decision }: Ballot): boolean =>
  status === 'awaiting_approval' ||
  (status === 'pending_commit' && decision === 'reject' && terms.quorum > 0);

function assertApprover({ terms }: ApprovalState, { role, voterId, behindId }: Ballot): void {
  if (!fulfilsRole(role, terms.approver_role)) {
    const message = `This is decided by people with the role ${terms.approver_role} or above.`;
    throw new GatewayError('not_an_approver', message, { details: { approver_role: terms.approver_role } });
  }
  if (terms.exclude_owner && voterId === behindId) {
    const message = 'Policy requires another person to decide what was requested in your name.';
    throw new GatewayError('self_approval_forbidden', message);
  }
}

const voteOf = ({ decision, contentHash, reason, voterId, behindId }: Ballot): OperationFact => ({
  type: 'ApprovalVoteCast',
  data: { decision, content_hash: contentHash, reason, own_request: voterId === behindId },
});

function consequences({ terms, votes }: ApprovalState, { decision, now }: Ballot): readonly OperationFact[] {
  if (decision === 'reject') return [{ type: 'ApprovalRejected', data: {} }];
  const approved = votes.filter((vote) => vote.decision === 'approve').length + 1;
  if (approved < terms.quorum) return [];
  const commit_by = secondsAfter(now, terms.commit_ttl);
  const granted: OperationFact = { type: 'ApprovalGranted', data: { by: 'quorum', commit_by } };
  if (!terms.auto_commit) return [granted];
  const why = terms.undo_seconds > 0 ? 'undo' : 'auto_commit';
  const commit_at = secondsAfter(now, terms.undo_seconds);
  return [granted, { type: 'CommitScheduled', data: { commit_at, why } }];
}

/** Nothing if it was withdrawn already. Throws what its status refuses: from the commit on it is too late. */
export function decideCancel(
  state: OperationState,
  { reason, now }: { readonly reason: Sealed | null; readonly now: Date },
): readonly OperationFact[] {
  const { approval } = state;
  const status = approvalStatusOf(state, now);
  if (approval === null || status === null)
    throw new Error('an operation without an approval cannot be withdrawn');
  if (status === 'cancelled') return [];
  if (!isOpen(status)) throw refusedIn(status, approval);
  return [{ type: 'ApprovalCancelled', data: { reason } }];
}

/** Records an expiry by the clock; nothing for an approval that has not expired or has ended. */
export function decideExpiry(state: OperationState, now: Date): readonly OperationFact[] {
  const { approval } = state;
  if (approval === null || approval.phase === 'ended') return [];
  if (approvalStatusOf(state, now) !== 'expired') return [];
  return [{ type: 'ApprovalExpired', data: { expired_at: approval.expiresAt } }];
}

/** Ends an open approval whose ground is gone. `policy`: the present decision, where that is the reason. */
export function decideInvalidation(
  state: OperationState,
  {
    reason,
    policy,
    now,
  }: { readonly reason: Invalidation; readonly policy?: PolicyDecision; readonly now: Date },
): readonly OperationFact[] {
  const status = approvalStatusOf(state, now);
  if (!isOpen(status)) return [];
  return [{ type: 'ApprovalInvalidated', data: { reason, policy: policy ? policyNow(policy) : null } }];
}

const policyNow = ({ decision, ruleId, version }: PolicyDecision) => ({
  decision,
  rule_id: ruleId,
  policy_version: version,
});
