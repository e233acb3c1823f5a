/** An approval as the stream of its operation records it, and its status at a time. Pure. */
import type { EventMetadata, PastFact } from '../values/event.ts';
import type { Sealed } from '../values/sealed.ts';
import type { ApprovalEvent } from './approval-events.ts';

type FactOf<Type extends ApprovalEvent['type']> = PastFact<Extract<ApprovalEvent, { readonly type: Type }>>;
type DataOf<Type extends ApprovalEvent['type']> = FactOf<Type>['data'];

export interface Vote extends DataOf<'ApprovalVoteCast'> {
  readonly by: EventMetadata['actor'];
  readonly at: string;
}

/** The newest attempt to commit. */
export interface CommitAttempt {
  /** Counts from 1. */
  readonly number: number;
  readonly startedAt: string;
  /** Start of the first attempt: the gateway retries for a day from then. */
  readonly firstAt: string;
  /** Why the last attempt that ended had no effect. */
  readonly error: DataOf<'CommitAttemptFailed'>['error'] | null;
}

interface Requested {
  readonly requested: DataOf<'ApprovalRequested'>;
  readonly requestedAt: string;
  readonly terms: DataOf<'ApprovalRequested'>['terms'];
  readonly votes: readonly Vote[];
  /** Deadline of the next step: the decision, the first commit, another attempt. */
  readonly expiresAt: string;
  readonly attempt: CommitAttempt | null;
}

interface Awaiting extends Requested {
  readonly phase: 'awaiting';
}
interface Granted extends Requested {
  readonly phase: 'granted';
}
/** Granted, and the gateway commits it at `commitAt`. */
interface Scheduled extends Requested {
  readonly phase: 'scheduled';
  readonly commitAt: string;
}
/** A commit was begun and has no outcome yet. */
export interface Committing extends Requested {
  readonly phase: 'committing';
  readonly attempt: CommitAttempt;
}
interface Ended extends Requested {
  readonly phase: 'ended';
  readonly end: ApprovalEnd;
  readonly endedAt: string;
  readonly wasGranted: boolean;
}

/** How it ended. `approvalStatus` adds expiry by the clock. */
export type ApprovalEnd =
  | { readonly status: 'rejected' | 'expired' | 'superseded' | 'committed' | 'commit_failed' }
  | { readonly status: 'cancelled'; readonly reason: Sealed | null }
  | { readonly status: 'invalidated'; readonly why: DataOf<'ApprovalInvalidated'> };

export type ApprovalState = Awaiting | Granted | Scheduled | Committing | Ended;

export const APPROVAL_STATUSES = [
  'awaiting_approval',
  'pending_commit',
  'committing',
  'committed',
  'commit_failed',
  'commit_unknown',
  'rejected',
  'cancelled',
  'expired',
  'superseded',
  'invalidated',
] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** The status without the clock. `hasUnknown`: outcomes are recorded and one of them is unknown. */
export function recordedStatus(state: ApprovalState, hasUnknown: boolean): ApprovalStatus {
  switch (state.phase) {
    case 'awaiting':
      return 'awaiting_approval';
    case 'granted':
    case 'scheduled':
      return 'pending_commit';
    case 'committing':
      return hasUnknown ? 'commit_unknown' : 'committing';
    case 'ended':
      return state.end.status;
  }
}

/** The status at a time: an open approval expires on access, recorded or not. */
export const statusAt = (status: ApprovalStatus, expiresAt: string, now: Date): ApprovalStatus =>
  isOpen(status) && isOver({ expiresAt }, now) ? 'expired' : status;

export const approvalStatus = (
  state: ApprovalState,
  { now, hasUnknown }: { readonly now: Date; readonly hasUnknown: boolean },
): ApprovalStatus => statusAt(recordedStatus(state, hasUnknown), state.expiresAt, now);

/** True once the deadline of the next step has passed. */
export const isOver = ({ expiresAt }: Pick<ApprovalState, 'expiresAt'>, now: Date): boolean =>
  Date.parse(expiresAt) <= now.getTime();

/** Nothing of it ran, and it can still be committed or ended. */
export const isOpen = (status: ApprovalStatus | null): boolean =>
  status === 'awaiting_approval' || status === 'pending_commit';

const UNRUN_STATUSES = ['rejected', 'cancelled', 'expired', 'superseded', 'invalidated'] as const;
export type UnrunStatus = (typeof UNRUN_STATUSES)[number];

