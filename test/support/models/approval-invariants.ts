/**
 * Invariants of an approval in any interleaving. Written from the rules (`contract.md` 8 to 10), not from the
 * deciders: they read only the events of one operation.
 */
import type { EventMetadata, StoredEvent } from '../../../commands/values/event.ts';
import type { ApprovalStatus } from '../../../commands/operations/approval-state.ts';

/** Who may have decided: the role of each person at the time, and the requester. */
export interface Deciders {
  readonly roles: Readonly<Record<string, string>>;
  readonly behindId: string;
}

type Status = ApprovalStatus | null;

/** The states in which an event may occur, and the state it leads to. `contract.md` 10, first table. */
const TABLE: Readonly<Record<string, { readonly from: readonly Status[]; readonly to: Status | 'same' }>> = {
  ApprovalRequested: { from: [null], to: 'awaiting_approval' },
  ApprovalVoteCast: { from: ['awaiting_approval', 'pending_commit'], to: 'same' },
  ApprovalGranted: { from: ['awaiting_approval'], to: 'pending_commit' },
  CommitScheduled: { from: ['pending_commit'], to: 'same' },
  CommitStarted: { from: ['pending_commit'], to: 'committing' },
  CommitAttemptFailed: { from: ['committing'], to: 'pending_commit' },
  ApprovalCommitted: { from: ['committing'], to: 'committed' },
  ApprovalCommitFailed: { from: ['committing'], to: 'commit_failed' },
  ApprovalRejected: { from: ['awaiting_approval', 'pending_commit'], to: 'rejected' },
  ApprovalCancelled: { from: ['awaiting_approval', 'pending_commit'], to: 'cancelled' },
  ApprovalExpired: { from: ['awaiting_approval', 'pending_commit'], to: 'expired' },
  ApprovalSuperseded: { from: ['awaiting_approval', 'pending_commit'], to: 'superseded' },
  ApprovalInvalidated: { from: ['awaiting_approval', 'pending_commit'], to: 'invalidated' },
};
const INTENTS: ReadonlySet<string> = new Set(['ActionsIntended', 'SendIntended']);
const OUTCOMES: ReadonlySet<string> = new Set(['ActionOutcomesRecorded', 'SendOutcomeRecorded']);
const ROLES: readonly string[] = ['approver', 'admin', 'owner'];
/** Longest delay of an automatic commit after its time, milliseconds. */
const LATE_BY_MS = 5 * 60_000;

interface Seen {
  readonly status: Status;
  readonly requested: Readonly<Record<string, unknown>>;
  readonly terms: Readonly<Record<string, unknown>>;
  readonly allowed: boolean;
  /** `<person> <hash>` of each vote. */
  readonly votes: readonly string[];
  readonly approvers: readonly string[];
  readonly rejected: boolean;
  readonly granted: boolean;
  readonly expiresAt: number;
  readonly holdUntil: number;
  readonly startedAt: number;
  readonly attempts: number;
  readonly intents: number;
  readonly outcomes: number;
  readonly previous: StoredEvent | null;
  readonly broken: readonly string[];
}

const NOTHING: Seen = {
  status: null,
  requested: {},
  terms: {},
  allowed: false,
  votes: [],
  approvers: [],
  rejected: false,
  granted: false,
  expiresAt: 0,
  holdUntil: 0,
  startedAt: 0,
  attempts: 0,
  intents: 0,
  outcomes: 0,
  previous: null,
  broken: [],
};

/** One sentence for each rule that the stream of one approved operation breaks; empty when all hold. */
export function brokenApprovalRules(events: readonly StoredEvent[], deciders: Deciders): readonly string[] {
  const seen = events.reduce((before, event) => step(before, event, deciders), NOTHING);
  const ofEnd =
    seen.status === 'committed' || seen.status === 'commit_failed'
      ? rules([['it ended by a commit without an outcome', seen.outcomes === 0]])
      : [];
  return [...seen.broken, ...ofEnd];
}

