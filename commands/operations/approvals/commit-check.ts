/**
 * The commit of a check, whatever it is about: everything is looked at again, and what fails for good ends the check. How
 * the manifest is executed each kind of check says itself (`CommitKind`).
 */
import {
  appendFacts,
  type Author,
  type Loaded,
  loadAggregate,
  streamOf,
} from '../../kernel/decide-and-append.ts';
import { GatewayError, notFound } from '../../kernel/errors.ts';
import {
  type ExpectedRevision,
  type Ports,
  type Position,
  WrongExpectedRevision,
} from '../../kernel/ports.ts';
import type { MailboxScope } from '../../kernel/scopes.ts';
import type { Acting } from '../../policy/decide-for-caller.ts';
import type { PolicyDecision } from '../../policy/decide-policy.ts';
import { operation, type OperationFact, type OperationReply, type OperationState } from '../operation.ts';
import type { Invalidation } from './approval-events.ts';
import type { ApprovalState } from './approval-state.ts';
import { attemptFailed } from './commit-outcome.ts';
import { type Manifest, openManifest } from './manifest.ts';
import { assertContentHash, refusedIn } from './refuse-status.ts';
import { replyOfCheck, statusOfCheck } from './reply-of-check.ts';
import { requesterNow, type Standing } from './requester-now.ts';
import { secondsAfter } from './request-approval.ts';
import { isStricter } from './stricter-policy.ts';

export interface Commit {
  readonly operationId: string;
  /** Of the events: whoever asked for the commit, or the gateway itself. */
  readonly author: Author;
  /** `schedule`: the moment the check names has come; nobody is told of a delay. */
  readonly by: 'caller' | 'schedule';
  /** The check as it was read a moment ago, where it was. */
  readonly loaded?: Loaded<OperationState>;
  notePosition(position: Position | null): void;
}

/** A check that everything allows to be committed, at this revision of its stream. */
export interface Committable<Content extends Manifest = Manifest> extends Standing {
  readonly commit: Commit;
  readonly state: OperationState;
  readonly approval: ApprovalState;
  readonly revision: ExpectedRevision;
  readonly manifest: Content;
  readonly policy: PolicyDecision;
  /** Goes before the intent, in the same append at `revision`: that append is the lock against every other end. */
  readonly started: OperationFact;
}

export type Executed =
  | { readonly end: 'told'; readonly reply: OperationReply }
  /** Another writer was first, or somebody else runs it: everything is decided again. */
  | { readonly end: 'changed' }
  /** It can never be committed. */
  | { readonly end: 'invalid'; readonly reason: Invalidation; readonly refusal: GatewayError }
  /** Surely nothing was changed, and another attempt may succeed. Only before the intent. */
  | { readonly end: 'no_effect'; readonly refusal: GatewayError };

/** What is special about the commit of one kind of check. */
export interface CommitKind<Content extends Manifest> {
  readonly kind: Content['kind'];
  /** What the requester has to hold now. */
  scopes(manifest: Content): readonly MailboxScope[];
  /** What policy says now of exactly this. */
  decide(ports: Ports, asked: Asked<Content>): PolicyDecision;
  execute(ports: Ports, committable: Committable<Content>): Promise<Executed>;
}

export interface Asked<Content extends Manifest> {
  readonly acting: Acting;
  readonly orgId: string;
  readonly state: OperationState;
  readonly manifest: Content;
}

/** Writers on one stream meet rarely; more refusals than this in a row mean something else is wrong. */
const MOST_TRIES = 8;

/**
 * Commits a check, or holds it back for its `undo_seconds`. Throws what its status refuses; `approval_invalidated`,
 * `selection_changed` once its ground is gone, written down by then; and what kept the attempt from having any effect.
 */
export async function commitCheck<Content extends Manifest>(
  ports: Ports,
  commit: Commit,
  kind: CommitKind<Content>,
): Promise<OperationReply> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const first = tries === 1 ? commit.loaded : undefined;
    const loaded = first ?? (await loadAggregate(ports.events, operation, commit.operationId));
    const reply = await tryOnce(ports, commit, kind, loaded);
    if (reply !== null) return reply;
  }
  throw new GatewayError('overloaded', 'Many writers change this check at once; try again.');
}

