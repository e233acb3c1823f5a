import type { Pauses } from '../concurrency/backoff.ts';

/** Intervals of a worker, in milliseconds; tests shorten them. */
export interface SyncTimes {
  /** A worker that does not renew its lease for this long counts as dead. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** How long an attestation of a process is valid after its last heartbeat, and how often it sends one. */
  readonly beatLastsMs: number;
  readonly beatEveryMs: number;
  /** How long a woken worker waits for more: changes come in bursts, and one poll fetches them all. New mail waits only after work. */
  readonly gatherMs: number;
  /** How often changed and released mailboxes are reconciled, at most. */
  readonly lookEveryMs: number;
  /** How often all mailboxes are checked for one that no process works on and that was not notified. */
  readonly sweepEveryMs: number;
  /** Folders other than INBOX are polled at least this often (`contract.md` 5: 60 s). */
  readonly roundEveryMs: number;
  /** After this long, work on the folders of a mailbox yields to other mailboxes of the process. */
  readonly turnMs: number;
  /** How often INBOX is polled where IDLE (RFC 2177) does not report in time, or where that is not known yet. */
  readonly pollEveryMs: number;
  /** How often flags are compared on a server without CONDSTORE (`contract.md` 4). */
  readonly compareEveryMs: number;
  /** With CONDSTORE a comparison only finds what the server failed to report. */
  readonly doubtEveryMs: number;
  /** Pauses after a failed connection: the first, and the longest. */
  readonly unreachable: Pauses;
  /** After the server reported that it accepts no more logins now. */
  readonly heldBack: Pauses;
  /** After the server rejected the credentials. */
  readonly refused: Pauses;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const SYNC_TIMES: SyncTimes = {
  leaseMs: 30 * SECOND,
  renewEveryMs: 10 * SECOND,
  beatLastsMs: 3 * SECOND,
  beatEveryMs: 1.25 * SECOND,
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

/** Varied by up to a tenth in either direction, so that many mailboxes do not poll at once. */
export const jittered = (ms: number): number => ms * (0.9 + Math.random() * 0.2);
