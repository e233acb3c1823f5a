/** The reply of an operation that has an approval, from its stream and the clock. Pure. */
import { approvalIdOf } from './operation-id.ts';
import { type OperationReply, type OperationState, replyOf } from './operation.ts';
import { countsOf, type OperationProgress, progressOf } from './operation-progress.ts';
import type { Summary } from './operation-events.ts';
import {
  type ApprovalState,
  type ApprovalStatus,
  approvalStatus,
  commitAtOf,
  isOpen,
  isUnrun,
  wasGranted,
} from './approval-state.ts';
import { endedWithoutRunning } from './refuse-status.ts';

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
