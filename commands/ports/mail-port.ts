/**
 * The mail side as the rest of the gateway sees it: folders and messages by number and UID, typed refusals instead of
 * an IMAP client's odd results. Paths and credentials stay behind it.
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

export type ConnectionSecurity = 'tls' | 'starttls' | 'none';

export interface HostSettings {
  readonly host: string;
  readonly port: number;
  readonly security: ConnectionSecurity;
}

/** What a login needs; an access token is fresh when it is handed out. */
export type MailLogin =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  | { readonly kind: 'oauth2'; readonly username: string; readonly accessToken: string };

/** Two lanes per mailbox, so that a long query never keeps an action waiting. */
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

/** A query's answer, and from where in the log a wait goes on: nothing the answer shows comes again, nothing is missed. */
export interface MailAnswer extends MailQueryAnswer {
  readonly asOf: Position;
}

/** What one IMAP action did to one message. `newPlace` is null when the server does not tell (no UIDPLUS). */
export type ActionOutcome =
  | { readonly outcome: 'done'; readonly newUid: number | null; readonly newUidValidity: number | null }
  | { readonly outcome: 'failed'; readonly reason: 'missing' | 'rejected'; readonly text: string }
  | { readonly outcome: 'unknown' };

export interface FlagChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** What a reconciler looks at after a cut-off action. */
export interface Sighting {
  /** The UIDs of the source that are still there with the same UIDVALIDITY. */
  readonly presentUids: ReadonlySet<number>;
  readonly flagsByUid: ReadonlyMap<number, readonly string[]>;
}

/** A connection borrowed for the time of one operation or query. Every method throws a typed `GatewayError`. */
export interface MailSession {
  readonly capabilities: ServerCapabilities;
  listFolders(): Promise<readonly FolderListing[]>;
  createFolder(path: string): Promise<void>;
  query(query: MailQuery): Promise<MailQueryAnswer>;
  /** The messages at these places, in the order asked; null where a place is stale. */
  fetch(
    refs: readonly MessageRef[],
    depth: MailQuery['depth'],
    textChars: number | null,
    bodySource?: BodySource,
  ): Promise<readonly (FetchedMessage | null)[]>;
  /**
   * The messages at these places before an action on them, in the order asked; null where a place is stale. What others did a
   * moment ago may not show yet: the action itself finds that out.
   */
  identify(refs: readonly MessageRef[]): Promise<readonly (Identified | null)[]>;
  /** A leaf of a message by its ordinal; null where the place is stale, or the message has no such leaf. */
  describePart(ref: MessageRef, part: number): Promise<PartDescription | null>;
  /**
   * At most `length` raw bytes from `offset` of a part (`path`), or of the whole message (null); fewer only at the end.
   * Null where the place is stale. Never sets `\\Seen`.
   */
  readBytes(ref: MessageRef, path: string | null, offset: number, length: number): Promise<Uint8Array | null>;
  /**
   * Calls `assertMayWrite` right before each command that moves, copies, flags, adds or removes messages; what it throws
   * ends the action without that command, and comes out of the method that was called.
   */
  guardWrites(assertMayWrite: () => void): void;
  /** UIDVALIDITY and UIDNEXT of a folder now. */
  folderStatus(folder: FolderRef): Promise<{ readonly uidValidity: number; readonly uidNext: number }>;
  /**
   * Runs one action on messages of one folder, in one command where the server can. The answer has one outcome per
   * UID asked. A connection that breaks in the middle answers `unknown`, never throws.
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
  /** What is there now of these UIDs. An other UIDVALIDITY sees nothing. */
  look(folder: FolderRef, uidValidity: number, uids: readonly number[]): Promise<Sighting>;
  /**
   * Puts a message into a folder, flags with their backslash, `at` as its INTERNALDATE. The answer is where it lies, or
   * null when the server does not tell. Never tried twice: after a broken connection only a look tells.
   */
  append(
    folder: FolderRef,
    raw: Uint8Array,
    flags: readonly string[],
    at: Date,
  ): Promise<{ readonly uidValidity: number; readonly uid: number } | null>;
  /**
   * Takes exactly these messages out of a folder for good, whatever else is marked there. Throws `operation_unsupported`
   * without UIDPLUS; outcomes as of the actions above.
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
   * Answers from the mailbox's index when that holds all the server has, else live: on `live` where a connection is
   * borrowed already. Throws like `withMailbox`; `filter_unsupported` where it cannot be answered truthfully, and
   * `index_building` where it soon can be.
   */
  query(mailboxId: string, query: MailQuery, live?: MailSession): Promise<MailAnswer>;
  /** The filter with each thread id as messages carry it now: to be asked after they were fetched. Throws `index_building`. */
  withThreadIds(mailboxId: string, filter: Filter): Promise<Filter>;
  testImap(settings: HostSettings, login: MailLogin): Promise<ConnectionReport>;
  /** Throws `target_blocked` when a host is not public and no egress rule opens it. */
  assertReachable(settings: HostSettings): Promise<void>;
  /** Ends the mailbox's connections: its settings changed, it was paused or removed. */
  disconnect(mailboxId: string): Promise<void>;
}

/** How far a trial connection to a mail server came. */
export interface ConnectionReport {
  readonly ok: boolean;
  readonly stage: 'egress' | 'connect' | 'tls' | 'greeting' | 'login' | 'ready';
  readonly latencyMs: number;
  readonly error?: string;
}

/** What a mail server said it can, as far as the gateway asks. */
export interface ServerCapabilities {
  readonly move: boolean;
  readonly uidPlus: boolean;
  readonly specialUse: boolean;
  readonly condstore: boolean;
  readonly idle: boolean;
  /** One message may lie in several folders at once (X-GM-EXT-1). */
  readonly sharesMessages: boolean;
  /** The server's own words, upper case, sorted. */
  readonly names: readonly string[];
}
