/** The audit trails, as far as commands depend on what they hold. */
export interface Trails {
  /** The organisations whose trail has lines of the person. Throws `store_unavailable`, `index_building`. */
  organisationsOf(userId: string): Promise<readonly string[]>;
  /**
   * The approvals that one of these people and agents requested, voted on or cancelled. Throws `store_unavailable`,
   * `index_building`.
   */
  approvalsOf(principalIds: readonly string[]): Promise<readonly PartInApproval[]>;
}

/** An approval in which somebody took part: their reasons are in its lines. */
export interface PartInApproval {
  readonly id: string;
  readonly mailboxId: string;
  /** Of an approval that sends a draft. */
  readonly draftId: string | null;
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
