/**
 * The only connection that may write. It holds the session advisory lock, and every commit compares and sets
 * `log.node_epoch`: a writer that lost its lock to another node cannot commit, even before it notices.
 */
import type { Client } from 'pg';
import { within } from '../../concurrency/within.ts';
import { endConnection } from '../../postgres/direct-connection.ts';
import { LogRows } from './log-rows.ts';
import { boolArray, byteaArray, int8Array, textArray, uuidArray } from './postgres-arrays.ts';
import type { StoredRecord } from './stored-record.ts';

/** Any number, equal on every node: `log` spelled in bytes. */
const WRITER_LOCK = 0x6c_6f_67;

const STATEMENT_TIMEOUT_MS = 10_000;

/** The server ends a slow statement with its timeout, but a frozen machine does not. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000;

/** The confirmation of an idle writer reads one row: a slower connection counts as dead. */
const CONFIRM_TIMEOUT_MS = 4_000;

export class WriterLockHeld extends Error {
  /** The newest epoch: if it is above this node's last one, another node has written since. */
  readonly epoch: number;

  constructor(epoch: number) {
    super('Another event node writes to this database; stop it first, or give this one its own database.');
    this.name = 'WriterLockHeld';
    this.epoch = epoch;
  }
}

/** Another writer has taken over, or the end of the log differs from this writer's. */
export class WriterFenced extends Error {
  constructor() {
    super('The event log has another writer.');
    this.name = 'WriterFenced';
  }
}

const COMMIT = `
  WITH fence AS (
    UPDATE log.node_epoch SET log_end = $3 WHERE epoch = $1 AND log_end = $2
      AND NOT EXISTS (SELECT FROM log.event WHERE stream = ANY ($13::text[])) RETURNING 1
  )
  INSERT INTO log.event (position, stream, revision, id, type, is_json, data, metadata, created)
  SELECT * FROM unnest($4::bigint[], $5::text[], $6::bigint[], $7::uuid[], $8::text[], $9::boolean[],
                       $10::bytea[], $11::bytea[], $12::bigint[])
  WHERE EXISTS (SELECT FROM fence)`;

export class WriterSession {
  /** Reads over the writer's connection: decisions use only what this session can still commit to. */
  readonly rows: LogRows;
  readonly epoch: number;
  /** Position of the newest event when the session was opened. */
  readonly lastPosition: number;
  readonly #client: Client;
  #logEnd: number;
  #isBusy = false;

  private constructor(client: Client, rows: LogRows, facts: OpeningFacts) {
    this.rows = rows;
    this.epoch = facts.epoch;
    this.lastPosition = facts.lastPosition;
    this.#client = client;
    this.#logEnd = facts.logEnd;
  }

  /**
   * Takes the lock and a new epoch on the given connection. Throws `WriterLockHeld`, or the driver's error.
   * `onLost` is called when the connection ends unexpectedly.
   */
  static async open(client: Client, onLost: (error: Error) => void): Promise<WriterSession> {
    client.on('error', ignore);
    try {
      const logRows = new LogRows({ query: (config) => answered(client.query(config)) }, { prepared: true });
      const facts = await answered(takeOver(client));
      const lastPosition = await logRows.lastPosition();
      // Last: a session that never opened cannot be lost.
      client.once('error', onLost);
      client.once('end', () => {
        onLost(new Error('The database closed the writer connection.'));
      });
      return new WriterSession(client, logRows, { ...facts, lastPosition });
    } catch (error) {
      await endConnection(client);
      throw error;
    }
  }

  /** The position of the next event. */
  get logEnd(): number {
    return this.#logEnd;
  }

  /**
   * Writes records and moves the end of the log, in one statement and one transaction. Returns false and
   * writes nothing when one of `takenForEmpty` has events or metadata. Throws `WriterFenced`; after any other
   * error the outcome is unknown and the session must be given up.
   */
  async commit(
    records: readonly StoredRecord[],
    logEnd: number,
    takenForEmpty: readonly string[] = [],
  ): Promise<boolean> {
    const { rowCount } = await this.#query(
      this.#client.query({
        name: 'log_commit',
        text: COMMIT,
        values: [
          this.epoch,
          this.#logEnd,
          logEnd,
          int8Array(records.map((r) => r.position)),
          textArray(records.map((r) => r.stream)),
          int8Array(records.map((r) => r.revision)),
          uuidArray(records.map((r) => r.id)),
          textArray(records.map((r) => r.type)),
          boolArray(records.map((r) => r.isJson)),
          byteaArray(records.map((r) => r.data)),
          byteaArray(records.map((r) => r.metadata)),
          int8Array(records.map((r) => r.createdMs * 10_000)),
          textArray(takenForEmpty.flatMap((stream) => [stream, `$$${stream}`])),
        ],
      }),
    );
    // Without `takenForEmpty` this row count can only come from the fence.
    if (rowCount === 0 && takenForEmpty.length > 0) return false;
    if (rowCount !== records.length) throw new WriterFenced();
    this.#logEnd = logEnd;
    return true;
  }

  /**
   * Verifies that this writer may still commit, unless a running commit verifies it already. Throws
   * `WriterFenced`, or the driver's error.
   */
  async confirm(): Promise<void> {
    if (this.#isBusy) return;
    const text = 'SELECT 1 FROM log.node_epoch WHERE epoch = $1';
    const { rowCount } = await this.#query(
      this.#client.query({ name: 'log_confirm', text, values: [this.epoch] }),
      CONFIRM_TIMEOUT_MS,
    );
    if (rowCount !== 1) throw new WriterFenced();
  }

  async #query<T>(answer: Promise<T>, timeoutMs?: number): Promise<T> {
    this.#isBusy = true;
    try {
      return await answered(answer, timeoutMs);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Ends the connection and with it the lock. */
  async close(): Promise<void> {
    this.#client.removeAllListeners('end').removeAllListeners('error').on('error', ignore);
    await endConnection(this.#client);
  }
}

interface OpeningFacts {
  readonly epoch: number;
  readonly logEnd: number;
  readonly lastPosition: number;
}

/** Takes the lock and the next epoch. */
async function takeOver(client: Client): Promise<Omit<OpeningFacts, 'lastPosition'>> {
  // A plan made for an empty log would keep scanning all of it; every query here has an index.
  await client.query(`SET statement_timeout = ${String(STATEMENT_TIMEOUT_MS)}; SET enable_seqscan = off`);
  const { rows: locks } = await client.query<{ held: boolean; epoch: string | null }>(
    'SELECT pg_try_advisory_lock($1::bigint) AS held, (SELECT epoch FROM log.node_epoch) AS epoch',
    [WRITER_LOCK],
  );
  if (locks[0]?.held !== true) throw new WriterLockHeld(Number(locks[0]?.epoch ?? 0));
  const { rows } = await client.query<{ epoch: string; log_end: string }>(
    'UPDATE log.node_epoch SET epoch = epoch + 1 RETURNING epoch, log_end',
  );
  const row = rows[0];
  if (!row) throw new Error('log.node_epoch has no row; run the migrations.');
  return { epoch: Number(row.epoch), logEnd: Number(row.log_end) };
}

const answered = <T>(answer: Promise<T>, timeoutMs = ANSWER_TIMEOUT_MS): Promise<T> =>
  within(timeoutMs, answer, 'The database does not answer the writer.');

const ignore = (): void => undefined;
