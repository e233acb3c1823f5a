/**
 * The behaviour of an approval (`contract.md` 6 to 10), written a second time without the deciders. Every
 * command returns the codes it may be refused with; none = it succeeds.
 */
import type { ApprovalStatus } from '../../../commands/operations/approval-state.ts';
import { isStricterNow, type Kind, type ModelWorld, rankOf, type Terms } from './approval-terms-model.ts';
import { AGENT, type CallerId, PEOPLE, type PersonId } from '../worlds/approval-world.ts';

/** One approval; times in milliseconds. `status` is that of its events: it may have expired since. */
export interface ModelApproval {
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
export const statusAt = ({ status, expiresAt }: ModelApproval, now: number): ApprovalStatus =>
  isOpen(status) && expiresAt <= now ? 'expired' : status;

/** `contract.md` 13: the refusal of a call that comes too early or too late. */
function refusalOf(status: ApprovalStatus): string {
  if (status === 'awaiting_approval') return 'approval_pending';
  if (status === 'expired') return 'approval_expired';
  return status === 'superseded' || status === 'invalidated'
    ? 'approval_invalidated'
    : 'approval_not_pending';
}

export function newApproval(world: ModelWorld, kind: Kind, isNamed: boolean, terms: Terms): ModelApproval {
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
const isVisible = ({ isRemoved }: ModelWorld, { terms }: ModelApproval, by: PersonId): boolean =>
  !isRemoved || by === 'usr_olga' || (terms.quorum > 0 && rankOf(PEOPLE[by]) >= rankOf(terms.approver_role));

/** In any state of the approval. */
function refusedVote(
  world: ModelWorld,
  approval: ModelApproval,
  { by, decision, isRightHash, hasReason }: Ballot,
): readonly string[] {
  const { approver_role, exclude_owner } = approval.terms;
  const rules: readonly (readonly [code: string, isBroken: boolean])[] = [
    ['invalid_request', decision === 'reject' && !hasReason],
    ['insufficient_scope', rankOf(PEOPLE[by]) < 0],
    ['not_found', !isVisible(world, approval, by)],
    ['not_an_approver', rankOf(PEOPLE[by]) < rankOf(approver_role)],
    ['self_approval_forbidden', exclude_owner && by === 'usr_olga'],
    ['version_conflict', !isRightHash],
  ];
  return rules.flatMap(([code, isBroken]) => (isBroken ? [code] : []));
}

const UNSEEN: ReadonlySet<string> = new Set(['invalid_request', 'insufficient_scope', 'not_found']);

const isGroundGone = ({ isRemoved }: ModelWorld, { isGrantGone }: ModelApproval): boolean =>
  isRemoved || isGrantGone;

function endLost(world: ModelWorld, approval: ModelApproval): void {
  if (isOpen(statusAt(approval, world.now))) invalidate(approval);
}

export function vote(world: ModelWorld, approval: ModelApproval, ballot: Ballot): readonly string[] {
  const refused = refusedVote(world, approval, ballot);
  // A caller who may see it causes the gateway to notice what ended it.
  if (!refused.some((code) => UNSEEN.has(code)) && isGroundGone(world, approval)) endLost(world, approval);
  if (refused.length > 0) return refused;
  const { by, decision } = ballot;
  const earlier = approval.votes.get(by);
  // A vote counts once; a repeat changes nothing, but the gateway notices what is due.
  if (earlier === decision) {
    commitDue(world, approval);
    return [];
  }
  const status = statusAt(approval, world.now);
  const isVetoed = status === 'pending_commit' && decision === 'reject' && approval.terms.quorum > 0;
  if (status !== 'awaiting_approval' && !isVetoed) return [refusalOf(status)];
  if (earlier !== undefined) return ['conflict'];
  approval.votes.set(by, decision);
  if (decision === 'reject') approval.status = 'rejected';
  else if (approval.votes.size === approval.terms.quorum) grant(world, approval);
  return [];
}

const end = (approval: ModelApproval, status: ApprovalStatus): object =>
  Object.assign(approval, { status, commitAt: null });

function grant(world: ModelWorld, approval: ModelApproval): void {
  const { commit_ttl, auto_commit, undo_seconds } = approval.terms;
  approval.status = 'pending_commit';
  approval.expiresAt = world.now + commit_ttl * 1_000;
  if (auto_commit) schedule(approval, world.now + undo_seconds * 1_000);
  commitDue(world, approval);
}

function commitDue(world: ModelWorld, approval: ModelApproval): void {
  const isDue = approval.commitAt !== null && approval.commitAt <= world.now;
  if (isDue && statusAt(approval, world.now) === 'pending_commit') commit(world, approval, true);
}

function schedule(approval: ModelApproval, at: number): void {
  approval.commitAt = at;
  approval.expiresAt = Math.max(approval.expiresAt, at + LATE_BY_MS);
}

/** A grant on the mailbox allows both; a removed mailbox has none. */
const lacksGrant = ({ grant, isRemoved }: ModelWorld, by: CallerId): boolean =>
  isRemoved || (by === AGENT && grant === 'none');

/** `contract.md` 9: too late from the commit on. */
export function cancelBy(world: ModelWorld, approval: ModelApproval, by: CallerId): readonly string[] {
  // The person it was requested for may cancel it, whatever happened to the grant.
  if (by === 'usr_olga' || !lacksGrant(world, by)) return cancel(world, approval);
  return ['insufficient_scope', 'not_found'];
}

const BEGUN: ReadonlySet<ApprovalStatus> = new Set(['committed', 'commit_failed', 'commit_unknown']);

export function commitBy(
  world: ModelWorld,
  approval: ModelApproval,
  { by, hash }: { readonly by: CallerId; readonly hash: 'right' | 'wrong' | 'none' },
): readonly string[] {
  if (lacksGrant(world, by)) return ['insufficient_scope', 'not_found'];
  if (hash === 'wrong') return ['version_conflict'];
  // An automatic commit answers with its outcome.
  if (approval.terms.auto_commit && BEGUN.has(approval.status)) return [];
  return commit(world, approval, false);
}

function cancel(world: ModelWorld, approval: ModelApproval): readonly string[] {
  const status = statusAt(approval, world.now);
  if (status === 'cancelled') return [];
  if (!isOpen(status)) return [refusalOf(status)];
  end(approval, 'cancelled');
  return [];
}

/** `isOwn`: the gateway commits automatically because the time has come. */
function commit(world: ModelWorld, approval: ModelApproval, isOwn: boolean): readonly string[] {
  const status = statusAt(approval, world.now);
  if (status !== 'pending_commit') return [refusalOf(status)];
  if (isGroundGone(world, approval) || isStricterNow(world.policy, approval.terms))
    return invalidate(approval);
  const isDue = approval.commitAt !== null && approval.commitAt <= world.now;
  if (approval.terms.undo_seconds > 0 && approval.attempts === 0 && !isDue) {
    if (approval.commitAt === null) schedule(approval, world.now + approval.terms.undo_seconds * 1_000);
    return [];
  }
  approval.commitAt = null;
  approval.attempts += 1;
  approval.startedAt = world.now;
  approval.firstStartedAt ??= world.now;
  if (world.course === 'away') return putOff(world, approval, isOwn);
  return execute(world, approval);
}

function invalidate(approval: ModelApproval): readonly string[] {
  end(approval, 'invalidated');
  return ['approval_invalidated', 'selection_changed'];
}

/** Nothing happened, and a retry is possible for a day; automatic where the gateway commits automatically. */
function putOff(world: ModelWorld, approval: ModelApproval, isRetried: boolean): readonly string[] {
  approval.status = 'pending_commit';
  approval.expiresAt = approval.startedAt + DAY_MS;
  const pause = RETRY_AFTER_MS[Math.min(approval.attempts, RETRY_AFTER_MS.length) - 1] ?? 0;
  const at = world.now + pause;
  const isInTime = at <= (approval.firstStartedAt ?? 0) + DAY_MS;
  if (approval.kind === 'send') return putSendOff(approval, isInTime ? at : null);
  if (isRetried && isInTime) schedule(approval, at);
  return ['mailbox_unavailable'];
}

/**
 * `contract.md` 7: a send is always retried automatically, and fails permanently a day after its first
 * attempt.
 */
function putSendOff(approval: ModelApproval, at: number | null): readonly string[] {
  if (at !== null) schedule(approval, at);
  else approval.status = 'commit_failed';
  return at === null ? ['mailbox_unavailable', 'provider_rejected'] : ['provider_timeout'];
}

function execute(world: ModelWorld, approval: ModelApproval): readonly string[] {
  if (approval.isTargetGone) {
    approval.attempts -= 1;
    return invalidate(approval);
  }
  const { course } = world;
  approval.isDone = course === 'fine' || course === 'lost_done';
  if (course === 'lost_undone' || course === 'lost_done') {
    approval.status = 'commit_unknown';
    return approval.kind === 'send' ? ['outcome_unknown'] : [];
  }
  if (course === 'never' && approval.kind === 'send') {
    approval.status = 'commit_failed';
    return ['provider_rejected'];
  }
  approval.isDone = true;
  approval.status = 'committed';
  return [];
}

/** The draft of an approval no longer equals what was to be approved: edited or discarded. */
export function changeDraft(
  world: ModelWorld,
  approval: ModelApproval,
  to: 'open' | 'discarded',
): readonly string[] {
  if (world.isRemoved) return ['not_found', 'insufficient_scope'];
  if (approval.status === 'committed' || approval.status === 'commit_unknown') return ['draft_locked'];
  if (approval.draft === 'discarded') return to === 'discarded' ? [] : ['draft_locked'];
  approval.draft = to;
  if (isOpen(statusAt(approval, world.now))) end(approval, to === 'open' ? 'superseded' : 'invalidated');
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
export const draftsAt = (approval: ModelApproval, now: number): readonly string[] =>
  approval.draft === null ? DRAFT_OF[statusAt(approval, now)] : [approval.draft];

/** The automatic work of the gateway on an approval. */
export function pass(world: ModelWorld, approval: ModelApproval): void {
  const isMissed = approval.isTargetGone && approval.kind !== 'send' && world.course !== 'away';
  if (isGroundGone(world, approval) || isMissed) endLost(world, approval);
  commitDue(world, approval);
  reconcile(world, approval);
}

/** The mailbox was read: every outcome it shows is recorded. */
function reconcile(world: ModelWorld, approval: ModelApproval): void {
  const isTold = approval.status !== 'commit_unknown' || approval.kind === 'send';
  if (isTold || world.isRemoved || world.course === 'away') return;
  if (approval.isDone) {
    // Without a Message-ID a moved message cannot be found; for an expunge its absence is the whole outcome.
    if (approval.isNamed || approval.kind === 'expunge') approval.status = 'committed';
    return;
  }
  putOff(world, approval, approval.terms.auto_commit || approval.terms.undo_seconds > 0);
}

/** A person settles an unknown outcome. */
export function resolve(approval: ModelApproval, word: 'done' | 'not_done'): readonly string[] {
  if (approval.status !== 'commit_unknown') return ['conflict'];
  end(approval, word === 'done' ? 'committed' : 'commit_failed');
  return [];
}
