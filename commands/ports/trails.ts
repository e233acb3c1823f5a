/** The audit trails, as far as commands depend on what they hold. */
export interface Trails {
  /** The organisations whose trail has lines of the person. Throws `store_unavailable`, `index_building`. */
  organisationsOf(userId: string): Promise<readonly string[]>;
}

/** Signed checkpoints of audit trails. */
export interface Seals {
  /** Where checkpoints are stored outside, as this process is set up. */
  readonly anchorKinds: readonly string[];
  /** True when the log tells of a checkpoint of this epoch over at least this many lines. */
  isSealed(trail: string, atLeast: number): Promise<boolean>;
  /**
   * Resolves when a checkpoint of at least this many lines of the trail is in the log; signs one only when there is none.
   * Throws `seal_behind` after three seconds.
   */
  sealNow(trail: string, atLeast: number): Promise<void>;
}