const UNRUN: ReadonlySet<string> = new Set(UNRUN_STATUSES);

/** It ended before anything of it ran. */
export const isUnrun = (status: ApprovalStatus | null): status is UnrunStatus =>
  status !== null && UNRUN.has(status);

export const wasGranted = (state: ApprovalState): boolean =>
  state.phase === 'ended' ? state.wasGranted : state.phase !== 'awaiting';

/** How it ended; null while no end is recorded. */
export const endOf = (state: ApprovalState | null): ApprovalEnd | null =>
  state?.phase === 'ended' ? state.end : null;

/** When the gateway commits it; null where no commit is scheduled. */
export const commitAtOf = (state: ApprovalState | null): string | null =>
  state?.phase === 'scheduled' ? state.commitAt : null;

/** The attempt that begins now. */
export const nextAttempt = (
  { attempt }: Pick<ApprovalState, 'attempt'>,
  startedAt: string,
): CommitAttempt => ({
  number: (attempt?.number ?? 0) + 1,
  startedAt,
  firstAt: attempt?.firstAt ?? startedAt,
  error: attempt?.error ?? null,
});

/** How late a scheduled commit may begin, milliseconds; after that the approval expires like any other. */
const LATE_BY_MS = 5 * 60_000;

/** The deadline once a commit is scheduled. */
export const scheduledUntil = (expiresAt: string, commitAt: string): string =>
  new Date(Math.max(Date.parse(expiresAt), Date.parse(commitAt) + LATE_BY_MS)).toISOString();

const requestedOf = ({
  requested,
  requestedAt,
  terms,
  votes,
  expiresAt,
  attempt,
}: ApprovalState): Requested => ({ requested, requestedAt, terms, votes, expiresAt, attempt });

type Later = Exclude<ApprovalEvent, { readonly type: 'ApprovalRequested' }>;

/** The approval after one of its events; null before it was requested. An end is final. */
export function evolveApproval(
  state: ApprovalState | null,
  fact: PastFact<ApprovalEvent>,
): ApprovalState | null {
  if (fact.type === 'ApprovalRequested') return requested(fact);
  return state === null || state.phase === 'ended' ? state : evolve(state, fact);
}

const requested = ({ data, meta }: FactOf<'ApprovalRequested'>): Awaiting => ({
  phase: 'awaiting',
  requested: data,
  requestedAt: meta.occurred_at,
  terms: data.terms,
  votes: [],
  expiresAt: data.expires_at,
  attempt: null,
});

function evolve(state: Exclude<ApprovalState, Ended>, fact: PastFact<Later>): ApprovalState {
  const at = fact.meta.occurred_at;
  const common = requestedOf(state);
  const ended = (end: ApprovalEnd): Ended => ({
    ...{ ...common, phase: 'ended', end },
    endedAt: at,
    wasGranted: wasGranted(state),
  });
  switch (fact.type) {
    case 'ApprovalVoteCast':
      return { ...state, votes: [...state.votes, { ...fact.data, by: fact.meta.actor, at }] };
    case 'ApprovalGranted':
      return { ...common, phase: 'granted', expiresAt: fact.data.commit_by };
    case 'CommitScheduled': {
      const { commit_at: commitAt } = fact.data;
      const expiresAt = scheduledUntil(state.expiresAt, commitAt);
      return { ...common, phase: 'scheduled', commitAt, expiresAt };
    }
    case 'CommitStarted':
      return {
        ...common,
        phase: 'committing',
        attempt: { ...nextAttempt(state, at), number: fact.data.attempt },
      };
    case 'CommitAttemptFailed':
      return { ...common, ...failed(state, fact), phase: 'granted' };
    case 'ApprovalCancelled':
      return ended({ status: 'cancelled', reason: fact.data.reason });
    case 'ApprovalInvalidated':
      return ended({ status: 'invalidated', why: fact.data });
    default:
      return ended({ status: ENDS[fact.type] });
  }
}

const failed = (state: ApprovalState, { data, meta }: FactOf<'CommitAttemptFailed'>) => ({
  attempt: { ...(state.attempt ?? nextAttempt(state, meta.occurred_at)), error: data.error },
  expiresAt: data.expires_at,
});

const ENDS = {
  ApprovalRejected: 'rejected',
  ApprovalExpired: 'expired',
  ApprovalSuperseded: 'superseded',
  ApprovalCommitted: 'committed',
  ApprovalCommitFailed: 'commit_failed',
} as const;