/** The status according to the events alone, without a passed deadline and unknown items. */
export function statusInStream(events: readonly StoredEvent[]): Status {
  return events.reduce<Status>((status, { type }) => {
    const to = TABLE[type]?.to ?? 'same';
    return to === 'same' ? status : to;
  }, null);
}

function step(seen: Seen, event: StoredEvent, deciders: Deciders): Seen {
  const { type } = event;
  const move = TABLE[type];
  return {
    ...seen,
    ...changes[type]?.(seen, event),
    intents: seen.intents + Number(INTENTS.has(type)),
    outcomes: seen.outcomes + Number(OUTCOMES.has(type)),
    status: move === undefined || move.to === 'same' ? seen.status : move.to,
    broken: [...seen.broken, ...brokenBy(seen, event, deciders)],
    previous: event,
  };
}

/** The part of each event that later ones are compared with. */
const changes: Readonly<Record<string, (seen: Seen, event: StoredEvent) => Partial<Seen>>> = {
  OperationDecided: (_, { data }) => ({ allowed: data['decision'] === 'allow' }),
  ApprovalRequested: (_, { data }) => ({
    requested: data,
    terms: data['terms'] as Seen['terms'],
    expiresAt: Date.parse(String(data['expires_at'])),
  }),
  ApprovalVoteCast: ({ votes, approvers }, event) => {
    const { id } = actorOf(event);
    const { decision, content_hash } = event.data;
    const cast = { votes: [...votes, `${id} ${String(content_hash)}`] };
    return decision === 'approve' ? { ...cast, approvers: [...approvers, id] } : { ...cast, rejected: true };
  },
  ApprovalGranted: (_, { data }) => ({ granted: true, expiresAt: Date.parse(String(data['commit_by'])) }),
  CommitScheduled: ({ terms, expiresAt, holdUntil }, { data }) => {
    const commitAt = Date.parse(String(data['commit_at']));
    const isHeld = Number(terms['undo_seconds']) > 0 && data['why'] !== 'retry';
    return {
      holdUntil: isHeld ? commitAt : holdUntil,
      expiresAt: Math.max(expiresAt, commitAt + LATE_BY_MS),
    };
  },
  CommitStarted: ({ attempts }, event) => ({ attempts: attempts + 1, startedAt: timeOf(event) }),
  CommitAttemptFailed: (_, { data }) => ({ expiresAt: Date.parse(String(data['expires_at'])) }),
};

type Rule = readonly [sentence: string, isBroken: boolean];

const rules = (all: readonly Rule[]): readonly string[] =>
  all.flatMap(([sentence, isBroken]) => (isBroken ? [sentence] : []));

function brokenBy(seen: Seen, event: StoredEvent, deciders: Deciders): readonly string[] {
  const { type } = event;
  const move = TABLE[type];
  const isIllegal = move !== undefined && !move.from.includes(seen.status);
  return [
    ...rules([[`${type} of an approval that is ${String(seen.status)}`, isIllegal]]),
    ...(brokenOf[type]?.(seen, event, deciders) ?? []),
    ...(INTENTS.has(type) ? brokenIntent(seen, event) : []),
    ...(OUTCOMES.has(type) ? rules([[`${type} without a commit`, seen.status !== 'committing']]) : []),
  ];
}

/** Further rules of each event. */
const brokenOf: Readonly<
  Record<string, (seen: Seen, event: StoredEvent, deciders: Deciders) => readonly string[]>
> = {
  ApprovalVoteCast: brokenVote,
  ApprovalGranted: brokenGrant,
  ApprovalRejected: ({ rejected, previous }, event) =>
    rules([['it was rejected and nobody said no', !rejected || !isOneAppend(previous, event)]]),
  CommitScheduled: ({ granted, terms }, event) =>
    rules([
      ['a commit was scheduled that nobody granted', !granted],
      [
        'a commit is held back too short',
        event.data['why'] !== 'retry' &&
          Date.parse(String(event.data['commit_at'])) < timeOf(event) + Number(terms['undo_seconds']) * 1_000,
      ],
    ]),
  CommitStarted: brokenCommit,
  CommitAttemptFailed: ({ startedAt }, { data }) =>
    rules([
      [
        'a failed attempt leaves other than 24 hours from its beginning',
        Date.parse(String(data['expires_at'])) !== startedAt + 86_400_000,
      ],
    ]),
  ApprovalExpired: ({ expiresAt }, event) =>
    rules([
      ['it expired before its time', timeOf(event) < expiresAt],
      ['it tells another time of its end', Date.parse(String(event.data['expired_at'])) !== expiresAt],
    ]),
};

