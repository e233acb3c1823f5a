/** What the commits of all approvals share, what each kind of approval defines, and how a commit ends (`contract.md` 10). */
import type { Author, Loaded } from '../kernel/decide-and-append.ts';
import type { GatewayError } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import type { ExpectedRevision } from '../ports/event-store.ts';
import type { Position } from '../values/position.ts';
import type { MailboxScope } from '../values/scopes.ts';
import type { Acting } from '../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../policy/decide-policy.ts';
import type { OperationFact, OperationReply, OperationState } from './operation.ts';
import type { Invalidation } from './approval-events.ts';
import type { ApprovalState, CommitAttempt } from './approval-state.ts';
import type { Manifest } from './manifest.ts';
import type { Standing } from './requester.ts';
import type { ItemResult } from './operation-events.ts';

export interface Commit {
  readonly operationId: string;
  /** Of the events: the caller of the commit, or the gateway. */
  readonly author: Author;
  /** `schedule`: the scheduled time has come; no caller waits for the answer. */
  readonly by: 'caller' | 'schedule';
  /** The approval as read just before, if the caller has it. */
  readonly loaded?: Loaded<OperationState>;
  /** The claim of the caller's key, awaited before anything is appended; throws when another request has it. */
  readonly claimed?: Promise<unknown>;
  notePosition(position: Position | null): void;
}

/** A revalidated approval that may be committed, at this revision of its stream. */
export interface Committable<Content extends Manifest = Manifest> extends Standing {
  readonly commit: Commit;
  readonly state: OperationState;
  readonly approval: ApprovalState;
  readonly revision: ExpectedRevision;
  readonly manifest: Content;
  readonly policy: PolicyDecision;
  /** Goes before the intent, in the same append at `revision`: the lock against every other end. */
  readonly started: OperationFact;
}

export type Executed =
  | { readonly end: 'told'; readonly reply: OperationReply }
  /** Another writer was first, or another process runs it: everything is decided again. */
  | { readonly end: 'changed' }
  /** It can never be committed. */
  | { readonly end: 'invalid'; readonly reason: Invalidation; readonly refusal: GatewayError }
  /** Certainly nothing was changed, and another attempt may succeed. Only before the intent. */
  | { readonly end: 'no_effect'; readonly refusal: GatewayError };

/** What differs between the commits of different kinds of approval. */
export interface CommitKind<Content extends Manifest> {
  readonly kind: Content['kind'];
  /** The scopes the requester must hold now. */
  scopes(manifest: Content): readonly MailboxScope[];
  /** The present policy decision on exactly this. Throws `store_unavailable`. */
  decide(ports: Ports, asked: Asked<Content>): Promise<PolicyDecision>;
  /**
   * What is gone of the approved content; null while all of it is there. With `asksServer` it also asks the
   * mail server, and throws the error that keeps the mailbox from answering.
   */
  lost(
    ports: Ports,
    ground: Standing & { readonly manifest: Content },
    asking: { readonly asksServer: boolean },
  ): Promise<Invalidation | null>;
  execute(ports: Ports, committable: Committable<Content>): Promise<Executed>;
}

interface Asked<Content extends Manifest> {
  readonly acting: Acting;
  readonly orgId: string;
  readonly state: OperationState;
  readonly manifest: Content;
}

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

interface FailedAttempt {
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
