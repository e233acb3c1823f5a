/**
 * The interfaces to everything outside the process, small and named for their role. `infra` implements them,
 * one composition root passes them in, and tests control the clock and the ids.
 */
import type { AuthorizationRequests } from './authorization-server.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { ContentStore } from './content-store.ts';
import type { IdPrefix } from '../values/ids.ts';
import type { Leases } from './leases.ts';
import type { MirrorVersions } from './mirror-versions.ts';
import type { ChangeAttribution } from './change-attribution.ts';
import type { MailDiscovery } from './mail-discovery.ts';
import type { MailLogins, ProviderAuthorizations } from './mail-logins.ts';
import type { MailPort } from './mail-port.ts';
import type { Markup } from './markup.ts';
import type { MessageComposer } from './message-composer.ts';
import type { McpSessions, McpTasks } from './mcp.ts';
import type { Directory } from './directory.ts';
import type {
  AttemptLimits,
  KnownDevices,
  OneTimeLinks,
  Secrets,
  SessionUse,
  Tokens,
} from './sign-in-port.ts';
import type { Position } from '../values/position.ts';
import type { Sealed } from '../values/sealed.ts';
import type { SqlText } from './statement.ts';
import type { SystemMailer } from './system-mailer.ts';
import type { SubmissionPort } from './submission-port.ts';
import type { EventStore } from './event-store.ts';
import type { Seals, Trails } from './trails.ts';
import type { WebhookRecords } from './webhook-records.ts';
import type { DeliveryLog, WebhookSecrets, WebhookSender } from './webhook-port.ts';

export interface Clock {
  now(): Date;
  /**
   * Milliseconds on a clock that never steps: for rates, pauses and time-outs. Comparable only within this
   * process.
   */
  elapsedMs(): number;
  /** Resolves after `milliseconds`, or at once when the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  newId(prefix: IdPrefix): string;
  newUuid(): string;
  /** 128 random bits in hex: they prevent guessing a hash. */
  newNonce(): string;
  /** 128 random bits in base64url: the salt of one event. */
  newSalt(): string;
  /** The id of an Idempotency-Key in the scope (org, principal). */
  idForKey(prefix: IdPrefix, orgId: string, principalId: string, key: string): string;
  /** HMAC-SHA-256 of `text` in hex, for stream names that must not reveal what they reserve. */
  reservationName(text: string): string;
}

export type Row = Record<string, unknown>;

