/**
 * The mail side of the gateway: folders and messages by number and UID, and typed refusals instead of the
 * results of an IMAP client. Paths and credentials stay behind it.
 */
import type { Filter } from '../mail/mail-filter.ts';
import type { Position } from '../values/position.ts';
import type { FolderRole } from '../values/folder-roles.ts';
import type {
  BodySource,
  FetchedMessage,
  FolderRef,
  Identified,
  MessageRef,
  PartDescription,
} from '../mail/message.ts';
import type { MailQuery, MailQueryAnswer } from '../mail/query.ts';

type ConnectionSecurity = 'tls' | 'starttls' | 'none';

export interface HostSettings {
  readonly host: string;
  readonly port: number;
  readonly security: ConnectionSecurity;
}

/** The data of a login; an access token is fresh when it is returned. */
export type MailLogin =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  | { readonly kind: 'oauth2'; readonly username: string; readonly accessToken: string };

/** Two priorities per mailbox, so that a long query never delays an action. */
export type Priority = 'interactive' | 'bulk';

export interface FolderListing {
  readonly path: string;
  readonly name: string;
  readonly parentPath: string | null;
  readonly selectable: boolean;
  readonly role: FolderRole | null;
  readonly roleSource: 'extension' | 'name' | null;
  readonly total: number | null;
  readonly unseen: number | null;
  readonly uidValidity: number | null;
}

/**
 * A query's answer, and the position from which a wait continues: it repeats nothing of the answer and misses
 * nothing.
 */
export interface MailAnswer extends MailQueryAnswer {
  readonly asOf: Position;
}

/**
 * The effect of one IMAP action on one message. The new place is null when the server does not report it (no
 * UIDPLUS).
 */
export type ActionOutcome =
  | { readonly outcome: 'done'; readonly newUid: number | null; readonly newUidValidity: number | null }
  | { readonly outcome: 'failed'; readonly reason: 'missing' | 'rejected'; readonly text: string }
  | { readonly outcome: 'unknown' };

export interface FlagChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** What a reconciler reads after an interrupted action. */
export interface Sighting {
  /** The UIDs that are still in the source folder with the same UIDVALIDITY. */
  readonly presentUids: ReadonlySet<number>;
  readonly flagsByUid: ReadonlyMap<number, readonly string[]>;
}

