/**
 * The reply and the progress of an operation that has an approval, from its stream and the clock, and the refusals of
 * requests that come too late or too early for it (`contract.md` 9, 10 and 13). Pure.
 */
import { approvalIdOf, type OperationReply, type OperationState, replyOf, summarise } from './operation.ts';
import type { Invalidation } from './approval-events.ts';
import type { SendOutcome, Summary } from './operation-events.ts';
import {
  type ApprovalState,
  type ApprovalStatus,
  approvalStatus,
  commitAtOf,
  endOf,
  isOpen,
  isUnrun,
  type UnrunStatus,
  wasGranted,
} from './approval-state.ts';
import { type ErrorCode, GatewayError } from '../values/errors.ts';

/** The status of the approval at a time; null for an operation that ran without one. */
export const approvalStatusOf = (state: OperationState, now: Date): ApprovalStatus | null =>
  state.approval && approvalStatus(state.approval, { now, hasUnknown: (countsOf(state)?.unknown ?? 0) > 0 });

/** `approval` of an `OperationReply` (`contract.md` 6). */
export function approvalOfReply(
  operationId: string,
  approval: ApprovalState,
  status: ApprovalStatus,
): NonNullable<OperationReply['approval']> {
  const { requested, expiresAt } = approval;
  const commitAt = commitAtOf(approval);
  return {
    id: approvalIdOf(operationId),
    status,
    content_hash: requested.content_hash,
    expires_at: expiresAt,
    commit_by: wasGranted(approval) ? expiresAt : null,
    ...(commitAt === null ? {} : { commit_at: commitAt }),
  };
}

/**
 * The operation as it is now. While it can still run, the status says what it waits for; `completed` is only
 * what ran. Throws `approval_rejected`, `approval_cancelled`, `approval_expired`, `approval_superseded` or
 * `approval_invalidated` when the approval ended without running.
 */
export function approvalReply(operationId: string, state: OperationState, now: Date): OperationReply {
  const { approval, results } = state;
  const status = approvalStatusOf(state, now);
  if (approval === null || status === null) throw new Error(`${operationId} has no approval`);
  const shown = approvalOfReply(operationId, approval, status);
  if (isUnrun(status)) throw endedWithoutRunning(status, shown);
  const told = {
    approval: shown,
    ...(approval.requested.draft_id === null ? {} : { draft_id: approval.requested.draft_id }),
  };
  if (results !== null) return { ...replyOf(operationId, results), ...told };
  if (status === 'awaiting_approval') return { ...waiting(operationId, status), ...told };
  const mayRun = status === 'pending_commit' || status === 'committing' || status === 'commit_unknown';
  if (mayRun) return { ...waiting(operationId, 'pending_commit'), ...told };
  return { ...replyOf(operationId, []), summary: countsOf(state) ?? NOTHING, ...told };
}

const NOTHING = { done: 0, failed: 0, unknown: 0 };

const waiting = (
  operationId: string,
  status: 'awaiting_approval' | 'pending_commit',
): Pick<OperationReply, 'status' | 'operation_id' | 'results'> => ({
  status,
  operation_id: operationId,
  results: [],
});

/** The status that the first request returned, derived from the terms of the approval. */
export const originalStatus = ({
  approval,
}: OperationState): 'awaiting_approval' | 'pending_commit' | 'completed' =>
  approval === null ? 'completed' : approval.terms.quorum === 0 ? 'pending_commit' : 'awaiting_approval';

/** Whether the work under an approval waits, runs, has ended, or will never run. */
export const progressAt = (state: OperationState, now: Date): OperationProgress =>
  progressIn(approvalStatusOf(state, now), countsOf(state));

export function progressIn(status: ApprovalStatus | null, counts: Summary | null): OperationProgress {
  if (isOpen(status)) return 'waiting';
  return isUnrun(status) ? 'not_run' : progressOf(counts);
}

/**
 * As callers of `GET /operations` see it: `waiting` for a decision or a commit; `running` until every item has an outcome (a send that is retried
 * later still runs), then `unknown` while one of them is, `failed` when nothing was done and something
 * failed, else `completed`; `not_run` when its approval ended before anything ran.
 */
