/** Which process works on something now. */

/** Who takes a lease, and for how many milliseconds. */
export interface LeaseRun {
  readonly runId: string;
  readonly leaseMs: number;
}

/**
 * `work.lease`: which process runs an operation now. Held by this process's run id for 30 s, renewed every 10
 * s.
 */
export interface Leases {
  readonly runId: string;
  /** Takes or keeps the lease. False when another live run holds it. */
  acquire(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
  /** As `acquire`, by a statement that does more; `take` returns whether it took the lease. */
  acquireBy(name: string, take: (run: LeaseRun) => Promise<boolean>): Promise<boolean>;
  /** As `release`, by a statement that does more. */
  releaseBy(name: string, giveUp: (run: LeaseRun) => Promise<void>): Promise<void>;
  /**
   * True while no other process can hold it, by a clock that a paused process cannot stop. Needs no query.
   */
  isHeld(name: string): boolean;
  /** Null when no process holds it (never taken, released or expired). */
  holder(name: string): Promise<{ readonly runId: string; readonly until: Date } | null>;
}
