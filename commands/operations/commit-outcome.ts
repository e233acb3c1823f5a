/** What the results of a commit mean for its approval (`contract.md` 10). Pure. */
import type { OperationFact } from './operation.ts';
import type { ItemResult } from './operation-events.ts';
import type { ApprovalState, CommitAttempt } from './approval-state.ts';

const MINUTE_MS = 60_000;
/** Pauses after the first, second, … commit without any effect; the last one repeats (`contract.md` 7). */
const RETRY_AFTER_MS = [1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS);
/** How long the approval stays valid after a failed attempt (`contract.md` 10). */
const HOLDS_FOR_MS = 24 * 60 * MINUTE_MS;

/** Of a commit that did nothing: interrupted before it began, or its message was gone at the request. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(['mailbox_unavailable', 'message_stale']);

/**
 * The end that follows from the outcomes; none while one of them is unknown. A commit proven to have done
 * nothing is no end: it may be committed again.
 */
export function commitOutcome(
  approval: ApprovalState | null,
  results: readonly ItemResult[],
  now: Date,
): readonly OperationFact[] {
  if (approval?.phase !== 'committing' || results.some(({ outcome }) => outcome === 'unknown')) return [];
  const { attempt: begun } = approval;
  const attempt = begun.number;
  if (results.some(({ outcome }) => outcome === 'done'))
    return [{ type: 'ApprovalCommitted', data: { attempt } }];
  const refused = results.find(({ error }) => error !== undefined && !SAYS_NOTHING.has(error.code));
  const cutOff = results.find(({ error }) => error?.code === 'mailbox_unavailable');
  return refused === undefined && cutOff?.error !== undefined
    ? attemptFailed(begun, { error: cutOff.error, isRetried: isOwn(approval), now })
    : [{ type: 'ApprovalCommitFailed', data: { attempt } }];
}

/** The gateway commits these automatically, so it also retries them automatically. */
export const isOwn = ({ terms }: Pick<ApprovalState, 'terms'>): boolean =>
  terms.auto_commit || terms.undo_seconds > 0;

export interface FailedAttempt {
  readonly error: { readonly code: string; readonly message: string };
  /** The gateway retries automatically. */
  readonly isRetried: boolean;
  /** Another attempt is of no use before this, seconds. */
  readonly retryAfterSeconds?: number | undefined;
  readonly now: Date;
}

/**
 * Back to `pending_commit` for a day from the start of this attempt. Where the gateway retries, also
 * schedules the next attempt, at the latest a day after the first.
 */
export function attemptFailed(
  { number: attempt, startedAt, firstAt }: CommitAttempt,
  { error: { code, message }, isRetried, retryAfterSeconds = 0, now }: FailedAttempt,
): readonly OperationFact[] {
  const dayAfter = (time: string): number => Date.parse(time) + HOLDS_FOR_MS;
  const expires_at = new Date(dayAfter(startedAt)).toISOString();
  const failed: OperationFact = {
    type: 'CommitAttemptFailed',
    data: { attempt, error: { code, message }, expires_at },
  };
  const pauseMs = RETRY_AFTER_MS[Math.min(attempt, RETRY_AFTER_MS.length) - 1] ?? 0;
  const retryAt = now.getTime() + Math.max(pauseMs, retryAfterSeconds * 1_000);
  if (!isRetried || retryAt > dayAfter(firstAt)) return [failed];
  const commit_at = new Date(retryAt).toISOString();
  return [failed, { type: 'CommitScheduled', data: { commit_at, why: 'retry' } }];
}
