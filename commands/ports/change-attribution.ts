/**
 * The gateway's own changes of a mailbox, noted before they are made: whoever sees one on the mail server afterwards
 * knows it again, in any process, also when it is seen before its outcome is recorded.
 */

/** A message that the gateway puts into a folder: moved, copied or appended. */
export interface OwnArrival {
  readonly kind: 'arrives';
  readonly folder: number;
  /** The folder's at that time; null when it was not asked. */
  readonly uidValidity: number | null;
  /** What arrived before has a lower UID: UIDNEXT before the effect, or 1. */
  readonly fromUid: number;
  /** Known once the server told (COPYUID, APPENDUID: RFC 4315); until then the Message-ID says which one it is. */
  readonly uid: number | null;
  /** RFC 5322 Message-ID with its brackets; null when the message has none. */
  readonly messageId: string | null;
  /** The `msg_` id the message had before it was moved here; null for a copy and for an append. */
  readonly previousId: string | null;
}

/** A message that the gateway takes out of a folder. */
export interface OwnDeparture {
  readonly kind: 'leaves';
  readonly folder: number;
  readonly uidValidity: number;
  readonly uid: number;
  /** It goes on living elsewhere. */
  readonly moved: boolean;
}

/** Flags and keywords the gateway sets and clears. */
export interface OwnFlags {
  readonly kind: 'flags';
  readonly folder: number;
  readonly uidValidity: number;
  readonly uid: number;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export type OwnChange = OwnArrival | OwnDeparture | OwnFlags;

/** Whose changes they are. */
export interface Originator {
  readonly mailboxId: string;
  /** Null = a copy the gateway keeps for itself (Drafts): its echo is told to nobody. */
  readonly operationId: string | null;
}

export interface Expectation {
  /**
   * To be called when the effect is over and before anybody is answered: what is expected from now on (done changes with
   * their UIDs, failed ones left out, unknown ones as they were). The folders of all changes are looked at anew at once,
   * and until then no query is answered from their copies. Throws `store_unavailable`.
   */
  settle(changes: readonly OwnChange[]): Promise<void>;
}

export interface ChangeAttribution {
  /** Resolves when every process can know the changes; only then may they be made. Throws `store_unavailable`. */
  expect(originator: Originator, changes: readonly OwnChange[]): Promise<Expectation>;
}
