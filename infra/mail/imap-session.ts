/** A mailbox as borrowed for one operation or query: the port's methods on one pooled connection. */
import { GatewayError } from '../../commands/values/errors.ts';
import type {
  ActionOutcome,
  FlagChange,
  FolderListing,
  MailSession,
  ServerCapabilities,
  Sighting,
} from '../../commands/ports/mail-port.ts';
import type { MailQuery, MailQueryAnswer } from '../../commands/mail/query.ts';
import type {
  BodySource,
  FetchedMessage,
  FolderRef,
  Identified,
  MessageRef,
  PartDescription,
} from '../../commands/mail/message.ts';
import {
  type ActionTarget,
  type Outcomes,
  prepareExpunge,
  prepareFlagChange,
  rejected,
  UNKNOWN,
} from './act-on-folder.ts';
import type { Lease } from './connection-pool.ts';
import { fetchMessages } from './fetch-messages.ts';
import { fetchPlaces } from './fetch-places.ts';
import { findByMessageId, folderCounts, folderStatus, examineMessages } from './examine-folder.ts';
import type { FolderCounts } from '../mail-index/folder-freshness.ts';
import { identifyMessages } from './identify-messages.ts';
import type { ImapConnection } from './imap-connection.ts';
import { listFolders } from './imap-list.ts';
import type { QueryDeps } from './query-folders.ts';
import { openListed, refusalIn, reopenListed } from './open-folder.ts';
import { prepareCopy, prepareMove } from './relocate-messages.ts';
import { runQuery } from './run-query.ts';
import { partOf } from './body-structure.ts';
import { isDeleted } from './fetched-message.ts';

type Outcome = Promise<ReadonlyMap<number, ActionOutcome>>;