/** SQL with positional parameters (`$1`), over a pool or inside one transaction. */
export interface Sql {
  query<R extends Row = Row>(statement: SqlText, parameters?: readonly unknown[]): Promise<R[]>;
  /** Runs `work` in one transaction; a throw rolls back. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** Personal fields inside events (docs/architecture.md#events-are-the-truth). Keys live in `vault`, one per principal or mailbox. */
export interface PersonalData {
  seal(ownerId: string, text: string): Promise<Sealed>;
  /** The text, or null when the owner's key was erased. Throws only when the database is unavailable. */
  open(sealed: Sealed): Promise<string | null>;
  /** Whose key a text is sealed under; null for a text that is not sealed. */
  ownerOf(text: string): string | null;
  /** The text with its proof, or that its owner's key was erased; null when it does not open for another reason. Throws as `open`. */
  prove(sealed: Sealed): Promise<ProvenText | 'erased' | null>;
  /** For one file: every erasure before this call counts, in whatever process, and each key is looked up once. */
  afresh(): SealedReader;
  /**
   * Erases an owner's key for ever: here at once, in other processes within a minute nothing sealed under it opens again, and
   * what is sealed for that owner afterwards opens nowhere.
   */
  erase(ownerId: string): Promise<void>;
  /** By any process, up to now. */
  isErased(ownerId: string): Promise<boolean>;
}

export type SealedReader = Pick<PersonalData, 'open' | 'ownerOf' | 'prove'>;

export interface ProvenText {
  readonly text: string;
  /** The salt of its commitment (`docs/audit-format.md` 3); null = sealed before commitments. */
  readonly salt: Uint8Array | null;
}

/** The place of a message: mailbox and folder by number, so that a locator reveals no names. */
export interface MessagePlace {
  readonly mailboxNumber: number;
  readonly folderNumber: number;
  readonly uidValidity: number;
  readonly uid: number;
}

/** Sealed locators (`contract.md` 1): deterministic, unforgeable, without a lookup. */
export interface Locators {
  message(place: MessagePlace): string;
  folder(mailboxNumber: number, folderNumber: number): string;
  thread(mailboxNumber: number, rootMessageId: string): string;
  /** `part` = the ordinal of the part among the leaves of its message, from 1. */
  attachment(place: MessagePlace, part: number): string;
  /** Null when the text is not a message id of this gateway. */
  openMessage(id: string): MessagePlace | null;
  openFolder(id: string): { readonly mailboxNumber: number; readonly folderNumber: number } | null;
  /** Null when the text is not an attachment id of this gateway. */
  openAttachment(id: string): { readonly place: MessagePlace; readonly part: number } | null;
}

/** One line of the process's own access stream: a read of bodies, or a refusal. */
export interface AccessLog {
  /** Resolves when the line is in the stream. Throws `store_unavailable` when it cannot be. */
  record(entry: AccessEntry): Promise<void>;
  /** A refusal of an unauthenticated caller: counted per minute and source. */
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

/** What a caller may do per minute, and concurrently (`contract.md` 15). */
export interface Limits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  readonly concurrentRequests: number;
  readonly concurrentWaits: number;
  readonly providerConnections: number;
  readonly jsonBodyBytes: number;
  readonly mcpResultBytes: number;
  /** For one agent. */
  readonly sendsPerHour: number;
  /** For one account, and from one address. */
  readonly signInsPerMinute: number;
}

/** The waiting times of a send (`contract.md` 7 and 10). */
export interface SendTimes {
  /** Pauses after the first, second, … attempt that certainly sent nothing; the last one repeats. */
  readonly retryAfterMs: readonly number[];
  /** After this time, counted from the first attempt, no other attempt is made. */
  readonly giveUpAfterMs: number;
  /** An interrupted send is judged no earlier than this: until then a Sent copy may still appear. */
  readonly judgeAfterMs: number;
  /** How long the gateway waits for a mail server that files the Sent copy. */
  readonly ownCopyWithinMs: number;
}

/** The waiting times of webhooks (`contract.md` 11). */
export interface WebhookTimes {
  /** For one attempt: look-up, connection, request and the whole answer. */
  readonly deadlineMs: number;
  /** Pauses after the first, second, … failed attempt; after the last one there is one more attempt. */
  readonly retryAfterMs: readonly number[];
  /** An endpoint that only failed for this long is disabled. */
  readonly disableAfterMs: number;
  /** How long a payload can be delivered and replayed. */
  readonly keptForMs: number;
}

export const SIGN_UPS = ['closed', 'invite', 'open'] as const;
export type SignUp = (typeof SIGN_UPS)[number];

export interface ServerInfo {
  readonly baseUrl: string;
  readonly version: string;
  /** Short id of the event log: positions in another log have no meaning here. */
  readonly logId: string;
  readonly limits: Limits;
  readonly sendTimes: SendTimes;
  readonly webhookTimes: WebhookTimes;
  readonly mcpTextBlock: boolean;
  /** Who may sign up. */
  readonly signUp: SignUp;
  /** The block in which this installation numbers its mailboxes; 0 is the first. */
  readonly mailboxNumberBlock: number;
  /** The supported MCP revisions, newest first. */
  readonly mcpRevisions: readonly string[];
  /** An answer that violates its schema is an error (tests), not only a log line. */
  readonly strictOutput: boolean;
}

/** Waits at most a second until this process's read models include a position. True when they do. */
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
  readonly devices: KnownDevices;
  readonly sessionUse: SessionUse;
  readonly locators: Locators;
  readonly leases: Leases;
  readonly mail: MailPort;
  readonly mailDiscovery: MailDiscovery;
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
  readonly trails: Trails;
  readonly feed: ChangeFeed;
  readonly sessions: McpSessions;
  readonly tasks: McpTasks;
  readonly accessLog: AccessLog;
  readonly authorizationRequests: AuthorizationRequests;
  readonly webhookSecrets: WebhookSecrets;
  readonly webhookSender: WebhookSender;
  readonly deliveryLog: DeliveryLog;
  readonly webhookRecords: WebhookRecords;
  readonly systemMailer: SystemMailer;
  readonly seals: Seals;
  readonly log: Log;
  readonly server: ServerInfo;
}

/** The recipients of a mailbox as the gateway itself knows them: policy can rely on them. */
interface Contacts {
  /**
   * The addresses that the gateway sent a mail to from the mailbox, accepted by the mail server. Messages in
   * folders do not count: a sender puts them there, and a caller who may move messages chooses the folder.
   * Throws `store_unavailable`.
   */
  writtenTo(mailboxId: string, addresses: readonly string[]): Promise<ReadonlySet<string>>;
}

/** The moves made by this gateway. An id names a place, so a moved message has another id. */
export interface MessageMove {
  /** The id of the message before the move. */
  readonly messageId: string;
  /** The id after the move; null where the mail server did not report it. */
  readonly newId: string | null;
  readonly operationId: string;
}

interface MessageMoves {
  /**
   * The moves of a message, from the one that made this id stale to the last known one; empty when there was
   * none.
   */
  follow(messageId: string): Promise<readonly MessageMove[]>;
}
