/** The mirror of a mailbox in Postgres: what a folder's copy holds, how it is brought forward, what it can answer. */
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { Position } from '../../commands/values/position.ts';

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
  /**
   * How often the copy was distrusted when this was read. A writer reads the mirror before it looks at the server and
   * hands this back with what it saw: an update from a look before the last `distrust` leaves the copy distrusted.
   */
  readonly invalidations: number;
}

/** A message of the copy. One marked `\Deleted` is kept, as the mark may go again, and never answered. */
export interface MirroredMessage extends FetchedMessage {
  readonly deleted: boolean;
}

export interface FolderKey {
  readonly mailboxNumber: number;
  readonly folderNumber: number;
}

/** One step forward of a folder's copy, applied whole or not at all. */
export interface FolderUpdate extends FolderKey {
  /** Throws the old rows away first: UIDVALIDITY changed, or the copy was found wrong. */
  readonly reset: boolean;
  readonly added: readonly MirroredMessage[];
  /** All flags of each of these messages as they are now. */
  readonly flags: readonly { readonly uid: number; readonly flags: readonly string[] }[];
  readonly removedUids: readonly number[];
  readonly mirror: FolderMirror;
}

/** Any other flag that begins with a backslash (`\Recent`) is not in the copy. */
export const MIRRORED_FLAGS = ['\\Seen', '\\Flagged', '\\Answered', '\\Draft', '\\Deleted'] as const;

/** What a caller of the index sees of its progress: messages in the copy, and in the mailbox as last told. */
export interface IndexProgress {
  readonly indexed: number;
  readonly total: number;
}

/** Fencing number of the worker that holds the mailbox (`work.mailbox_lease`): grows with every holder. */
export type Fence = bigint;

/** A worker's word for the copy of a folder. */
export interface Attestation {
  /** Milliseconds; 0 takes the word back. */
  readonly forMs: number;
  /** The life the process had before it found that the copy is true (`work.worker_heartbeat`); null counts for nothing. */
  readonly life: string | null;
}

