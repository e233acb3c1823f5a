/** SQL over `log.event`: the pages reads are made of, and the state a stream is decided on. */
import type { QueryArrayConfig } from 'pg';
import type { KnownRecord } from './write-request.ts';
import { MAX_RECORD_SIZE } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { NO_METADATA, parseStreamMetadata } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

export type Direction = 'forwards' | 'backwards';

export const PAGE_EVENTS = 1000;

/** Positions are byte offsets, so a span of them bounds the bytes of a page; it always holds at least one record. */
const PAGE_SPAN = 2 * MAX_RECORD_SIZE;

type EventRow = [string, string, string, string, string, boolean, Buffer, Buffer, string];

const COLUMNS = 'position, stream, revision, id, type, is_json, data, metadata, created';

const STATES = `
  SELECT s.stream, e.revision, m.revision, m.data
  FROM unnest($1::text[]) AS s (stream)
  LEFT JOIN LATERAL (SELECT revision FROM log.event WHERE stream = s.stream COLLATE "C"
                     ORDER BY revision DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT revision, data FROM log.event WHERE stream = ('$$' || s.stream) COLLATE "C"
                     ORDER BY revision DESC LIMIT 1) m ON true`;

function toRecord(row: EventRow): StoredRecord {
  return {
    position: Number(row[0]),
    stream: row[1],
    revision: Number(row[2]),
    id: row[3],
    type: row[4],
    isJson: row[5],
    data: row[6],
    metadata: row[7],
    createdMs: Number(row[8]) / 10_000,
  };
}

/** A pool or one connection of the driver. */
export interface Queries {
  query(config: QueryArrayConfig<unknown[]>): Promise<{ rows: unknown[][] }>;
}

export class LogRows {
  readonly #queries: Queries;
  readonly #prepared: boolean;

  /** `prepared` only on a direct connection: a pooler may lend the next statement another session. */
  constructor(queries: Queries, options: { readonly prepared: boolean }) {
    this.#queries = queries;
    this.#prepared = options.prepared;
  }

  async #select<Row extends unknown[]>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const named = this.#prepared ? { name: `log_${name}` } : {};
    const { rows } = await this.#queries.query({ ...named, text, values, rowMode: 'array' });
    return rows as Row[];
  }

  async #events(name: string, where: string, values: unknown[]): Promise<readonly StoredRecord[]> {
    const rows = await this.#select<EventRow>(name, `SELECT ${COLUMNS} FROM log.event ${where}`, values);
    return rows.map(toRecord);
  }

  /** The next events after a position, oldest first; empty only at the end of the log. */
  async allAfter(position: number, limit = PAGE_EVENTS): Promise<readonly StoredRecord[]> {
    return this.#events('all_after', 'WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3', [
      position,
      Math.max(position, 0) + PAGE_SPAN,
      limit,
    ]);
  }

  /** The events before a position, newest first; empty only at the start of the log. */
  async allBefore(position: number, limit = PAGE_EVENTS): Promise<readonly StoredRecord[]> {
    return this.#events(
      'all_before',
      'WHERE position < $1 AND position >= $2 ORDER BY position DESC LIMIT $3',
      [position, position - PAGE_SPAN, limit],
    );
  }

  /** Events of a stream from a revision on, that revision included. */
  async streamFrom(
    stream: string,
    revision: number,
    direction: Direction,
    limit = PAGE_EVENTS,
  ): Promise<readonly StoredRecord[]> {
    return direction === 'forwards'
      ? this.#events('stream_up', 'WHERE stream = $1 AND revision >= $2 ORDER BY revision LIMIT $3', [
          stream,
          revision,
          limit,
        ])
      : this.#events('stream_down', 'WHERE stream = $1 AND revision <= $2 ORDER BY revision DESC LIMIT $3', [
          stream,
          revision,
          limit,
        ]);
  }

  /** Ids and places of a stream's events from a revision on. */
  async knownFrom(stream: string, revision: number, count: number): Promise<readonly KnownRecord[]> {
    const rows = await this.#select<[string, string, string]>(
      'known_from',
      `SELECT id, revision, position FROM log.event WHERE stream = $1 AND revision >= $2 AND revision < $3
       ORDER BY revision`,
      [stream, revision, revision + count],
    );
    return rows.map(([id, at, position]) => ({
      id,
      stream,
      revision: Number(at),
      position: Number(position),
    }));
  }

  async holdsPosition(position: number): Promise<boolean> {
    const rows = await this.#select('holds', 'SELECT 1 FROM log.event WHERE position = $1', [position]);
    return rows.length === 1;
  }

  /** States of streams and their metadata streams in one query. */
  async states(streams: readonly string[]): Promise<Map<string, StreamState>> {
    const rows = await this.#select<[string, string | null, string | null, Buffer | null]>('states', STATES, [
      streams,
    ]);
    return new Map(
      rows.map(([stream, head, metaHead, metadata]) => [
        stream,
        {
          head: head === null ? -1 : Number(head),
          metaHead: metaHead === null ? -1 : Number(metaHead),
          metadata: metadata === null ? NO_METADATA : parseStreamMetadata(metadata),
        },
      ]),
    );
  }
}
