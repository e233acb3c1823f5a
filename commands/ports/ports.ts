/**
 * Everything outside the process, as small interfaces named for the role. `infra` implements them, one composition
 * root hands them in; tests own the clock and the ids.
 */
import type { ChangeFeed } from './change-feed.ts';
import type { ContentStore } from './content-store.ts';
import type { IdPrefix } from '../values/ids.ts';
import type { MirrorVersions } from './mirror-versions.ts';
import type { ChangeAttribution } from './change-attribution.ts';
import type { MailLogins, ProviderAuthorizations } from './mail-logins.ts';
import type { MailPort } from './mail-port.ts';
import type { Markup } from './markup.ts';
import type { MessageComposer } from './message-composer.ts';
import type { McpSessions, McpTasks } from './mcp.ts';
import type { Directory } from './directory.ts';
import type { AttemptLimits, OneTimeLinks, Secrets, SessionUse, Tokens } from './sign-in-port.ts';
import type { Position } from '../values/position.ts';
import type { Sealed } from '../values/sealed.ts';
import type { SubmissionPort } from './submission-port.ts';
import type { EventStore } from './event-store.ts';

export interface Clock {
  now(): Date;
  /** Milliseconds on a clock that never steps: for rates, pauses and time-outs. Comparable within this process only. */
  elapsedMs(): number;
  /** Resolves after `milliseconds`, or at once when the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  newId(prefix: IdPrefix): string;
  newUuid(): string;
  /** 128 random bits in hex: what keeps a hash from being guessed. */
  newNonce(): string;
  /** 128 random bits in base64url: the salt of one event. */
  newSalt(): string;
  /** The id an Idempotency-Key stands for, in the scope (org, principal). */
  idForKey(prefix: IdPrefix, orgId: string, principalId: string, key: string): string;
  /** HMAC-SHA-256 of `text` as hex, for stream names that must not tell what they reserve. */
  reservationName(text: string): string;
}

export type Row = Record<string, unknown>;

