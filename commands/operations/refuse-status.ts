/** What is answered to somebody who comes too late or too early for a check (`contract.md` 9, 10 and 13). Pure. */
import { type ErrorCode, GatewayError } from '../values/errors.ts';
import type { OperationReply } from './operation.ts';
import type { ApprovalStatus, UnrunStatus } from './approval-status.ts';

const REFUSALS: Readonly<Record<ApprovalStatus, readonly [code: ErrorCode, message: string]>> = {
  awaiting_approval: ['approval_pending', 'Nobody has approved this yet; monitor_approval tells when.'],
  pending_commit: ['approval_not_pending', 'This was approved already; it waits for its commit.'],
  committing: ['approval_not_pending', 'This is being committed at the moment.'],
  commit_unknown: [
    'approval_not_pending',
    'This was committed; what became of it is not known yet and is being looked up.',
  ],
  committed: ['approval_not_pending', 'This was committed already.'],
  commit_failed: ['approval_not_pending', 'This was committed and failed for good; ask for it anew.'],
  rejected: ['approval_not_pending', 'This was rejected.'],
  cancelled: ['approval_not_pending', 'This was withdrawn.'],
  expired: ['approval_expired', 'The time to decide or to commit this is over; ask for it anew.'],
  superseded: ['approval_invalidated', 'The draft was edited since; ask for it anew.'],
  invalidated: ['approval_invalidated', 'What this rested on is gone; ask for it anew.'],
};

/** The refusal of whatever the check's status does not allow. */
export function refusedIn(status: ApprovalStatus): GatewayError {
  const [code, message] = REFUSALS[status];
  return new GatewayError(code, message, { details: { status } });
}

const ENDED: Readonly<Record<UnrunStatus, string>> = {
  rejected: 'The approval was rejected.',
  cancelled: 'The approval was withdrawn.',
  expired: 'The time to decide or to commit the approval is over.',
  superseded: 'The draft was edited after the approval was asked for.',
  invalidated: 'What the approval rested on is gone.',
};

/** What a used key is told whose approval ended without running: one code for each end. `approval` is that of a reply. */
export function endedWithoutRunning(
  status: UnrunStatus,
  approval: NonNullable<OperationReply['approval']>,
): GatewayError {
  const message = `${ENDED[status]} Nothing ran and nothing will; to ask again, take a fresh Idempotency-Key.`;
  return new GatewayError(`approval_${status}`, message, { details: { approval }, replayed: true });
}

/** Throws `version_conflict` when somebody means other content than the check has. */
export function assertContentHash(given: string, { content_hash }: { readonly content_hash: string }): void {
  if (given === content_hash) return;
  const message = 'This check is about other content than the hash names; look at its preview again.';
  // The right hash is told by the preview alone: whoever votes has looked.
  throw new GatewayError('version_conflict', message);
}
