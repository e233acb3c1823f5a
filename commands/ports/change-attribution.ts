/**
 * The gateway's own changes of a mailbox, noted before they are made. A process that finds one on the mail
 * server recognizes it, also before its outcome is recorded.
 */
import type { Leases } from './leases.ts';

/** A message that the gateway puts into a folder: moved, copied or appended. */
export interface OwnArrival {
  readonly kind: 'arrives';
  readonly folder: number;
  /** The UIDVALIDITY of the folder at that time; null when it was not read. */
  readonly uidValidity: number | null;
  /** Messages that arrived before have a lower UID: UIDNEXT before the effect, or 1. */
  readonly fromUid: number;
  /**
   * Known once the server reported it (COPYUID, APPENDUID: RFC 4315); until then the Message-ID identifies
   * the message.
   */
  readonly uid: number | null;
  /** RFC 5322 Message-ID with its brackets; null when the message has none. */
  readonly messageId: string | null;
  /** The `msg_` id of the message before it was moved here; null for a copy and for an append. */
  readonly previousId: string | null;
}

/** A message that the gateway removes from a folder. */
export interface OwnDeparture {
  readonly kind: 'leaves';
  readonly folder: number;
  readonly uidValidity: number;
  readonly uid: number;
  /** True when the message is now in another folder. */
  readonly moved: boolean;
}

/** Flags and keywords that the gateway sets and clears. */
export interface OwnFlags {
  readonly kind: 'flags';
  readonly folder: number;
  readonly uidValidity: number;
  readonly uid: number;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export type OwnChange = OwnArrival | OwnDeparture | OwnFlags;

/** The originator of the changes. */
export interface Originator {
  readonly mailboxId: string;
  /** Null = a copy that the gateway keeps in Drafts: the feed does not report its change. */
  readonly operationId: string | null;
}

export interface Expectation {
  /**
   * To be called when the effect is over and before any answer: the changes expected from now on (done
   * changes with their UIDs, failed ones left out, unknown ones unchanged). The folders of all changes are
   * polled again at once; until then no query is answered from their mirror. Throws `store_unavailable`.
   */
  settle(changes: readonly OwnChange[]): Promise<void>;
}

export interface ChangeAttribution {
  /**
   * Resolves when every process can know the changes; they may be made only then. Throws `store_unavailable`.
   */
  expect(originator: Originator, changes: readonly OwnChange[]): Promise<Expectation>;
  /**
   * As `expect`, and takes the lease in the same step; `settle` releases it. Null when another run holds it:
   * then nothing is expected.
   */
  expectUnder(
    lease: { readonly leases: Leases; readonly name: string },
    originator: Originator,
    changes: readonly OwnChange[],
  ): Promise<Expectation | null>;
}
