/**
 * The behaviour of an approval (`contract.md` 6 to 10), written a second time without the deciders. Every
 * command returns the codes it may be refused with; none = it succeeds.
 */
import type { ApprovalStatus } from '../../../commands/operations/approval-state.ts';
import { isStricterNow, type Kind, type ModelWorld, rankOf, type Terms } from './approval-terms-model.ts';
import { AGENT, type CallerId, PEOPLE, type PersonId } from '../worlds/approval-world.ts';

/** One approval; times in milliseconds. `status` is that of its events: it may have expired since. */
export interface ModelCheck {
  readonly kind: Kind;
  /** The message can be found again by its Message-ID. */
  readonly isNamed: boolean;
  readonly terms: Terms;
  readonly votes: Map<PersonId, 'approve' | 'reject'>;
  status: ApprovalStatus;
  expiresAt: number;
  commitAt: number | null;
  attempts: number;
  startedAt: number;
  firstStartedAt: number | null;
  /** The real result in the mailbox, or of the send. */
  isDone: boolean;
  /** The grant of the request was revoked or replaced. */
  isGrantGone: boolean;
  /** The message is no longer there, or the draft has changed. */
  isTargetGone: boolean;
  /** The later state of the draft; null = unchanged. */
  draft: 'open' | 'discarded' | null;
}

const DAY_MS = 86_400_000;
const LATE_BY_MS = 5 * 60_000;
const RETRY_AFTER_MS = [1, 5, 15, 30].map((minutes) => minutes * 60_000);

export const isOpen = (status: ApprovalStatus): boolean =>
  status === 'awaiting_approval' || status === 'pending_commit';

/** Expiry applies on access. */
export const statusAt = ({ status, expiresAt }: ModelCheck, now: number): ApprovalStatus =>
  isOpen(status) && expiresAt <= now ? 'expired' : status;

/** `contract.md` 13: the refusal of a call that comes too early or too late. */
function refusalOf(status: ApprovalStatus): string {
  if (status === 'awaiting_approval') return 'approval_pending';
  if (status === 'expired') return 'approval_expired';
  return status === 'superseded' || status === 'invalidated'
    ? 'approval_invalidated'
    : 'approval_not_pending';
}

export function newCheck(world: ModelWorld, kind: Kind, isNamed: boolean, terms: Terms): ModelCheck {
  const isFree = terms.quorum === 0;
  return {
    kind,
    isNamed,
    terms,
    votes: new Map(),
    status: isFree ? 'pending_commit' : 'awaiting_approval',
    expiresAt: world.now + (isFree ? terms.commit_ttl : terms.decision_ttl) * 1_000,
    commitAt: null,
    attempts: 0,
    startedAt: 0,
    firstStartedAt: null,
    isDone: false,
    isGrantGone: false,
    isTargetGone: false,
    draft: null,
  };
}

export interface Ballot {
  readonly by: PersonId;
  readonly decision: 'approve' | 'reject';
  readonly isRightHash: boolean;
  readonly hasReason: boolean;
}

/** `contract.md` 3: visible to approvers, the person behind it, and holders of a grant on the mailbox. */
const isVisible = ({ isRemoved }: ModelWorld, { terms }: ModelCheck, by: PersonId): boolean =>
  !isRemoved || by === 'usr_olga' || (terms.quorum > 0 && rankOf(PEOPLE[by]) >= rankOf(terms.approver_role));

/** In any state of the approval. */
function refusedVote(
  world: ModelWorld,
  check: ModelCheck,
  { by, decision, isRightHash, hasReason }: Ballot,
): readonly string[] {
  const { approver_role, exclude_owner } = check.terms;
  const rules: readonly (readonly [code: string, isBroken: boolean])[] = [
    ['invalid_request', decision === 'reject' && !hasReason],
    ['insufficient_scope', rankOf(PEOPLE[by]) < 0],
    ['not_found', !isVisible(world, check, by)],
    ['not_an_approver', rankOf(PEOPLE[by]) < rankOf(approver_role)],
    ['self_approval_forbidden', exclude_owner && by === 'usr_olga'],
    ['version_conflict', !isRightHash],
  ];
  return rules.flatMap(([code, isBroken]) => (isBroken ? [code] : []));
}

const UNSEEN: ReadonlySet<string> = new Set(['invalid_request', 'insufficient_scope', 'not_found']);

const isGroundGone = ({ isRemoved }: ModelWorld, { isGrantGone }: ModelCheck): boolean =>
  isRemoved || isGrantGone;

