/** The mirror of a mailbox in Postgres: the state of a folder's mirror, its updates, and the queries it answers. */
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { Position } from '../../commands/values/position.ts';

/** How far the mirror of a folder reaches. */
export interface FolderMirror {
  readonly uidValidity: number;
  /** Every UID below it was fetched; new messages get this one or a higher. */
  readonly uidNext: number;
  /** Initial scan, newest first: every UID at or above it is in the mirror. 1 = the mirror is complete. */
  readonly indexedFrom: number;
  /** CONDSTORE: every flag change up to here is in the mirror. Null where the server has none. */
  readonly highestModseq: bigint | null;
  /** Messages in the folder as the server last reported. */
  readonly total: number;
  /** When the mirror was last compared with the server. */
  readonly checkedAt: Date;
  /** The log position of the last event about this folder that the mirror contains; null before the first. */
  readonly feedPosition: Position | null;
  /**
   * How often the mirror was invalidated when this was read. A writer reads the mirror before it polls the server and
   * passes this value back with the result: an update from a poll before the last `invalidate` leaves the mirror
   * invalidated.
   */
  readonly invalidations: number;
}

/** A message of the mirror. One marked `\Deleted` is kept, because the mark may be removed, and never returned. */
export interface MirroredMessage extends FetchedMessage {
  readonly deleted: boolean;
}

export interface FolderKey {
  readonly mailboxNumber: number;
  readonly folderNumber: number;
}

/** One step of a folder's mirror, applied completely or not at all. */
export interface FolderUpdate extends FolderKey {
  /** Deletes the old rows first: UIDVALIDITY changed, or the mirror was found wrong. */
  readonly reset: boolean;
  readonly added: readonly MirroredMessage[];
  /** All current flags of each of these messages. */
  readonly flags: readonly { readonly uid: number; readonly flags: readonly string[] }[];
  readonly removedUids: readonly number[];
  readonly mirror: FolderMirror;
}

/** A message that is now in another folder under another UID. */
export interface MovedMessage {
  readonly from: number;
  readonly uid: number;
  /** Null where the mirror of its new folder has it already, or gets it otherwise. */
  readonly to: number | null;
  readonly newUid: number;
}

/** What the mirror of a folder is after the moves. */
export interface MovedFolder {
  readonly folderNumber: number;
  readonly uidNext: number;
  readonly total: number;
  /** Messages more in the mirror; negative where more left. */
  readonly grown: number;
  /** As counted when these moves were all that had invalidated it. */
  readonly invalidations: number;
}

/** Messages that the mail server reported moved, and what their folders are after it. */
export interface MovedMessages {
  readonly mailboxNumber: number;
  readonly moves: readonly MovedMessage[];
  readonly folders: readonly MovedFolder[];
  /** Null when the feed has it already. */
  readonly feedPosition: Position | null;
  /** Ids of the expected changes that this settles. */
  readonly echoes: readonly string[];
}

/** Other flags that begin with a backslash (`\Recent`) are not mirrored. */
export const MIRRORED_FLAGS = ['\\Seen', '\\Flagged', '\\Answered', '\\Draft', '\\Deleted'] as const;

/** Progress of the index: messages in the mirror, and in the mailbox as last reported. */
export interface IndexProgress {
  readonly indexed: number;
  readonly total: number;
}

/** Fencing number of the worker that holds the mailbox (`work.mailbox_lease`): grows with every holder. */
export type Fence = bigint;

/** A worker's attestation that the mirror of a folder is current. */
export interface Attestation {
  /** Milliseconds; 0 withdraws the attestation. */
  readonly forMs: number;
  /** The life of the process before it found the mirror current (`work.worker_heartbeat`); null is never valid. */
  readonly life: string | null;
}