export interface MailIndex {
  folder(key: FolderKey): Promise<FolderMirror | null>;
  /**
   * UIDs and flags of the copy, for a plain comparison with the server; ascending by UID. Of the system flags only those
   * five that mean something here (`MIRRORED_FLAGS`), written as in RFC 3501; keywords as the server writes them.
   */
  flagsOf(key: FolderKey, fromUid: number, toUid: number): Promise<ReadonlyMap<number, readonly string[]>>;
  /**
   * By UID, the other folders that messages lie in: of those in the copy, and of `added` by their `providerId`. For one of
   * `added` that lies in no other, the folders it left lately, this one among them.
   */
  foldersBeside(
    key: FolderKey,
    uids: readonly number[],
    added: readonly MirroredMessage[],
  ): Promise<ReadonlyMap<number, readonly number[]>>;
  /** Throws `FencedOff` when a later worker holds the mailbox; nothing is changed then. */
  apply(mailboxId: string, fence: Fence, update: FolderUpdate): Promise<void>;
  /**
   * The worker is told at once of what changes in the folder (IDLE): answers from the copy need no look at the server, as
   * long as the worker's lease and the life of its process last. Throws `FencedOff`.
   */
  attest(mailboxId: string, fence: Fence, key: FolderKey, attestation: Attestation): Promise<void>;
  /** Forgets folders that are gone. Throws `FencedOff`. */
  forget(mailboxId: string, fence: Fence, keys: readonly FolderKey[]): Promise<void>;
  /** From now on the copies of these folders are not trusted until they were held against the server again. */
  invalidate(keys: readonly FolderKey[]): Promise<void>;
  /** Numbers of the folders whose copies are distrusted now. */
  invalidated(mailboxNumber: number): Promise<readonly number[]>;
  /** Of all folders, or of one. */
  progress(mailboxNumber: number, folderNumber?: number): Promise<IndexProgress>;
  /**
   * The same answer a live query gives as long as the server has what the answer's `states` say; null when the copy of a
   * folder is missing, not complete or not trusted, or changed during every attempt to read it. Never asked for
   * `body_contains` and `header`.
   */
  query(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null>;
  /** Null while the index of the mailbox is not complete: nobody can say then what is one conversation. */
  threads(mailbox: WholeMailbox, asked: ThreadsAsked): Promise<ThreadsNow | null>;
  /** Numbers of the folders with messages whose threads are not known, as an earlier version copied them. */
  unnamed(mailboxNumber: number): Promise<readonly number[]>;
  /** Takes some of them into their threads, newest first; true when there are no more. Throws `FencedOff`. */
  nameSome(mailboxId: string, fence: Fence, key: FolderKey): Promise<boolean>;
  erase(mailboxNumber: number): Promise<void>;
}

/** A mailbox with all of its folders that hold messages. */
export interface WholeMailbox {
  readonly mailboxNumber: number;
  readonly folderNumbers: readonly number[];
}

export interface ThreadsAsked {
  /** As the mail server told them. */
  readonly messages: readonly FetchedMessage[];
  /** Thread ids that a caller names. */
  readonly ids: readonly string[];
}

export interface ThreadsNow {
  /** Grows when threads merge. */
  readonly version: string;
  /** The same messages with the threads they belong to, as if all of them were in the index. */
  readonly messages: readonly FetchedMessage[];
  /** Each id that the index knows, and the one that messages of that thread carry. */
  readonly ids: ReadonlyMap<string, string>;
}

/** What the copy of a folder held when it was asked: to be compared with what the server says of it. */
export interface FolderState {
  readonly folderNumber: number;
  readonly uidValidity: number;
  readonly uidNext: number;
  /** Messages, those marked `\Deleted` included. */
  readonly messages: number;
  readonly highestModseq: bigint | null;
  readonly feedPosition: Position | null;
  /** A worker is told at once of what changes: no need to compare. */
  readonly attested: boolean;
  /** The same number as long as the copy holds the same. */
  readonly version: string;
  /** Another one when threads of the mailbox merged; null while its index is not complete. */
  readonly threadsVersion: string | null;
}

/** An answer from the copy, and what it was read from. */
export interface IndexAnswer extends MailQueryAnswer {
  readonly states: readonly FolderState[];
}

/** A later worker holds the mailbox: this one must stop at once and write nothing more. */
export class FencedOff extends Error {
  constructor(mailboxId: string) {
    super(`another worker holds mailbox ${mailboxId}`);
    this.name = 'FencedOff';
  }
}

/** The state of copies as a statement answers it beside its page. */
export interface StateRow extends Record<string, unknown> {
  readonly folder_number: number;
  readonly uid_validity: string;
  readonly uid_next: string;
  readonly indexed: string;
  readonly highest_modseq: string | null;
  readonly feed_position: string | null;
  readonly version: string;
  readonly threads_version: string | null;
  readonly usable: boolean;
  readonly attested: boolean;
}

/** The copies cannot answer now: one is missing, not complete or not trusted. */
export class MirrorNotReady extends Error {}

/** One state per folder. Throws `CopyNotReady` unless all of `count` copies may answer. */
export function statesOf(rows: readonly StateRow[], count: number): readonly FolderState[] {
  const states = new Map<number, FolderState>();
  for (const row of rows) {
    if (!row.usable) throw new MirrorNotReady();
    if (!states.has(row.folder_number)) states.set(row.folder_number, stateOf(row));
  }
  if (states.size < count) throw new MirrorNotReady();
  return [...states.values()];
}

const stateOf = (row: StateRow): FolderState => ({
  folderNumber: row.folder_number,
  uidValidity: Number(row.uid_validity),
  uidNext: Number(row.uid_next),
  messages: Number(row.indexed),
  highestModseq: row.highest_modseq === null ? null : BigInt(row.highest_modseq),
  feedPosition: row.feed_position === null ? null : BigInt(row.feed_position),
  attested: row.attested,
  version: row.version,
  threadsVersion: row.threads_version,
});