function endLost(world: ModelWorld, check: ModelCheck): void {
  if (isOpen(statusAt(check, world.now))) invalidate(check);
}

export function vote(world: ModelWorld, check: ModelCheck, ballot: Ballot): readonly string[] {
  const refused = refusedVote(world, check, ballot);
  // A caller who may see it causes the gateway to notice what ended it.
  if (!refused.some((code) => UNSEEN.has(code)) && isGroundGone(world, check)) endLost(world, check);
  if (refused.length > 0) return refused;
  const { by, decision } = ballot;
  const earlier = check.votes.get(by);
  // A vote counts once; a repeat changes nothing, but the gateway notices what is due.
  if (earlier === decision) {
    commitDue(world, check);
    return [];
  }
  const status = statusAt(check, world.now);
  const isVetoed = status === 'pending_commit' && decision === 'reject' && check.terms.quorum > 0;
  if (status !== 'awaiting_approval' && !isVetoed) return [refusalOf(status)];
  if (earlier !== undefined) return ['conflict'];
  check.votes.set(by, decision);
  if (decision === 'reject') check.status = 'rejected';
  else if (check.votes.size === check.terms.quorum) grant(world, check);
  return [];
}

const end = (check: ModelCheck, status: ApprovalStatus): object =>
  Object.assign(check, { status, commitAt: null });

function grant(world: ModelWorld, check: ModelCheck): void {
  const { commit_ttl, auto_commit, undo_seconds } = check.terms;
  check.status = 'pending_commit';
  check.expiresAt = world.now + commit_ttl * 1_000;
  if (auto_commit) schedule(check, world.now + undo_seconds * 1_000);
  commitDue(world, check);
}

function commitDue(world: ModelWorld, check: ModelCheck): void {
  const isDue = check.commitAt !== null && check.commitAt <= world.now;
  if (isDue && statusAt(check, world.now) === 'pending_commit') commit(world, check, true);
}

function schedule(check: ModelCheck, at: number): void {
  check.commitAt = at;
  check.expiresAt = Math.max(check.expiresAt, at + LATE_BY_MS);
}

/** A grant on the mailbox allows both; a removed mailbox has none. */
const lacksGrant = ({ grant, isRemoved }: ModelWorld, by: CallerId): boolean =>
  isRemoved || (by === AGENT && grant === 'none');

/** `contract.md` 9: too late from the commit on. */
export function cancelBy(world: ModelWorld, check: ModelCheck, by: CallerId): readonly string[] {
  // The person it was requested for may cancel it, whatever happened to the grant.
  if (by === 'usr_olga' || !lacksGrant(world, by)) return cancel(world, check);
  return ['insufficient_scope', 'not_found'];
}

const BEGUN: ReadonlySet<ApprovalStatus> = new Set(['committed', 'commit_failed', 'commit_unknown']);

export function commitBy(
  world: ModelWorld,
  check: ModelCheck,
  { by, hash }: { readonly by: CallerId; readonly hash: 'right' | 'wrong' | 'none' },
): readonly string[] {
  if (lacksGrant(world, by)) return ['insufficient_scope', 'not_found'];
  if (hash === 'wrong') return ['version_conflict'];
  // An automatic commit answers with its outcome.
  if (check.terms.auto_commit && BEGUN.has(check.status)) return [];
  return commit(world, check, false);
}

function cancel(world: ModelWorld, check: ModelCheck): readonly string[] {
  const status = statusAt(check, world.now);
  if (status === 'cancelled') return [];
  if (!isOpen(status)) return [refusalOf(status)];
  end(check, 'cancelled');
  return [];
}

/** `isOwn`: the gateway commits automatically because the time has come. */
function commit(world: ModelWorld, check: ModelCheck, isOwn: boolean): readonly string[] {
  const status = statusAt(check, world.now);
  if (status !== 'pending_commit') return [refusalOf(status)];
  if (isGroundGone(world, check) || isStricterNow(world.policy, check.terms)) return invalidate(check);
  const isDue = check.commitAt !== null && check.commitAt <= world.now;
  if (check.terms.undo_seconds > 0 && check.attempts === 0 && !isDue) {
    if (check.commitAt === null) schedule(check, world.now + check.terms.undo_seconds * 1_000);
    return [];
  }
  check.commitAt = null;
  check.attempts += 1;
  check.startedAt = world.now;
  check.firstStartedAt ??= world.now;
  if (world.course === 'away') return putOff(world, check, isOwn);
  return execute(world, check);
}