function brokenVote(seen: Seen, event: StoredEvent, { roles, behindId }: Deciders): readonly string[] {
  const { id, type } = actorOf(event);
  const { data } = event;
  const role = ROLES.indexOf(roles[id] ?? '');
  return rules([
    ['a vote of somebody who is no person', type !== 'person'],
    ['a vote of somebody without the role', role < ROLES.indexOf(String(seen.terms['approver_role']))],
    ['a vote of the one it was asked for', seen.terms['exclude_owner'] === true && id === behindId],
    ['own_request is told wrongly', data['own_request'] !== (id === behindId)],
    ['a vote on another hash', data['content_hash'] !== seen.requested['content_hash']],
    ['a vote that counts twice', seen.votes.includes(`${id} ${String(data['content_hash'])}`)],
    ['a vote after the time was over', timeOf(event) >= seen.expiresAt],
    ['a no without a reason', data['decision'] === 'reject' && data['reason'] === null],
  ]);
}

function brokenGrant(seen: Seen, event: StoredEvent): readonly string[] {
  const { quorum, commit_ttl } = seen.terms;
  const approvers = new Set(seen.approvers).size;
  const byPolicy = event.data['by'] === 'policy';
  const commitBy = timeOf(event) + Number(commit_ttl) * 1_000;
  return rules([
    ['policy granted what it does not allow', byPolicy && !(seen.allowed && quorum === 0)],
    ['it was granted without its quorum', !byPolicy && approvers !== quorum],
    ['it was granted after its time', !byPolicy && timeOf(event) >= seen.expiresAt],
    ['commit_by is not commit_ttl away', Date.parse(String(event.data['commit_by'])) !== commitBy],
    ['it was granted apart from the last vote', !byPolicy && seen.previous?.type !== 'ApprovalVoteCast'],
  ]);
}

function brokenCommit(seen: Seen, event: StoredEvent): readonly string[] {
  const { data } = event;
  const wanted = Number(seen.terms['quorum']);
  return rules([
    ['a commit nobody granted', !seen.granted || seen.rejected],
    ['a commit without its approvals', new Set(seen.approvers).size < wanted],
    ['a commit of another hash', data['content_hash'] !== seen.requested['content_hash']],
    ['attempts are not counted from 1', data['attempt'] !== seen.attempts + 1],
    ['a commit after its time', timeOf(event) >= seen.expiresAt],
    ['a commit before the time to cancel was over', timeOf(event) < seen.holdUntil],
    ['a commit that was never held back', Number(seen.terms['undo_seconds']) > 0 && seen.holdUntil === 0],
  ]);
}

/** A reader of the commit also sees its intent: both are one append. */
const brokenIntent = ({ status, previous }: Seen, event: StoredEvent): readonly string[] =>
  rules([
    ['an intent without a commit', status !== 'committing' || previous?.type !== 'CommitStarted'],
    ['an intent apart from its commit', !isOneAppend(previous, event)],
  ]);

/** Events of one append share their request and time, and are adjacent. */
const isOneAppend = (a: StoredEvent | null, b: StoredEvent): boolean =>
  a !== null &&
  a.metadata['request_id'] === b.metadata['request_id'] &&
  a.metadata['occurred_at'] === b.metadata['occurred_at'];

const timeOf = ({ metadata }: StoredEvent): number => Date.parse(String(metadata['occurred_at']));
const actorOf = ({ metadata }: StoredEvent): EventMetadata['actor'] =>
  metadata['actor'] as EventMetadata['actor'];
