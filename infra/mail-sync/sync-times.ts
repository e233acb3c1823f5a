import type { Pauses } from '../concurrency/backoff.ts';

/** How often a worker does what; tests shorten it. All in milliseconds. */
export interface SyncTimes {
  /** A worker that does not renew its lease for so long is judged dead. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** What a process vouches for counts for so long after it last said that it is alive, and how often it says so. */
  readonly beatLastsMs: number;
  readonly beatEveryMs: number;
  /** How long a worker that was woken waits for more of it: changes come in rows, and one look takes them all. */
  readonly gatherMs: number;
  /** How often mailboxes that changed or were let go of are looked after. */
  readonly lookEveryMs: number;
  /** How often all mailboxes are gone over for one that nobody works on and nobody told of. */
  readonly sweepEveryMs: number;
  /** Other folders than INBOX are asked after at least so often (`contract.md` 5: 60 s). */
  readonly roundEveryMs: number;
  /** Work on the folders of a mailbox makes way for other mailboxes of the process after so long. */
  readonly turnMs: number;
  /** INBOX is asked after so often where an IDLE (RFC 2177) does not tell in time, and where that is not known yet. */
  readonly pollEveryMs: number;
  /** Flags of a server without CONDSTORE are compared so often (`contract.md` 4). */
  readonly compareEveryMs: number;
  /** With CONDSTORE a comparison only finds what the server forgot to tell. */
  readonly doubtEveryMs: number;
  /** Pauses after a connection could not be made: the first, and the longest. */
  readonly unreachable: Pauses;
  /** After the server said that it takes no more logins now. */
  readonly heldBack: Pauses;
  /** After the server refused the credentials. */
  readonly refused: Pauses;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const SYNC_TIMES: SyncTimes = {
  leaseMs: 30 * SECOND,
  renewEveryMs: 10 * SECOND,
  beatLastsMs: 3 * SECOND,
  beatEveryMs: SECOND,
  gatherMs: 25,
  lookEveryMs: 250,
  sweepEveryMs: MINUTE,
  roundEveryMs: 40 * SECOND,
  turnMs: 3 * SECOND,
  pollEveryMs: 1_200,
  compareEveryMs: 15 * MINUTE,
  doubtEveryMs: 6 * 60 * MINUTE,
  unreachable: { firstMs: SECOND, mostMs: 5 * MINUTE },
  heldBack: { firstMs: 30 * SECOND, mostMs: 15 * MINUTE },
  refused: { firstMs: MINUTE, mostMs: 60 * MINUTE },
};

/** Spread by up to a tenth in either direction, so that many mailboxes do not ask at once. */
export const jittered = (ms: number): number => ms * (0.9 + Math.random() * 0.2);
