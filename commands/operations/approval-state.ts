/** An approval as the stream of its operation tells it. What holds at a time is in `approval-status.ts`. */
import type { EventMetadata, PastFact } from '../values/event.ts';
import type { ApprovalEvent, ApprovalTerms } from './approval-events.ts';

type DataOf<Type extends ApprovalEvent['type']> = PastFact<
  Extract<ApprovalEvent, { readonly type: Type }>
>['data'];

export interface Vote extends DataOf<'ApprovalVoteCast'> {
  readonly by: EventMetadata['actor'];
  readonly at: string;
}

/** How it ended; null while it has not. Expiry by the clock alone is not in here. */
export type ApprovalEnd =
  'rejected' | 'cancelled' | 'expired' | 'superseded' | 'invalidated' | 'committed' | 'commit_failed';

export interface ApprovalState {
  readonly requested: DataOf<'ApprovalRequested'>;
  readonly requestedAt: string;
  readonly terms: ApprovalTerms;
  readonly votes: readonly Vote[];
  /** Set once everybody needed has approved. */
  readonly granted: { readonly by: 'policy' | 'quorum'; readonly at: string } | null;
  /** When the time for the next step is over: the decision's, then the first commit's, then that of another attempt. */
  readonly expiresAt: string;
  /** When the gateway commits by itself; null when nobody scheduled it. */
  readonly commitAt: string | null;
  /** Attempts begun. */
  readonly attempts: number;
  /** A commit was begun and has no outcome yet. */
  readonly committing: boolean;
  readonly commitStartedAt: string | null;
  /** Of the first attempt: the gateway tries again by itself for a day from then. */
  readonly firstCommitAt: string | null;
  readonly lastError: DataOf<'CommitAttemptFailed'>['error'] | null;
  readonly end: ApprovalEnd | null;
  readonly endedAt: string | null;
  readonly invalidated: DataOf<'ApprovalInvalidated'> | null;
  readonly cancelReason: DataOf<'ApprovalCancelled'>['reason'];
}

const requested = ({ data, meta }: PastFact<Extract<ApprovalEvent, { type: 'ApprovalRequested' }>>) => ({
  requested: data,
  requestedAt: meta.occurred_at,
  terms: data.terms,
  votes: [],
  granted: null,
  expiresAt: data.expires_at,
  commitAt: null,
  attempts: 0,
  committing: false,
  commitStartedAt: null,
  firstCommitAt: null,
  lastError: null,
  end: null,
  endedAt: null,
  invalidated: null,
  cancelReason: null,
});

/** A commit the gateway runs by itself may begin this much late, milliseconds; then it expires like any other. */
const LATE_BY_MS = 5 * 60_000;

type Change = Partial<ApprovalState>;
type Later = Exclude<ApprovalEvent['type'], 'ApprovalRequested'>;
type FactOf<Type extends Later> = PastFact<Extract<ApprovalEvent, { readonly type: Type }>>;

const ended =
  (end: ApprovalEnd) =>
  (_: ApprovalState, { meta }: PastFact<ApprovalEvent>): Change => ({
    end,
    endedAt: meta.occurred_at,
    committing: false,
    commitAt: null,
  });

const later = (a: string, b: number): string => new Date(Math.max(Date.parse(a), b)).toISOString();

const changes: {
  readonly [Type in Later]: (state: ApprovalState, fact: FactOf<Type>) => Change;
} = {
  ApprovalVoteCast: ({ votes }, { data, meta }) => ({
    votes: [...votes, { ...data, by: meta.actor, at: meta.occurred_at }],
  }),
  ApprovalGranted: (_, { data, meta }) => ({
    granted: { by: data.by, at: meta.occurred_at },
    expiresAt: data.commit_by,
  }),
  CommitScheduled: ({ expiresAt }, { data }) => ({
    commitAt: data.commit_at,
    expiresAt: later(expiresAt, Date.parse(data.commit_at) + LATE_BY_MS),
  }),
  CommitStarted: ({ firstCommitAt }, { data, meta }) => ({
    committing: true,
    commitStartedAt: meta.occurred_at,
    firstCommitAt: firstCommitAt ?? meta.occurred_at,
    attempts: data.attempt,
    commitAt: null,
  }),
  CommitAttemptFailed: (_, { data }) => ({
    committing: false,
    lastError: data.error,
    expiresAt: data.expires_at,
  }),
  ApprovalRejected: ended('rejected'),
  ApprovalCancelled: (state, fact) => ({
    ...ended('cancelled')(state, fact),
    cancelReason: fact.data.reason,
  }),
  ApprovalExpired: ended('expired'),
  ApprovalSuperseded: ended('superseded'),
  ApprovalInvalidated: (state, fact) => ({ ...ended('invalidated')(state, fact), invalidated: fact.data }),
  ApprovalCommitted: ended('committed'),
  ApprovalCommitFailed: ended('commit_failed'),
};

/** The approval after one of its events; null before it was asked for. */
export function evolveApproval(
  state: ApprovalState | null,
  fact: PastFact<ApprovalEvent>,
): ApprovalState | null {
  if (fact.type === 'ApprovalRequested') return requested(fact);
  if (state === null) return null;
  // A type's change takes that type's fact; the compiler cannot tie the two together.
  const change = changes[fact.type] as (state: ApprovalState, fact: PastFact<ApprovalEvent>) => Change;
  return { ...state, ...change(state, fact) };
}