function invalidate(check: ModelCheck): readonly string[] {
  end(check, 'invalidated');
  return ['approval_invalidated', 'selection_changed'];
}

/** Nothing happened, and a retry is possible for a day; automatic where the gateway commits automatically. */
function putOff(world: ModelWorld, check: ModelCheck, isRetried: boolean): readonly string[] {
  check.status = 'pending_commit';
  check.expiresAt = check.startedAt + DAY_MS;
  const pause = RETRY_AFTER_MS[Math.min(check.attempts, RETRY_AFTER_MS.length) - 1] ?? 0;
  const at = world.now + pause;
  const isInTime = at <= (check.firstStartedAt ?? 0) + DAY_MS;
  if (check.kind === 'send') return putSendOff(check, isInTime ? at : null);
  if (isRetried && isInTime) schedule(check, at);
  return ['mailbox_unavailable'];
}

/**
 * `contract.md` 7: a send is always retried automatically, and fails permanently a day after its first
 * attempt.
 */
function putSendOff(check: ModelCheck, at: number | null): readonly string[] {
  if (at !== null) schedule(check, at);
  else check.status = 'commit_failed';
  return at === null ? ['mailbox_unavailable', 'provider_rejected'] : ['provider_timeout'];
}

function execute(world: ModelWorld, check: ModelCheck): readonly string[] {
  if (check.isTargetGone) {
    check.attempts -= 1;
    return invalidate(check);
  }
  const { course } = world;
  check.isDone = course === 'fine' || course === 'lost_done';
  if (course === 'lost_undone' || course === 'lost_done') {
    check.status = 'commit_unknown';
    return check.kind === 'send' ? ['outcome_unknown'] : [];
  }
  if (course === 'never' && check.kind === 'send') {
    check.status = 'commit_failed';
    return ['provider_rejected'];
  }
  check.isDone = true;
  check.status = 'committed';
  return [];
}

/** The draft of an approval no longer equals what was to be approved: edited or discarded. */
export function changeDraft(
  world: ModelWorld,
  check: ModelCheck,
  to: 'open' | 'discarded',
): readonly string[] {
  if (world.isRemoved) return ['not_found', 'insufficient_scope'];
  if (check.status === 'committed' || check.status === 'commit_unknown') return ['draft_locked'];
  if (check.draft === 'discarded') return to === 'discarded' ? [] : ['draft_locked'];
  check.draft = to;
  if (isOpen(statusAt(check, world.now))) end(check, to === 'open' ? 'superseded' : 'invalidated');
  return [];
}

const DRAFT_OF: Readonly<Record<ApprovalStatus, readonly string[]>> = {
  awaiting_approval: ['in_review'],
  pending_commit: ['in_review'],
  committing: ['sending'],
  committed: ['sent'],
  commit_failed: ['send_failed'],
  commit_unknown: ['send_unknown'],
  // The draft learns of an expiry later.
  expired: ['in_review', 'open'],
  rejected: ['open'],
  cancelled: ['open'],
  superseded: ['open'],
  invalidated: ['open'],
};

/** `contract.md` 10: the possible states of the draft while its approval exists. */
export const draftsAt = (check: ModelCheck, now: number): readonly string[] =>
  check.draft === null ? DRAFT_OF[statusAt(check, now)] : [check.draft];

/** The automatic work of the gateway on an approval. */
export function pass(world: ModelWorld, check: ModelCheck): void {
  const isMissed = check.isTargetGone && check.kind !== 'send' && world.course !== 'away';
  if (isGroundGone(world, check) || isMissed) endLost(world, check);
  commitDue(world, check);
  reconcile(world, check);
}

/** The mailbox was read: every outcome it shows is recorded. */
function reconcile(world: ModelWorld, check: ModelCheck): void {
  const isTold = check.status !== 'commit_unknown' || check.kind === 'send';
  if (isTold || world.isRemoved || world.course === 'away') return;
  if (check.isDone) {
    // Without a Message-ID a moved message cannot be found; for an expunge its absence is the whole outcome.
    if (check.isNamed || check.kind === 'expunge') check.status = 'committed';
    return;
  }
  putOff(world, check, check.terms.auto_commit || check.terms.undo_seconds > 0);
}

/** A person settles an unknown outcome. */
export function resolve(check: ModelCheck, word: 'done' | 'not_done'): readonly string[] {
  if (check.status !== 'commit_unknown') return ['conflict'];
  end(check, word === 'done' ? 'committed' : 'commit_failed');
  return [];
}