/** SQL with positional parameters (`$1`), over a pool or inside one transaction. */
export interface Sql {
  query<R extends Row = Row>(text: string, parameters?: readonly unknown[]): Promise<R[]>;
  /** Runs `work` in one transaction; a throw rolls back. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** Personal fields inside events (docs/architecture.md#events-are-the-truth). Keys live in `vault`, one per principal or mailbox. */
export interface PersonalData {
  seal(ownerId: string, text: string): Promise<Sealed>;
  /** The text, or null when the owner's key was erased. Throws only when the database is away. */
  open(sealed: Sealed): Promise<string | null>;
}

/** A message's place: mailbox and folder by number, so a locator says nothing of names. */
export interface MessagePlace {
  readonly mailboxNumber: number;
  readonly folderNumber: number;
  readonly uidValidity: number;
  readonly uid: number;
}

/** Sealed locators (`contract.md` 1): deterministic, unforgeable, no look-up. */
export interface Locators {
  message(place: MessagePlace): string;
  folder(mailboxNumber: number, folderNumber: number): string;
  thread(mailboxNumber: number, rootMessageId: string): string;
  /** `part` = the ordinal of the part among the leaves of its message, from 1. */
  attachment(place: MessagePlace, part: number): string;
  /** Null when the text is no message id this gateway made. */
  openMessage(id: string): MessagePlace | null;
  openFolder(id: string): { readonly mailboxNumber: number; readonly folderNumber: number } | null;
  /** Null when the text is no attachment id this gateway made. */
  openAttachment(id: string): { readonly place: MessagePlace; readonly part: number } | null;
}

/** `work.lease`: who runs an operation now. Held by this process's run id for 30 s, renewed every 10 s. */
export interface Leases {
  readonly runId: string;
  /** Takes or keeps the lease. False when another live run holds it. */
  acquire(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
  /** True while nobody else can hold it: by a clock that a paused process cannot stop, and without asking anybody. */
  isHeld(name: string): boolean;
  /** Null when nobody holds it (never taken, released or run out). */
  holder(name: string): Promise<{ readonly runId: string; readonly until: Date } | null>;
}

/** One line of the process's own access stream: a read of bodies, or a refusal. */
export interface AccessLog {
  /** Resolves when the line is in the stream. Throws `store_unavailable` when it cannot be. */
  record(entry: AccessEntry): Promise<void>;
  /** A refusal of nobody known: counted per minute and source. */
  countRefusal(code: string, source: string): void;
}

export interface AccessEntry {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What the gateway lets a caller do per minute, and at once (`contract.md` 15). */
export interface Limits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  readonly concurrentRequests: number;
  readonly concurrentWaits: number;
  readonly providerConnections: number;
  readonly jsonBodyBytes: number;
  readonly mcpResultBytes: number;
  /** Of one agent. */
  readonly sendsPerHour: number;
  /** Of one account, and from one address. */
  readonly signInsPerMinute: number;
}

/** How long a send waits for what (`contract.md` 7 and 10). */
export interface SendTimes {
  /** Pauses after the first, second, … attempt that surely sent nothing; the last one repeats. */
  readonly retryAfterMs: readonly number[];
  /** After this long, counted from the first attempt, no other one is made. */
  readonly giveUpAfterMs: number;
  /** A send that was cut off is judged no sooner: until then a copy of it may still turn up. */
  readonly judgeAfterMs: number;
  /** How long the gateway waits for a mail server that files the Sent copy itself. */
  readonly ownCopyWithinMs: number;
}

export interface ServerInfo {
  readonly baseUrl: string;
  readonly version: string;
  /** Short id of the event log: places in another log mean nothing here. */
  readonly logId: string;
  readonly limits: Limits;
  readonly sendTimes: SendTimes;
  readonly mcpTextBlock: boolean;
  /** Where this installation numbers its mailboxes; 0 is the first block. */
  readonly mailboxNumberBlock: number;
  /** MCP revisions spoken, newest first. */
  readonly mcpRevisions: readonly string[];
  /** An answer that breaks its schema is an error (tests), not only a log line. */
  readonly strictOutput: boolean;
}

/** Waits until this process's read models hold a position, at most a second. True when they do. */
export interface ReadModels {
  waitFor(position: Position, timeoutMs: number): Promise<boolean>;
}

export interface Ports {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly events: EventStore;
  readonly sql: Sql;
  readonly personal: PersonalData;
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  readonly attempts: AttemptLimits;
  readonly links: OneTimeLinks;
  readonly sessionUse: SessionUse;
  readonly locators: Locators;
  readonly leases: Leases;
  readonly mail: MailPort;
  readonly logins: MailLogins;
  readonly providerAuthorizations: ProviderAuthorizations;
  readonly submission: SubmissionPort;
  readonly changeAttribution: ChangeAttribution;
  readonly mirrorVersions: MirrorVersions;
  readonly content: ContentStore;
  readonly composer: MessageComposer;
  readonly markup: Markup;
  readonly directory: Directory;
  readonly readModels: ReadModels;
  readonly moves: MessageMoves;
  readonly contacts: Contacts;
  readonly feed: ChangeFeed;
  readonly sessions: McpSessions;
  readonly tasks: McpTasks;
  readonly accessLog: AccessLog;
  readonly log: Log;
  readonly server: ServerInfo;
}

/** Recipients of a mailbox as the gateway itself knows them: what a policy can rely on. */
export interface Contacts {
  /**
   * Those of the addresses that the gateway sent a mail to from the mailbox, taken by the mail server. What lies in folders says nothing
   * here: a sender puts it there, and a caller who may move messages chooses the folder. Throws `store_unavailable`.
   */
  writtenTo(mailboxId: string, addresses: readonly string[]): Promise<ReadonlySet<string>>;
}

/** Moves made by this gateway: an id names a place, so a moved message has another id. */
export interface MessageMove {
  /** The id the message had before. */
  readonly messageId: string;
  /** The id it had afterwards; null where the mail server did not tell. */
  readonly newId: string | null;
  readonly operationId: string;
}

export interface MessageMoves {
  /** The moves of a message from the one that made this id stale to the last one known; empty when there was none. */
  follow(messageId: string): Promise<readonly MessageMove[]>;
}
