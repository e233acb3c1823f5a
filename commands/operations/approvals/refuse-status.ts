/** What is answered to somebody who comes too late or too early for a check (`contract.md` 9, 10 and 13). Pure. */
import { type ErrorCode, GatewayError } from '../../kernel/errors.ts';
import type { ApprovalStatus } from './approval-status.ts';

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

/** Throws `version_conflict` when somebody means other content than the check has. */
export function assertContentHash(given: string, { content_hash }: { readonly content_hash: string }): void {
  if (given === content_hash) return;
  const message = 'This check is about other content than the hash names; look at its preview again.';
  throw new GatewayError('version_conflict', message, { details: { content_hash } });
}