/** Throws what its status refuses, and `version_conflict` for another hash than the check's. */
export function assertCommittable(state: OperationState, now: Date, contentHash?: string): ApprovalState {
  const { approval } = state;
  const status = statusOfCheck(state, now);
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
  const checked = await checkAgain(ports, check, kind);
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

interface Check extends Loaded<OperationState> {
  readonly commit: Commit;
  readonly approval: ApprovalState;
  readonly now: Date;
}

interface Invalid {
  readonly reason: Invalidation;
  readonly policy: PolicyDecision | null;
  readonly refusal: GatewayError;
}

const GONE: Readonly<Record<Invalidation, string>> = {
  draft_discarded: 'The draft was discarded.',
  grant_gone: 'Whoever asked for this may not do it any more.',
  mailbox_removed: 'The mailbox was removed.',
  manifest_mismatch: 'What was approved cannot be read as it was approved.',
  policy_stricter: 'Policy is stricter now than when this was approved.',
  requester_gone: 'Whoever asked for this is not of the organisation any more, or the token was revoked.',
  targets_gone: 'A message or a folder is not what it was when this was asked for.',
};

/** The refusal that goes with the end of a check. */
export const invalidatedBy = (reason: Invalidation): GatewayError =>
  new GatewayError('approval_invalidated', `${GONE[reason]} Nothing was done; ask for it anew.`, {
    details: { status: 'invalidated', reason },
  });

async function checkAgain<Content extends Manifest>(
  ports: Ports,
  { commit, approval, state, revision, now }: Check,
  kind: CommitKind<Content>,
): Promise<Committable<Content> | Invalid> {
  const invalid = (reason: Invalidation, policy: PolicyDecision | null = null): Invalid => ({
    reason,
    policy,
    refusal: invalidatedBy(reason),
  });
  const manifest = await manifestOf(ports, commit, approval, kind);
  if (manifest === null) return invalid('manifest_mismatch');
  const standing = requesterNow(ports.directory.state, state, { scopes: kind.scopes(manifest), now });
  if (typeof standing === 'string') return invalid(standing);
  const { submitted } = state;
  if (submitted === null) throw new Error(`${commit.operationId} was never submitted`);
  const acting = { mailboxId: standing.mailbox.id, actor: submitted.by.type, principalId: submitted.by.id };
  const policy = kind.decide(ports, { acting, orgId: submitted.orgId ?? '', state, manifest });
  if (isStricter(policy, approval.terms)) return invalid('policy_stricter', policy);
  const started: OperationFact = {
    type: 'CommitStarted',
    data: {
      attempt: approval.attempts + 1,
      run_id: ports.leases.runId,
      content_hash: approval.requested.content_hash,
      policy: { rule_id: policy.ruleId, policy_version: policy.version },
    },
  };
  return { commit, state, approval, revision, manifest, policy, started, ...standing };
}

/** Null when it cannot be read, or is not what was approved: each vote named the hash of what it was about. */
async function manifestOf<Content extends Manifest>(
  { personal }: Ports,
  { operationId }: Commit,
  { requested, votes }: ApprovalState,
  { kind }: CommitKind<Content>,
): Promise<Content | null> {
  if (votes.some(({ content_hash }) => content_hash !== requested.content_hash)) return null;
  const text = await personal.open(requested.manifest);
  const manifest = text === null ? null : openManifest(text, requested.content_hash);
  const isOurs = manifest?.kind === kind && manifest.operation_id === operationId;
  return isOurs ? (manifest as Content) : null;
}

/** Of the first commit only: what is tried again was held back before. */
const isHeldBack = ({ terms, attempts, commitAt }: ApprovalState, { by }: Commit, now: Date): boolean => {
  if (commitAt !== null && Date.parse(commitAt) <= now.getTime()) return false;
  return by === 'schedule' || (terms.undo_seconds > 0 && attempts === 0);
};

async function holdBack(ports: Ports, check: Check): Promise<OperationReply | null> {
  const { commit, approval, state, now } = check;
  if (approval.commitAt !== null || commit.by === 'schedule')
    return replyOfCheck(commit.operationId, state, now);
  const commit_at = secondsAfter(now, approval.terms.undo_seconds);
  const appended = await append(ports, check, [
    { type: 'CommitScheduled', data: { commit_at, why: 'undo' } },
  ]);
  if (appended === null) return null;
  const held = { ...state, approval: { ...approval, commitAt: commit_at } };
  return replyOfCheck(commit.operationId, held, now);
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
  const failed = attemptFailed(began, { attempt, error, isRetried: commit.by === 'schedule', now });
  if ((await append(ports, check, [started, ...failed])) === null) return null;
  throw error;
}

/** Null when another writer was first. */
async function append(
  ports: Ports,
  { commit, revision, now }: Check,
  facts: readonly OperationFact[],
): Promise<Position | null> {
  const stream = streamOf(operation, commit.operationId);
  try {
    const { catalogue } = operation;
    const to = { stream, expected: revision, catalogue, facts, occurredAt: now };
    const { position } = await appendFacts(ports, commit.author, to);
    commit.notePosition(position);
    return position;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return null;
    throw error;
  }
}