export class ImapSession implements MailSession {
  readonly #lease: Lease;
  #assertMayWrite: (() => void) | null = null;
  readonly #queries: Omit<QueryDeps, 'connection'>;
  /** One method at a time: a connection has one folder open. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(lease: Lease, queries: Omit<QueryDeps, 'connection'>) {
    this.#lease = lease;
    this.#queries = queries;
  }

  get capabilities(): ServerCapabilities {
    return this.#lease.connection.capabilities;
  }

  listFolders(): Promise<readonly FolderListing[]> {
    return this.#read(listFolders);
  }

  createFolder(path: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#lease.connection.run((client) => client.mailboxCreate(path));
    });
  }

  query(query: MailQuery): Promise<MailQueryAnswer> {
    return this.#read((connection) => runQuery({ ...this.#queries, connection }, query));
  }

  async fetch(
    refs: readonly MessageRef[],
    depth: MailQuery['depth'],
    textChars: number | null,
    source: BodySource = 'plain',
  ): Promise<readonly (FetchedMessage | null)[]> {
    const text = textChars === null ? null : { chars: textChars, source };
    const withThreads = (messages: readonly FetchedMessage[]) => this.#withThreads(messages, depth);
    return await this.#read((connection) => fetchPlaces(connection, refs, { depth, text, withThreads }));
  }

  async #withThreads(
    messages: readonly FetchedMessage[],
    depth: MailQuery['depth'],
  ): Promise<readonly FetchedMessage[]> {
    if (depth === 'place' || messages.length === 0) return messages;
    return (await this.#queries.threads({ messages, ids: [] }))?.messages ?? messages;
  }

  identify(refs: readonly MessageRef[]): Promise<readonly (Identified | null)[]> {
    return this.#read((connection) => identifyMessages(connection, refs));
  }

  describePart(ref: MessageRef, part: number): Promise<PartDescription | null> {
    return this.#read((connection) => describePart(connection, ref, part));
  }

  readBytes(
    ref: MessageRef,
    path: string | null,
    offset: number,
    length: number,
  ): Promise<Uint8Array | null> {
    return this.#read((connection) => readBytes(connection, ref, path, { offset, length }));
  }

  guardWrites(assertMayWrite: () => void): void {
    this.#assertMayWrite = assertMayWrite;
  }

  folderStatus(folder: FolderRef): Promise<{ readonly uidValidity: number; readonly uidNext: number }> {
    return this.#read((connection) => folderStatus(connection, folder));
  }

  /** The status of each folder without opening it; null for one that is gone. */
  countsOf(folders: readonly FolderRef[]): Promise<readonly (FolderCounts | null)[]> {
    return this.#read(async (connection) => {
      const counts: (FolderCounts | null)[] = [];
      for (const folder of folders) counts.push(await folderCounts(connection, folder));
      return counts;
    });
  }

  moveMessages(folder: FolderRef, uidValidity: number, uids: readonly number[], target: FolderRef): Outcome {
    return this.#act({ folder, uidValidity, uids }, (connection, on) => prepareMove(connection, on, target));
  }

  copyMessages(folder: FolderRef, uidValidity: number, uids: readonly number[], target: FolderRef): Outcome {
    return this.#act({ folder, uidValidity, uids }, (connection, on) => prepareCopy(connection, on, target));
  }

  setFlags(folder: FolderRef, uidValidity: number, uids: readonly number[], change: FlagChange): Outcome {
    return this.#act({ folder, uidValidity, uids }, (connection, on) =>
      prepareFlagChange(connection, on, change),
    );
  }

  look(folder: FolderRef, uidValidity: number, uids: readonly number[]): Promise<Sighting> {
    return this.#read((connection) => examineMessages(connection, { folder, uidValidity, uids }));
  }

  findByMessageId(folder: FolderRef, messageId: string, fromUid: number): Promise<readonly number[]> {
    return this.#read((connection) => findByMessageId(connection, folder, messageId, fromUid));
  }

  append(
    folder: FolderRef,
    raw: Uint8Array,
    flags: readonly string[],
    at: Date,
  ): Promise<{ readonly uidValidity: number; readonly uid: number } | null> {
    return this.#inTurn(async () => {
      // A read, which may be repeated, detects a dead idle connection.
      if (!this.#lease.connection.hasAnswered)
        await this.#retrying((connection) => connection.run((client) => client.noop()));
      const { connection } = this.#lease;
      return await this.#guarded(() => appendMessage(connection, folder, raw, { flags, at }));
    });
  }

  expungeMessages(folder: FolderRef, uidValidity: number, uids: readonly number[]): Outcome {
    return this.#act({ folder, uidValidity, uids }, prepareExpunge);
  }

  /** Preparing only reads. The prepared change runs once, and a break in it is an outcome, not an error. */
  #act(
    target: ActionTarget,
    prepare: (connection: ImapConnection, target: ActionTarget) => Promise<() => Promise<Outcomes>>,
  ): Outcome {
    return this.#inTurn(async () => {
      try {
        const run = await this.#retrying((connection) => prepare(connection, target));
        return await this.#guarded(run);
      } catch (error) {
        const outcome = outcomeOf(error);
        if (outcome === null) throw error;
        return new Map(target.uids.map((uid) => [uid, outcome]));
      }
    });
  }

  async #guarded<T>(run: () => Promise<T>): Promise<T> {
    const { connection } = this.#lease;
    connection.writeGuard = this.#assertMayWrite;
    try {
      return await run();
    } finally {
      connection.writeGuard = null;
    }
  }

  #read<T>(work: (connection: ImapConnection) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#retrying(work));
  }

  /**
   * Retries a read once on a new connection when the lent one was idle and the server had closed it meanwhile: it has not
   * answered since it was lent.
   */
  async #retrying<T>(work: (connection: ImapConnection) => Promise<T>): Promise<T> {
    const { connection } = this.#lease;
    try {
      return await work(connection);
    } catch (error) {
      if (connection.hasAnswered || connection.isUsable) throw await refusalIn(connection, error);
      await this.#lease.renew();
      return await work(this.#lease.connection);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work, work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/**
 * The outcome of an action that could not be prepared. The caller has already recorded the intent, and other actions of the
 * same operation may have run: a lost connection is reconciled like any other.
 */
function outcomeOf(error: unknown): ActionOutcome | null {
  if (!(error instanceof GatewayError) || error.code === 'operation_unsupported') return null;
  const isRefused = error.code === 'provider_rejected' || error.code === 'filter_unsupported';
  return isRefused ? rejected(error.message) : UNKNOWN;
}

/** 25 MiB over a slow line take longer than a command may; this is enough at 1 Mbit/s. */
const APPEND_TIMEOUT_MS = 240_000;

/**
 * Returns the new place; null when the server does not report it (no UIDPLUS, RFC 4315). A folder open for reading is
 * opened for writing first: some servers (Courier) accept no message into a folder that is open by EXAMINE. Throws like
 * `ImapConnection.write`.
 */
export async function appendMessage(
  connection: ImapConnection,
  folder: FolderRef,
  raw: Uint8Array,
  { flags, at }: { readonly flags: readonly string[]; readonly at: Date },
): Promise<{ readonly uidValidity: number; readonly uid: number } | null> {
  if (connection.isOpenForReading(folder.path)) await connection.open(folder.path, 'write');
  const appended = await connection.write(
    (client) => client.append(folder.path, raw, [...flags], at),
    APPEND_TIMEOUT_MS,
  );
  if (!appended || appended.uid === undefined || appended.uidValidity === undefined) return null;
  return { uidValidity: Number(appended.uidValidity), uid: appended.uid };
}

/** A leaf by its ordinal; null where the message is gone or marked `\Deleted`, or has no such leaf. Throws like `run`. */
export async function describePart(
  connection: ImapConnection,
  { folder, uidValidity, uid }: MessageRef,
  part: number,
): Promise<PartDescription | null> {
  const open = await openListed(connection, folder, 'read');
  if (open?.uidValidity !== uidValidity) return null;
  const [message] = await fetchMessages(connection, [uid], { flags: true, bodyStructure: true });
  if (message?.bodyStructure === undefined || isDeleted(message)) return null;
  return partOf(message.bodyStructure, part);
}

/**
 * At most `length` bytes from `offset` of a part (`path`) or the whole message (null), by BODY.PEEK. Null where the message
 * is gone. Throws like `run`.
 */
export async function readBytes(
  connection: ImapConnection,
  { folder, uidValidity, uid }: MessageRef,
  path: string | null,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<Uint8Array | null> {
  // After the first piece the folder was there, and a UID that vanishes reports so itself.
  const open =
    offset > 0 ? await reopenListed(connection, folder) : await openListed(connection, folder, 'read');
  if (open?.uidValidity !== uidValidity) return null;
  const range = { start: offset, maxLength: length };
  const query = path === null ? { source: range } : { bodyParts: [{ key: path, ...range }] };
  const [message] = await fetchMessages(connection, [uid], query);
  if (message === undefined) return null;
  const bytes = path === null ? message.source : message.bodyParts?.get(path.toLowerCase());
  // imapflow gives `false` for NIL.
  return Buffer.isBuffer(bytes) ? bytes : new Uint8Array();
}
