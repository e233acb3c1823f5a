/** A row of `read.approval` after each event: what lists return, texts still sealed. Pure. */
import type { AnyEvent } from '../commands/event-catalogue.ts';
import {
  approvalIdOf,
  operationOfApproval,
  reconciledResults,
  summarise,
} from '../commands/operations/operation.ts';
import { type ApprovalRecord, requestedOf, voteOf } from '../commands/operations/approval-record.ts';
import { type ApprovalStatus, scheduledUntil } from '../commands/operations/approval-state.ts';
import { countsOfSend } from '../commands/operations/approval-reply.ts';
import type { ItemResult, SendOutcome } from '../commands/operations/operation-events.ts';
import type { PastFact } from '../commands/values/event.ts';

/** The contents of an operation's first append before it requests an approval. */
export interface Start {
  readonly id: string;
  readonly org_id: string | null;
  readonly mailbox_id: string;
  readonly requester_id: string;
  readonly requester_type: ApprovalRecord['requester']['type'];
  readonly reason: ApprovalRecord['reason'];
  readonly policy: ApprovalRecord['policy'] | null;
  /** Without stale ones, which had already gone. */
  readonly targets: readonly string[];
}

export interface ApprovalRow extends Omit<Start, 'targets' | 'policy'> {
  readonly policy: ApprovalRecord['policy'];
  readonly requested: ApprovalRecord['requested'];
  readonly draft_id: string | null;
  /** Null where no person decides. */
  readonly approver_role: string | null;
  readonly exclude_owner: boolean;
  readonly votes: ApprovalRecord['votes'];
  readonly voters: readonly string[];
  readonly took_part: readonly string[];
  /** As recorded; `statusAt` adds expiry by the clock. */
  readonly status: ApprovalStatus;
  readonly was_granted: boolean;
  readonly expires_at: Date;
  readonly commit_at: Date | null;
  readonly ended_at: Date | null;
  readonly cancel_reason: ApprovalRecord['cancelReason'];
  readonly invalidated: ApprovalRecord['invalidated'];
  readonly attempts: number;
  readonly error: ApprovalRecord['error'];
  readonly results: readonly ItemResult[] | null;
  readonly counts: ApprovalRecord['counts'];
  readonly supersedes: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Before the approval is requested only the start is known. */
export interface Known {
  readonly start: Start | null;
  readonly row: ApprovalRow | null;
}

type AnyFact = PastFact<AnyEvent>;
type FactOf<Type extends AnyEvent['type']> = PastFact<Extract<AnyEvent, { readonly type: Type }>>;

export function evolveKnown(operationId: string, { start, row }: Known, fact: AnyFact): Known {
  if (row !== null) return { start, row: evolveRow(row, fact) };
  switch (fact.type) {
    case 'OperationSubmitted':
      return { start: started(operationId, fact), row };
    case 'OperationDecided': {
      const policy = { version: fact.data.policy_version, rule_id: fact.data.rule_id };
      return { start: start && { ...start, policy }, row };
    }
    case 'ApprovalRequested':
      return { start, row: start && requestedRow(start, fact) };
    default:
      return { start, row };
  }
}

const started = (operationId: string, { data, meta }: FactOf<'OperationSubmitted'>): Start => ({
  id: approvalIdOf(operationId),
  org_id: meta.org_id,
  mailbox_id: data.mailbox_id,
  requester_id: meta.actor.id,
  requester_type: meta.actor.type,
  reason: data.reason,
  policy: null,
  targets: data.targets.flatMap(({ message_id, stale }) => (stale ? [] : [message_id])),
});

function requestedRow(
  { targets: _, policy, ...start }: Start,
  { data, meta }: FactOf<'ApprovalRequested'>,
): ApprovalRow {
  if (policy === null) throw new Error(`${start.id} was requested before policy decided`);
  const { terms, draft_id, supersedes } = data;
  const at = new Date(meta.occurred_at);
  return {
    ...start,
    ...{ policy, draft_id, supersedes, requested: requestedOf(data) },
    approver_role: terms.quorum > 0 ? terms.approver_role : null,
    exclude_owner: terms.exclude_owner,
    took_part: [start.requester_id],
    ...{ votes: [], voters: [], status: 'awaiting_approval', was_granted: false },
    ...{ expires_at: new Date(data.expires_at), commit_at: null, ended_at: null },
    ...{ cancel_reason: null, invalidated: null, attempts: 0, error: null, results: null, counts: null },
    ...{ created_at: at, updated_at: at },
  };
}

type Change = Partial<ApprovalRow>;

const ended =
  (status: ApprovalStatus) =>
  (_: ApprovalRow, { meta }: AnyFact): Change => ({
    ...{ status, commit_at: null },
    ended_at: new Date(meta.occurred_at),
  });

type Changes = {
  readonly [Type in AnyEvent['type']]?: (row: ApprovalRow, fact: FactOf<Type>) => Change;
};

/** An end is final: none of these changes follows it. */
const ofApproval: Changes = {
  ApprovalVoteCast: ({ votes, voters, took_part }, { data, meta }) => ({
    votes: [...votes, voteOf({ ...data, by: meta.actor, at: meta.occurred_at })],
    voters: [...voters, meta.actor.id],
    took_part: [...took_part, meta.actor.id],
  }),
  ApprovalGranted: (_, { data }) => ({
    ...{ status: 'pending_commit', was_granted: true, commit_at: null },
    expires_at: new Date(data.commit_by),
  }),
  CommitScheduled: ({ expires_at }, { data }) => ({
    ...{ status: 'pending_commit', was_granted: true },
    commit_at: new Date(data.commit_at),
    expires_at: new Date(scheduledUntil(expires_at.toISOString(), data.commit_at)),
  }),
  CommitStarted: ({ counts }, { data }) => ({
    ...{ status: committing(counts), was_granted: true, commit_at: null },
    attempts: data.attempt,
  }),
  CommitAttemptFailed: ({ attempts }, { data }) => ({
    ...{ status: 'pending_commit', was_granted: true, commit_at: null },
    ...{ attempts: Math.max(attempts, 1), error: data.error },
    expires_at: new Date(data.expires_at),
  }),
  ApprovalRejected: ended('rejected'),
  ApprovalCancelled: (row, fact) => ({
    ...ended('cancelled')(row, fact),
    cancel_reason: fact.data.reason,
    took_part: [...row.took_part, fact.meta.actor.id],
  }),
  ApprovalExpired: ended('expired'),
  ApprovalSuperseded: ended('superseded'),
  ApprovalInvalidated: (row, fact) => ({ ...ended('invalidated')(row, fact), invalidated: fact.data }),
  ApprovalCommitted: ended('committed'),
  ApprovalCommitFailed: ended('commit_failed'),
};

/** These also count after an end. */
const ofOutcome: Changes = {
  CommitAttemptFailed: () => ({ results: null, counts: null }),
  SendIntended: () => ({ counts: null }),
  SendOutcomeRecorded: (_, { data }) => outcomeOfSend(data),
  SendReconciled: (_, { data }) => outcomeOfSend(data),
  ActionOutcomesRecorded: (_, { data }) => outcomeOf(data.results),
  ActionsReconciled: ({ results }, { data }) => outcomeOf(reconciledResults(results, data.results)),
};

const outcomeOf = (results: readonly ItemResult[]): Change => ({ results, counts: summarise(results) });
const outcomeOfSend = ({ outcome, error }: SendOutcome): Change => ({ counts: countsOfSend(outcome), error });

const committing = (counts: ApprovalRow['counts']): ApprovalStatus =>
  (counts?.unknown ?? 0) > 0 ? 'commit_unknown' : 'committing';

function evolveRow(before: ApprovalRow, fact: AnyFact): ApprovalRow {
  const updated_at = new Date(fact.meta.occurred_at);
  const row = [before.ended_at === null ? ofApproval : {}, ofOutcome].reduce(
    (now, changes) => ({ ...now, ...changeBy(changes, now, fact) }),
    { ...before, updated_at },
  );
  const isCommitting = row.status === 'committing' || row.status === 'commit_unknown';
  return isCommitting ? { ...row, status: committing(row.counts) } : row;
}

function changeBy(changes: Changes, row: ApprovalRow, fact: AnyFact): Change {
  // A type's change takes that type's fact; the compiler cannot connect the two.
  const change = changes[fact.type] as ((row: ApprovalRow, fact: AnyFact) => Change) | undefined;
  return change?.(row, fact) ?? {};
}

export const recordOfRow = (row: ApprovalRow): ApprovalRecord => ({
  operationId: operationOfApproval(row.id),
  orgId: row.org_id,
  mailboxId: row.mailbox_id,
  requester: { id: row.requester_id, type: row.requester_type },
  reason: row.reason,
  policy: row.policy,
  requested: row.requested,
  requestedAt: row.created_at.toISOString(),
  votes: row.votes,
  status: row.status,
  wasGranted: row.was_granted,
  expiresAt: row.expires_at.toISOString(),
  commitAt: row.commit_at?.toISOString() ?? null,
  endedAt: row.ended_at?.toISOString() ?? null,
  cancelReason: row.cancel_reason,
  invalidated: row.invalidated,
  attempts: row.attempts,
  error: row.error,
  results: row.results ?? [],
  counts: row.counts,
});