/** A connection borrowed for one operation or query. Every method throws a typed `GatewayError`. */
export interface MailSession {
  readonly capabilities: ServerCapabilities;
  listFolders(): Promise<readonly FolderListing[]>;
  createFolder(path: string): Promise<void>;
  query(query: MailQuery): Promise<MailQueryAnswer>;
  /** The messages at these places, in the order requested; null where a place is stale. */
  fetch(
    refs: readonly MessageRef[],
    depth: MailQuery['depth'],
    textChars: number | null,
    bodySource?: BodySource,
  ): Promise<readonly (FetchedMessage | null)[]>;
  /**
   * The messages at these places before an action on them, in the order requested; null where a place is
   * stale. Very recent changes by others may be missing: the action itself finds them.
   */
  identify(refs: readonly MessageRef[]): Promise<readonly (Identified | null)[]>;
  /** A leaf of a message by its ordinal; null where the place is stale or the message has no such leaf. */
  describePart(ref: MessageRef, part: number): Promise<PartDescription | null>;
  /**
   * At most `length` raw bytes from `offset` of a part (`path`), or of the whole message (null); fewer only at the end.
   * Null where the place is stale. Never sets `\\Seen`.
   */
  readBytes(ref: MessageRef, path: string | null, offset: number, length: number): Promise<Uint8Array | null>;
  /**
   * Calls `assertMayWrite` directly before each command that moves, copies, flags, adds or removes messages.
   * When it throws, the action ends without that command, and the called method throws the error.
   */
  guardWrites(assertMayWrite: () => void): void;
  /** The current UIDVALIDITY and UIDNEXT of a folder. */
  folderStatus(folder: FolderRef): Promise<{ readonly uidValidity: number; readonly uidNext: number }>;
  /**
   * Runs one action on messages of one folder, in one command where the server can. Returns one outcome per
   * requested UID. A connection that breaks in the middle gives `unknown`; it never throws.
   */
  moveMessages(
    folder: FolderRef,
    uidValidity: number,
    uids: readonly number[],
    target: FolderRef,
  ): Promise<ReadonlyMap<number, ActionOutcome>>;
  copyMessages(
    folder: FolderRef,
    uidValidity: number,
    uids: readonly number[],
    target: FolderRef,
  ): Promise<ReadonlyMap<number, ActionOutcome>>;
  setFlags(
    folder: FolderRef,
    uidValidity: number,
    uids: readonly number[],
    change: FlagChange,
  ): Promise<ReadonlyMap<number, ActionOutcome>>;
  /** Which of these UIDs are there now, with their flags. With another UIDVALIDITY there are none. */
  look(folder: FolderRef, uidValidity: number, uids: readonly number[]): Promise<Sighting>;
  /**
   * Appends a message to a folder, with flags written with their backslash, and `at` as its INTERNALDATE.
   * Returns its place, or null when the server does not report it. Never retried: after a broken connection
   * only a search shows whether it is there.
   */
  append(
    folder: FolderRef,
    raw: Uint8Array,
    flags: readonly string[],
    at: Date,
  ): Promise<{ readonly uidValidity: number; readonly uid: number } | null>;
  /**
   * Removes exactly these messages from a folder permanently, whatever other messages are marked as deleted.
   * Throws `operation_unsupported` without UIDPLUS; outcomes as for the actions above.
   */
  expungeMessages(
    folder: FolderRef,
    uidValidity: number,
    uids: readonly number[],
  ): Promise<ReadonlyMap<number, ActionOutcome>>;
  /** UIDs at or above `fromUid` whose Message-ID header equals `messageId`, lowest first. */
  findByMessageId(folder: FolderRef, messageId: string, fromUid: number): Promise<readonly number[]>;
}

export interface MailPort {
  /**
   * Borrows a connection of the mailbox for `work`. Throws `mailbox_unavailable`, `mailbox_auth_failed`,
   * `target_blocked` or `overloaded`; reports such failures to the mailbox's own state.
   */
  withMailbox<T>(mailboxId: string, lane: Priority, work: (mail: MailSession) => Promise<T>): Promise<T>;
  /**
   * Answers from the mirror when it equals the server, else live: on `live` where a connection is already
   * borrowed. Throws like `withMailbox`; `filter_unsupported` where no truthful answer is possible, and
   * `index_building` where it soon will be.
   */
  query(mailboxId: string, query: MailQuery, live?: MailSession): Promise<MailAnswer>;
  /**
   * The filter with each thread id as messages carry it now; to be called after they were fetched. Throws
   * `index_building`.
   */
  withThreadIds(mailboxId: string, filter: Filter): Promise<Filter>;
  testImap(settings: HostSettings, login: MailLogin): Promise<ConnectionReport>;
  /** Throws `target_blocked` when a host is not public and no egress rule allows it. */
  assertReachable(settings: HostSettings): Promise<void>;
  /** Closes the mailbox's connections, after its settings changed or it was paused or removed. */
  disconnect(mailboxId: string): Promise<void>;
}

/** How far a test connection to a mail server came. */
export interface ConnectionReport {
  readonly ok: boolean;
  readonly stage: 'egress' | 'connect' | 'tls' | 'greeting' | 'login' | 'ready';
  readonly latencyMs: number;
  readonly error?: string;
}

/** The capabilities of a mail server that the gateway uses. */
export interface ServerCapabilities {
  readonly move: boolean;
  readonly uidPlus: boolean;
  readonly specialUse: boolean;
  readonly condstore: boolean;
  readonly idle: boolean;
  /** One message may be in several folders at once (X-GM-EXT-1). */
  readonly sharesMessages: boolean;
  /** The names as the server sent them, upper case, sorted. */
  readonly names: readonly string[];
}
