/**
 * (INTERNALDATE, UID) of every message of a folder, cached in memory: the order of a list without fetching the folder.
 * Snapshots are immutable, so connections of one mailbox share them.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import type { ImapConnection, OpenFolder } from './imap-connection.ts';
import { searchUids } from './search-uids.ts';

export const MAX_FOLDER_MESSAGES = 200_000;
/** About 100 MB for all mailboxes of a process. */
const MAX_KEPT_PAIRS = 5_000_000;

/** Sorted by (date, UID), lowest first. */
export interface ReceivedDates {
  readonly uidValidity: number;
  /** UIDs below this one are all in here, or gone. */
  readonly scannedTo: number;
  readonly uids: Float64Array;
  /** Milliseconds. */
  readonly dates: Float64Array;
}

interface Pair {
  readonly uid: number;
  readonly date: number;
}

export class ReceivedDatesCache {
  readonly #cached = new Map<string, ReceivedDates>();
  readonly #maxMessages: number;
  #pairs = 0;

  constructor(maxMessages = MAX_FOLDER_MESSAGES) {
    this.#maxMessages = maxMessages;
  }

  /**
   * The dates of the folder just opened on `connection`. Fetches only what is new since the last call. Throws
   * `filter_unsupported` beyond the limit.
   */
  async current(connection: ImapConnection, mailboxId: string, folder: OpenFolder): Promise<ReceivedDates> {
    if (folder.exists > this.#maxMessages) throw tooManyMessages(folder, this.#maxMessages);
    const key = `${mailboxId}\u0000${folder.path}`;
    const known = this.#cached.get(key);
    const fresh =
      known?.uidValidity === folder.uidValidity
        ? await this.#update(connection, folder, known)
        : await load(connection, folder);
    this.#keep(key, fresh);
    return fresh;
  }

  forget(mailboxId: string): void {
    for (const key of this.#cached.keys()) {
      if (key.startsWith(`${mailboxId}\u0000`)) this.#drop(key);
    }
  }

  /**
   * UIDs only grow: if nothing the connection has seen is newer than the cache, the cache holds every message it sees. An
   * equal count then means that none is gone, or that one is gone here that another connection still shows.
   */
  async #update(
    connection: ImapConnection,
    folder: OpenFolder,
    known: ReceivedDates,
  ): Promise<ReceivedDates> {
    const isScanned = folder.uidNext !== null && folder.uidNext <= known.scannedTo;
    const grown = isScanned ? known : await append(connection, folder, known);
    if (grown.uids.length === folder.exists) return grown;
    if (grown.uids.length < folder.exists) return await load(connection, folder);
    const present = new Set(await searchUids(connection, { all: true }));
    return keepOnly(grown, folder, present);
  }

  #keep(key: string, dates: ReceivedDates): void {
    this.#drop(key);
    this.#cached.set(key, dates);
    this.#pairs += dates.uids.length;
    for (const oldest of this.#cached.keys()) {
      if (this.#pairs <= MAX_KEPT_PAIRS || oldest === key) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#pairs -= this.#cached.get(key)?.uids.length ?? 0;
    this.#cached.delete(key);
  }
}

const tooManyMessages = ({ exists }: OpenFolder, limit: number): GatewayError =>
  new GatewayError(
    'filter_unsupported',
    `A folder of ${String(exists)} messages cannot be ordered without an index; the limit is ${String(limit)}. Name another folder.`,
    { details: { limit, messages: exists } },
  );

async function load(connection: ImapConnection, folder: OpenFolder): Promise<ReceivedDates> {
  const { arrivals } = connection;
  const pairs = folder.exists === 0 ? [] : await fetchPairs(connection, '1:*');
  const loaded = toDates(folder, pairs);
  connection.markScanned(arrivals, loaded.scannedTo);
  return loaded;
}

async function append(
  connection: ImapConnection,
  folder: OpenFolder,
  known: ReceivedDates,
): Promise<ReceivedDates> {
  const { arrivals } = connection;
  // `n:*` always includes the last message, even when its UID is below n (RFC 3501 6.4.8).
  const fetched = folder.exists === 0 ? [] : await fetchPairs(connection, `${String(known.scannedTo)}:*`);
  const fresh = fetched.filter(({ uid }) => uid >= known.scannedTo);
  const grown =
    fresh.length === 0
      ? { ...known, scannedTo: Math.max(known.scannedTo, folder.uidNext ?? 0) }
      : toDates(folder, [...pairsOf(known), ...fresh]);
  connection.markScanned(arrivals, grown.scannedTo);
  return grown;
}

function keepOnly(dates: ReceivedDates, folder: OpenFolder, present: ReadonlySet<number>): ReceivedDates {
  const found = toDates(
    folder,
    pairsOf(dates).filter(({ uid }) => present.has(uid)),
  );
  // Messages this connection does not see yet must not count as scanned.
  return { ...found, scannedTo: Math.min(dates.scannedTo, Math.max(found.scannedTo, folder.uidNext ?? 0)) };
}

const pairsOf = ({ uids, dates }: ReceivedDates): readonly Pair[] =>
  Array.from(uids, (uid, index) => ({ uid, date: dates[index] ?? 0 }));

function toDates(folder: OpenFolder, pairs: readonly Pair[]): ReceivedDates {
  const sorted = pairs.toSorted((a, b) => a.date - b.date || a.uid - b.uid);
  const highest = pairs.reduce((most, { uid }) => Math.max(most, uid), 0);
  return {
    uidValidity: folder.uidValidity,
    scannedTo: Math.max(highest + 1, folder.uidNext ?? 0),
    uids: Float64Array.from(sorted, ({ uid }) => uid),
    dates: Float64Array.from(sorted, ({ date }) => date),
  };
}

async function fetchPairs(connection: ImapConnection, range: string): Promise<readonly Pair[]> {
  return await connection.run(async (client) => {
    const pairs: Pair[] = [];
    for await (const { uid, internalDate } of client.fetch(
      range,
      { uid: true, internalDate: true },
      { uid: true },
    )) {
      // Not asked for: flags that another client changed.
      if (internalDate === undefined) continue;
      pairs.push({ uid, date: internalDate instanceof Date ? internalDate.getTime() : 0 });
    }
    return pairs;
  });
}
