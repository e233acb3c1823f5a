/**
 * The commit of an approval of any kind: everything is revalidated, and a permanent failure ends the
 * approval. Each kind defines how its manifest is executed (`CommitKind`).
 */
import { appendDecided, loadAggregate, type Loaded, retryAppend } from '../kernel/decide-and-append.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { type GatewayError, notFound } from '../values/errors.ts';
import type { Appended } from '../ports/event-store.ts';
import type { Ports } from '../ports/ports.ts';
import { operation, type OperationFact, type OperationReply, type OperationState } from './operation.ts';
import { type ApprovalState, commitAtOf, isOver, nextAttempt } from './approval-state.ts';
import { type Candidate, type Invalid, revalidateApproval } from './revalidate-approval.ts';
import { attemptFailed, type Commit, type CommitKind, type Committable, isOwn } from './commit-kind.ts';
import type { Manifest } from './manifest.ts';
import { approvalReply, approvalStatusOf, assertContentHash, refusedIn } from './approval-reply.ts';
import { secondsAfter } from './request-approval.ts';

/** The lease's holder is about to write its start, or has just ended: the pauses add up to a second. */
const PAUSE_MS = 30;

/**
 * Commits an approval, or holds it back for its `undo_seconds`. Throws the refusal of its status;
 * `approval_invalidated` or `selection_changed` once its ground is gone, which is recorded by then; and the
 * error that kept the attempt from having any effect.
 */
export async function runCommit<Content extends Manifest>(
  ports: Ports,
  commit: Commit,
  kind: CommitKind<Content>,
): Promise<OperationReply> {
  const tryAgain = async (attempt: number): Promise<OperationReply | null> => {
    const first = attempt === 1 ? commit.loaded : undefined;
    const loaded = first ?? (await loadAggregate(ports.events, operation, commit.operationId));
    return await tryOnce(ports, commit, kind, loaded);
  };
  return await retryAppend(tryAgain, (attempt) => ports.clock.sleep(PAUSE_MS * attempt));
}

/** Throws the refusal of its status, and `version_conflict` for another hash than the approval's. */
export function assertCommittable(state: OperationState, now: Date, contentHash?: string): ApprovalState {
  const { approval } = state;
  const status = approvalStatusOf(state, now);
  if (approval === null || status === null) throw notFound('approval');
  if (contentHash !== undefined) assertContentHash(contentHash, approval.requested);
  if (status !== 'pending_commit') throw refusedIn(status, approval);
  return approval;
}

/** Null when another writer was first. */
async function tryOnce<Content extends Manifest>(
  ports: Ports,
  commit: Commit,
  kind: CommitKind<Content>,
  loaded: Loaded<OperationState>,
): Promise<OperationReply | null> {
  await untilRightsKnown(ports.directory);
  const now = ports.clock.now();
  const approval = assertCommittable(loaded.state, now);
  const candidate = { commit, approval, ...loaded, now };
  const committable = await revalidateApproval(ports, candidate, kind);
  if ('reason' in committable) return await invalidate(ports, candidate, committable);
  if (isHeldBack(approval, commit, now)) return await holdBack(ports, candidate);
  const executed = await kind.execute(ports, committable);
  switch (executed.end) {
    case 'told':
      return executed.reply;
    case 'changed':
      return null;
    case 'invalid':
      return await invalidate(ports, candidate, { ...executed, policy: null });
    case 'no_effect':
      return await failAttempt(ports, candidate, committable.started, executed.refusal);
  }
}

/** Only the first commit: a retry was held back before. */
const isHeldBack = (approval: ApprovalState, { by }: Commit, now: Date): boolean => {
  const commitAt = commitAtOf(approval);
  if (commitAt !== null && Date.parse(commitAt) <= now.getTime()) return false;
  return by === 'schedule' || (approval.terms.undo_seconds > 0 && approval.attempt === null);
};

async function holdBack(ports: Ports, candidate: Candidate): Promise<OperationReply | null> {
  const { commit, approval, state, now } = candidate;
  if (approval.phase === 'scheduled' || commit.by === 'schedule')
    return approvalReply(commit.operationId, state, now);
  const commit_at = secondsAfter(now, approval.terms.undo_seconds);
  const held = await append(ports, candidate, [
    { type: 'CommitScheduled', data: { commit_at, why: 'undo' } },
  ]);
  return held && approvalReply(commit.operationId, held, now);
}

async function invalidate(
  ports: Ports,
  candidate: Candidate,
  { reason, policy, refusal }: Invalid,
): Promise<null> {
  const told = policy && {
    decision: policy.decision,
    rule_id: policy.ruleId,
    policy_version: policy.version,
  };
  const appended = await append(ports, candidate, [
    { type: 'ApprovalInvalidated', data: { reason, policy: told } },
  ]);
  if (appended === null) return null;
  throw refusal;
}

/** Records the whole attempt, its start and its end. */
async function failAttempt(
  ports: Ports,
  candidate: Candidate,
  started: OperationFact,
  error: GatewayError,
): Promise<null> {
  const { approval, commit, now } = candidate;
  const attempt = nextAttempt(approval, now.toISOString());
  // A caller's attempt in between does not end the retries of the gateway.
  const isRetried = commit.by === 'schedule' || approval.phase === 'scheduled' || isOwn(approval);
  const { retryAfterSeconds } = error;
  const failed = attemptFailed(attempt, { error, isRetried, retryAfterSeconds, now });
  if ((await append(ports, candidate, [started, ...failed])) === null) return null;
  throw error;
}

/** Null when another writer was first. */
async function append(
  ports: Ports,
  { commit, state, revision, now }: Candidate,
  facts: readonly OperationFact[],
): Promise<OperationState | null> {
  await commit.claimed;
  const decided = { id: commit.operationId, state, revision, facts, occurredAt: now };
  const written = await appendDecided(ports, commit.author, operation, decided);
  if (written === null) return null;
  commit.notePosition(written.appended.position);
  return written.state;
}

/** Where a commit begins: the append that is the lock against every other end of its approval. */
interface CommitBegun {
  readonly loaded: { readonly state: OperationState } & Appended;
  readonly at: Date;
}

/**
 * Appends start and intent together, at the revision that was revalidated. Null when another writer was
 * first, and when the deadline has passed since: later reads return that it expired.
 */
export async function beginCommit(
  ports: Ports,
  { commit, state, approval, revision, started }: Committable,
  intent: OperationFact,
): Promise<CommitBegun | null> {
  await commit.claimed;
  const at = ports.clock.now();
  if (isOver(approval, at)) return null;
  const decided = { id: commit.operationId, state, revision, facts: [started, intent], occurredAt: at };
  const written = await appendDecided(ports, commit.author, operation, decided);
  if (written === null) return null;
  const { state: after, appended } = written;
  return { loaded: { state: after, ...appended }, at };
}
