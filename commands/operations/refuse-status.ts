/** The refusals for calls too late or too early for an approval (`contract.md` 9, 10 and 13). Pure. */
import { type ErrorCode, GatewayError } from '../values/errors.ts';
import type { OperationReply } from './operation.ts';
import type { ApprovalStatus, UnrunStatus } from './approval-state.ts';

const REFUSALS: Readonly<Record<ApprovalStatus, readonly [code: ErrorCode, message: string]>> = {
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
  invalidated: ['approval_invalidated', 'Something this depended on has changed; make a new request.'],
};

/** The refusal of a call that the approval's status does not allow. */
export function refusedIn(status: ApprovalStatus): GatewayError {
  const [code, message] = REFUSALS[status];
  return new GatewayError(code, message, { details: { status } });
}

const ENDED: Readonly<Record<UnrunStatus, string>> = {
  rejected: 'The approval was rejected.',
  cancelled: 'The approval was withdrawn.',
  expired: 'The time to decide or to commit the approval is over.',
  superseded: 'The draft was edited after the approval was requested.',
  invalidated: 'Something the approval depended on has changed.',
};

/** For a used key whose approval ended without running: one code per end. `approval` is that of a reply. */
export function endedWithoutRunning(
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
