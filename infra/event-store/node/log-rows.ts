/** SQL over `log.event`: the pages reads are made of, and the state a stream is decided on. */
import type { Pool } from 'pg';
import type { KnownRecord } from './write-request.ts';
import { MAX_RECORD_SIZE } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { EMPTY_STREAM, NO_METADATA, parseStreamMetadata } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

export type Direction = 'forwards' | 'backwards';

export const PAGE_EVENTS = 1000;

/** Positions are byte offsets, so a span of them bounds the bytes of a page; it always holds at least one record. */
const PAGE_SPAN = 2 * MAX_RECORD_SIZE;

type EventRow = [string, string, string, string, string, boolean, Buffer, Buffer, string];

const COLUMNS = 'position, stream, revision, id, type, is_json, data, metadata, created';

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

export class LogRows {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async #events(name: string, text: string, values: readonly number[] | readonly (number | string)[]) {
    const { rows } = await this.#pool.query<EventRow>({
      name: `log_${name}`,
      text: `SELECT ${COLUMNS} FROM log.event ${text}`,
      values: [...values],
      rowMode: 'array',
    });
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
    const { rows } = await this.#pool.query<{ id: string; revision: string; position: string }>({
      name: 'log_known_from',
      text: `SELECT id, revision, position FROM log.event WHERE stream = $1 AND revision >= $2 AND revision < $3
             ORDER BY revision`,
      values: [stream, revision, revision + count],
    });
    return rows.map((row) => ({
      id: row.id,
      stream,
      revision: Number(row.revision),
      position: Number(row.position),
    }));
  }

  async holdsPosition(position: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query('SELECT FROM log.event WHERE position = $1', [position]);
    return rowCount === 1;
  }

  /** States of streams and their metadata streams in one query. */
  async states(streams: readonly string[]): Promise<Map<string, StreamState>> {
    const { rows } = await this.#pool.query<{
      stream: string;
      head: string | null;
      meta_head: string | null;
      meta: Buffer | null;
    }>({
      name: 'log_states',
      text: `SELECT s.stream, e.revision AS head, m.revision AS meta_head, m.data AS meta
             FROM unnest($1::text[]) AS s (stream)
             LEFT JOIN LATERAL (SELECT revision FROM log.event WHERE stream = s.stream COLLATE "C"
                                ORDER BY revision DESC LIMIT 1) e ON true
             LEFT JOIN LATERAL (SELECT revision, data FROM log.event WHERE stream = ('$$' || s.stream) COLLATE "C"
                                ORDER BY revision DESC LIMIT 1) m ON true`,
      values: [streams],
    });
    const states = new Map(streams.map((stream) => [stream, EMPTY_STREAM]));
    for (const row of rows) {
      states.set(row.stream, {
        head: row.head === null ? -1 : Number(row.head),
        metaHead: row.meta_head === null ? -1 : Number(row.meta_head),
        metadata: row.meta === null ? NO_METADATA : parseStreamMetadata(row.meta),
      });
    }
    return states;
  }
}