export interface MailIndex {
  folder(key: FolderKey): Promise<FolderMirror | null>;
  /**
   * UIDs and flags of the mirror, for a comparison with the server; ascending by UID. Of the system flags only
   * `MIRRORED_FLAGS`, written as in RFC 3501; keywords as the server writes them.
   */
  flagsOf(key: FolderKey, fromUid: number, toUid: number): Promise<ReadonlyMap<number, readonly string[]>>;
  /**
   * By UID, the other folders of messages: for those in the mirror, and for `added` by their `providerId`. For one of
   * `added` that is in no other, the folders it left recently, including this one.
   */
  foldersBeside(
    key: FolderKey,
    uids: readonly number[],
    added: readonly MirroredMessage[],
  ): Promise<ReadonlyMap<number, readonly number[]>>;
  /** Throws `FencedOff` when a later worker holds the mailbox; then nothing is changed. */
  apply(mailboxId: string, fence: Fence, update: FolderUpdate): Promise<void>;
  /** Moves messages between folders. Throws `FencedOff` as `apply`. */
  move(mailboxId: string, fence: Fence, moved: MovedMessages): Promise<void>;
  /**
   * Attests that the server reports changes of the folder to the worker at once (IDLE): answers from the mirror need no
   * poll while the worker's lease and the life of its process last. Throws `FencedOff`.
   */
  attest(mailboxId: string, fence: Fence, key: FolderKey, attestation: Attestation): Promise<void>;
  /** Deletes folders that are gone. Throws `FencedOff`. */
  forget(mailboxId: string, fence: Fence, keys: readonly FolderKey[]): Promise<void>;
  /** From now on the mirrors of these folders answer no query until they were compared with the server again. */
  invalidate(keys: readonly FolderKey[]): Promise<void>;
  /** Numbers of the folders whose mirrors are invalidated now. */
  invalidated(mailboxNumber: number): Promise<readonly number[]>;
  /** Of all folders, or of one. */
  progress(mailboxNumber: number, folderNumber?: number): Promise<IndexProgress>;
  /**
   * The same answer as a live query while the server matches the answer's `states`; null when the mirror of a folder is
   * missing, incomplete or invalidated, or changed during every attempt to read it. Not for `body_contains` and `header`.
   */
  query(mailbox: WholeMailbox, query: MailQuery): Promise<IndexAnswer | null>;
  /** Null while the index of the mailbox is not complete: threads are unknown until then. */
  threads(mailbox: WholeMailbox, asked: ThreadsAsked): Promise<ThreadsNow | null>;
  /** Numbers of the folders with messages whose threads are unknown because an earlier version mirrored them. */
  unnamed(mailboxNumber: number): Promise<readonly number[]>;
  /** Assigns some of them to their threads, newest first; true when there are no more. Throws `FencedOff`. */
  nameSome(mailboxId: string, fence: Fence, key: FolderKey): Promise<boolean>;
  /** After many messages were added: the planner learns of them now, not when autovacuum next looks. */
  analyze(): Promise<void>;
  erase(mailboxNumber: number): Promise<void>;
}

/** A mailbox with all of its folders that hold messages. */
export interface WholeMailbox {
  readonly mailboxNumber: number;
  readonly folderNumbers: readonly number[];
}

export interface ThreadsAsked {
  /** As the mail server returned them. */
  readonly messages: readonly FetchedMessage[];
  /** Thread ids that a caller named. */
  readonly ids: readonly string[];
}

export interface ThreadsNow {
  /** Grows when threads merge. */
  readonly version: string;
  /** The same messages with their threads, as if all of them were in the index. */
  readonly messages: readonly FetchedMessage[];
  /** Each id that the index knows, and the id that messages of that thread have now. */
  readonly ids: ReadonlyMap<string, string>;
}

/** What the mirror of a folder held when it was read, to be compared with the server's status. */
export interface FolderState {
  readonly folderNumber: number;
  readonly uidValidity: number;
  readonly uidNext: number;
  /** Messages, including those marked `\Deleted`. */
  readonly messages: number;
  readonly highestModseq: bigint | null;
  readonly feedPosition: Position | null;
  /** Changes are reported to a worker at once: no need to compare. */
  readonly attested: boolean;
  /** The same number as long as the mirror holds the same. */
  readonly version: string;
  /** Changes when threads of the mailbox merge; null while its index is not complete. */
  readonly threadsVersion: string | null;
}

/** An answer from the mirror, and the state it was read from. */
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

/** The state of a mirror as a statement returns it beside its page. */
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

/** The mirrors cannot answer now: one is missing, incomplete or invalidated. */
export class MirrorNotReady extends Error {}

/** One state per folder. Throws `MirrorNotReady` unless all of `count` mirrors may answer. */
export function statesOf(rows: readonly StateRow[], count: number): readonly FolderState[] {
  if (rows.length < count || rows.some(({ usable }) => !usable)) throw new MirrorNotReady();
  return rows.map(stateOf);
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
