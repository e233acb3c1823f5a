/**
 * The commit of a check, whatever it is about: everything is looked at again, and what fails for good ends the check. How
 * the manifest is executed each kind of check says itself (`CommitKind`).
 */
import { appendFacts, loadAggregate, type Loaded, streamOf } from '../kernel/decide-and-append.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { WrongExpectedRevision } from '../ports/event-store.ts';
import type { Position } from '../values/position.ts';
import {
  aboutOperation,
  operation,
  type OperationFact,
  type OperationReply,
  type OperationState,
} from './operation.ts';
import type { ApprovalState } from './approval-state.ts';
import { type Check, revalidateApproval, type Invalid } from './revalidate-approval.ts';
import type { Commit, CommitKind, Committable } from './commit-kind.ts';
import { attemptFailed, isOwn } from './commit-outcome.ts';
import type { Manifest } from './manifest.ts';
import { assertContentHash, refusedIn } from './refuse-status.ts';
import { approvalReply, approvalStatusOf } from './approval-reply.ts';
import { secondsAfter } from './request-approval.ts';
import { isOver } from './approval-status.ts';

/** Writers on one stream meet rarely; more refusals than this in a row mean something else is wrong. */
const MOST_TRIES = 8;
/** Whoever holds the check's lease is about to write that it begins, or has just ended: in all a second is waited for it. */
const PAUSE_MS = 30;

/**
 * Commits a check, or holds it back for its `undo_seconds`. Throws what its status refuses; `approval_invalidated`,
 * `selection_changed` once its ground is gone, written down by then; and what kept the attempt from having any effect.
 */
export async function runCommit<Content extends Manifest>(
  ports: Ports,
  commit: Commit,
  kind: CommitKind<Content>,
): Promise<OperationReply> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const first = tries === 1 ? commit.loaded : undefined;
    const loaded = first ?? (await loadAggregate(ports.events, operation, commit.operationId));
    const reply = await tryOnce(ports, commit, kind, loaded);
    if (reply !== null) return reply;
    await ports.clock.sleep(PAUSE_MS * tries);
  }
  throw new GatewayError('overloaded', 'Many writers are changing this approval; try again.');
}

/** Throws what its status refuses, and `version_conflict` for another hash than the check's. */
export function assertCommittable(state: OperationState, now: Date, contentHash?: string): ApprovalState {
  const { approval } = state;
  const status = approvalStatusOf(state, now);
  if (approval === null || status === null) throw notFound('approval');
  if (contentHash !== undefined) assertContentHash(contentHash, approval.requested);
  if (status !== 'pending_commit') throw refusedIn(status);
  return approval;
}

/** Null when another writer was first. */
async function tryOnce<Content extends Manifest>(
  ports: Ports,
  commit: Commit,
  kind: CommitKind<Content>,
  loaded: Loaded<OperationState>,
): Promise<OperationReply | null> {
  const now = ports.clock.now();
  const approval = assertCommittable(loaded.state, now);
  const check = { commit, approval, ...loaded, now };
  const checked = await revalidateApproval(ports, check, kind);
  if ('reason' in checked) return await invalidate(ports, check, checked);
  if (isHeldBack(approval, commit, now)) return await holdBack(ports, check);
  const executed = await kind.execute(ports, checked);
  switch (executed.end) {
    case 'told':
      return executed.reply;
    case 'changed':
      return null;
    case 'invalid':
      return await invalidate(ports, check, { ...executed, policy: null });
    case 'no_effect':
      return await failAttempt(ports, check, checked.started, executed.refusal);
  }
}

/** Of the first commit only: what is tried again was held back before. */
const isHeldBack = ({ terms, attempts, commitAt }: ApprovalState, { by }: Commit, now: Date): boolean => {
  if (commitAt !== null && Date.parse(commitAt) <= now.getTime()) return false;
  return by === 'schedule' || (terms.undo_seconds > 0 && attempts === 0);
};

async function holdBack(ports: Ports, check: Check): Promise<OperationReply | null> {
  const { commit, approval, state, now } = check;
  if (approval.commitAt !== null || commit.by === 'schedule')
    return approvalReply(commit.operationId, state, now);
  const commit_at = secondsAfter(now, approval.terms.undo_seconds);
  const appended = await append(ports, check, [
    { type: 'CommitScheduled', data: { commit_at, why: 'undo' } },
  ]);
  if (appended === null) return null;
  const held = { ...state, approval: { ...approval, commitAt: commit_at } };
  return approvalReply(commit.operationId, held, now);
}

async function invalidate(ports: Ports, check: Check, { reason, policy, refusal }: Invalid): Promise<null> {
  const told = policy && {
    decision: policy.decision,
    rule_id: policy.ruleId,
    policy_version: policy.version,
  };
  const appended = await append(ports, check, [
    { type: 'ApprovalInvalidated', data: { reason, policy: told } },
  ]);
  if (appended === null) return null;
  throw refusal;
}

/** The attempt is told as a whole, its beginning and its end. */
async function failAttempt(
  ports: Ports,
  check: Check,
  started: OperationFact,
  error: GatewayError,
): Promise<null> {
  const { approval, commit, now } = check;
  const attempt = approval.attempts + 1;
  const began = { ...approval, commitStartedAt: now.toISOString() };
  // An attempt somebody made in between takes nothing from those of the gateway.
  const isRetried = commit.by === 'schedule' || approval.commitAt !== null || isOwn(approval);
  const { retryAfterSeconds } = error;
  const failed = attemptFailed(began, { attempt, error, isRetried, retryAfterSeconds, now });
  if ((await append(ports, check, [started, ...failed])) === null) return null;
  throw error;
}

/** Null when another writer was first. */
async function append(
  ports: Ports,
  { commit, state, revision, now }: Check,
  facts: readonly OperationFact[],
): Promise<Position | null> {
  const stream = streamOf(operation, commit.operationId);
  try {
    const { catalogue } = operation;
    const about = aboutOperation(commit.operationId, state.mailboxId, true);
    const to = { stream, expected: revision, catalogue, facts, occurredAt: now, about };
    const { position } = await appendFacts(ports, commit.author, to);
    commit.notePosition(position);
    return position;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}

/** Where a commit begins: the append that is the lock against every other end of its check. */
export interface CommitBegun {
  readonly revision: bigint;
  readonly at: Date;
}

/**
 * Started and intended in one append, at the revision everything was checked at. Null when another writer was first, and
 * when its time passed since: whoever looks from then on is told that it expired.
 */
export async function beginCommit(
  ports: Ports,
  { commit, state, approval, revision, started }: Committable,
  intent: OperationFact,
): Promise<CommitBegun | null> {
  const at = ports.clock.now();
  if (isOver(approval, at)) return null;
  const stream = streamOf(operation, commit.operationId);
  const { catalogue } = operation;
  const facts = [started, intent];
  try {
    const about = aboutOperation(commit.operationId, state.mailboxId, true);
    const to = { stream, expected: revision, catalogue, facts, occurredAt: at, about };
    return { revision: (await appendFacts(ports, commit.author, to)).revision, at };
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}
