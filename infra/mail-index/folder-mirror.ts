/** The mirror of a mailbox in Postgres: what a folder's copy holds, how it is brought forward, what it can answer. */
import type { FetchedMessage, MailQuery, MailQueryAnswer } from '../../commands/kernel/mail-port.ts';
import type { Position } from '../../commands/kernel/position.ts';

/** How far the copy of a folder reaches. */
export interface FolderMirror {
  readonly uidValidity: number;
  /** Every UID below it was looked at on the way up; what arrives has this one or a higher. */
  readonly uidNext: number;
  /** First pass, newest first: every UID at or above it is in the copy. 1 = the copy is complete. */
  readonly indexedFrom: number;
  /** CONDSTORE: every flag change up to here is in the copy. Null where the server has none. */
  readonly highestModseq: bigint | null;
  /** Messages the server has in the folder, as it last said. */
  readonly total: number;
  /** When the copy was last held against the server. */
  readonly checkedAt: Date;
  /** The log position of the last event about this folder that the copy holds; null before the first. */
  readonly feedPosition: Position | null;
}

export interface FolderKey {
  readonly mailboxNumber: number;
  readonly folderNumber: number;
}

/** One step forward of a folder's copy, applied whole or not at all. */
export interface FolderUpdate extends FolderKey {
  /** Throws the old rows away first: UIDVALIDITY changed, or the copy was found wrong. */
  readonly reset: boolean;
  readonly added: readonly FetchedMessage[];
  readonly flags: readonly { readonly uid: number; readonly flags: readonly string[] }[];
  readonly removedUids: readonly number[];
  readonly mirror: FolderMirror;
}

/** What a caller of the index sees of its progress: messages in the copy, and in the mailbox as last told. */
export interface IndexProgress {
  readonly indexed: number;
  readonly total: number;
}

/** Fencing number of the worker that holds the mailbox (`work.mailbox_lease`): grows with every holder. */
export type Fence = bigint;

export interface MailIndex {
  folder(key: FolderKey): Promise<FolderMirror | null>;
  /** UIDs and flags of the copy, for a plain comparison with the server; ascending by UID. */
  flagsOf(key: FolderKey, fromUid: number, toUid: number): Promise<ReadonlyMap<number, readonly string[]>>;
  /** Throws `FencedOff` when a later worker holds the mailbox; nothing is changed then. */
  apply(mailboxId: string, fence: Fence, update: FolderUpdate): Promise<void>;
  /** Forgets folders that are gone. Throws `FencedOff`. */
  forget(mailboxId: string, fence: Fence, keys: readonly FolderKey[]): Promise<void>;
  /** From now on the copies of these folders are not trusted until they were held against the server again. */
  distrust(keys: readonly FolderKey[]): Promise<void>;
  progress(mailboxNumber: number): Promise<IndexProgress>;
  /** The same answer a live query gives, or null when the copy cannot give it truthfully now. */
  query(mailboxNumber: number, query: MailQuery): Promise<IndexAnswer | null>;
  erase(mailboxNumber: number): Promise<void>;
}

/** An answer from the copy, and how fresh it is. */
export interface IndexAnswer extends MailQueryAnswer {
  /** What the answer holds of the feed: a wait from here on misses nothing and repeats nothing. */
  readonly feedPosition: Position | null;
}

/** A later worker holds the mailbox: this one must stop at once and write nothing more. */
export class FencedOff extends Error {
  constructor(mailboxId: string) {
    super(`another worker holds mailbox ${mailboxId}`);
    this.name = 'FencedOff';
  }
}