export const OPERATION_STATES = ['waiting', 'running', 'completed', 'failed', 'unknown', 'not_run'] as const;
export type OperationProgress = (typeof OPERATION_STATES)[number];

/** The number of items per outcome; null while it runs. */
export function countsOf({ results, send }: OperationState): Summary | null {
  if (send === null) return results && summarise(results);
  return send.outcome && countsOfSend(send.outcome.outcome);
}

/** One message is one item. */
export const countsOfSend = (outcome: SendOutcome['outcome']): Summary => ({
  ...{ done: 0, failed: 0, unknown: 0 },
  [outcome]: 1,
});

export function progressOf(counts: Summary | null): OperationProgress {
  if (counts === null) return 'running';
  if (counts.unknown > 0) return 'unknown';
  return counts.done === 0 && counts.failed > 0 ? 'failed' : 'completed';
}

const REFUSALS: Readonly<
  Record<Exclude<ApprovalStatus, 'invalidated'>, readonly [code: ErrorCode, message: string]>
> = {
  awaiting_approval: ['approval_pending', 'This is not approved yet; monitor_approval waits for it.'],
  pending_commit: ['approval_not_pending', 'This was approved already; it waits for its commit.'],
  committing: ['approval_not_pending', 'This is being committed at the moment.'],
  commit_unknown: [
    'approval_not_pending',
    'This was committed; its outcome is not known yet and is being reconciled.',
  ],
  committed: ['approval_not_pending', 'This was committed already.'],
  commit_failed: ['approval_not_pending', 'This was committed and failed permanently; make a new request.'],
  rejected: ['approval_not_pending', 'This was rejected.'],
  cancelled: ['approval_not_pending', 'This was withdrawn.'],
  expired: ['approval_expired', 'The time to decide or to commit this is over; make a new request.'],
  superseded: ['approval_invalidated', 'The draft was edited since; make a new request.'],
};

/** The refusal of a call that the approval's status does not allow. One that was invalidated says why, now as then. */
export function refusedIn(status: ApprovalStatus, approval: ApprovalState): GatewayError {
  const end = endOf(approval);
  if (end?.status === 'invalidated') return invalidatedBy(end.why.reason);
  if (status === 'invalidated') throw new Error('an approval that was invalidated has a reason');
  const [code, message] = REFUSALS[status];
  return new GatewayError(code, message, { details: { status } });
}

const GONE: Readonly<Record<Invalidation, string>> = {
  approver_gone: 'An approver of this may no longer decide it.',
  draft_discarded: 'The draft was discarded.',
  grant_gone: 'The requester may no longer do this.',
  mailbox_removed: 'The mailbox was removed.',
  manifest_mismatch: 'The approved content can no longer be read.',
  policy_stricter: 'Policy is stricter now than when this was approved.',
  requester_gone: 'The requester left the organisation, or the token was revoked.',
  targets_gone: 'A message or a folder changed since the request.',
};

/** The refusal for an approval that is invalidated. */
export const invalidatedBy = (reason: Invalidation): GatewayError =>
  new GatewayError('approval_invalidated', `${GONE[reason]} Nothing was done; make a new request.`, {
    details: { status: 'invalidated', reason },
  });

const ENDED: Readonly<Record<UnrunStatus, string>> = {
  rejected: 'The approval was rejected.',
  cancelled: 'The approval was withdrawn.',
  expired: 'The time to decide or to commit the approval is over.',
  superseded: 'The draft was edited after the approval was requested.',
  invalidated: 'Something the approval depended on has changed.',
};

/** For a used key whose approval ended without running: one code per end. `approval` is that of a reply. */
function endedWithoutRunning(
  status: UnrunStatus,
  approval: NonNullable<OperationReply['approval']>,
): GatewayError {
  const message = `${ENDED[status]} Nothing ran and nothing will; a new request needs a fresh Idempotency-Key.`;
  return new GatewayError(`approval_${status}`, message, { details: { approval }, replayed: true });
}

/** Throws `version_conflict` when the given hash is not that of the approval. */
export function assertContentHash(given: string, { content_hash }: { readonly content_hash: string }): void {
  if (given === content_hash) return;
  const message = 'The content_hash does not match this approval; read its preview again.';
  // The error does not contain the right hash, so that a voter has to read the preview.
  throw new GatewayError('version_conflict', message);
}
