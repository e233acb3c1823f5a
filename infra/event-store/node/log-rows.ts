/** SQL over `log.event`: pages of events for reads, and stream states for decisions. */
import type { QueryArrayConfig } from 'pg';
import type { KnownRecord } from './write-request.ts';
import { PAGE_BYTES, PAGE_EVENTS } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { NO_METADATA, parseStreamMetadata } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

export type Direction = 'forwards' | 'backwards';

type EventRow = [string, string, string, string, string, boolean, Buffer, Buffer, string];

/** `created` is stored in the unit of the protocol. */
const TICKS_PER_MS = 10_000;

const COLUMNS = 'position, stream, revision, id, type, is_json, data, metadata, created';

/** A page of a stream, limited by the number of events and by the bytes before each event. */
const streamPage = (bound: string, order: string): string => `
  (SELECT ${COLUMNS}, sum(octet_length(data) + octet_length(metadata)) OVER (ORDER BY revision ${order})
                      - octet_length(data) - octet_length(metadata) AS bytes_before
   FROM log.event WHERE stream = $1 AND revision ${bound} $2 ORDER BY revision ${order} LIMIT $3) AS page
  WHERE bytes_before < $4 ORDER BY revision ${order}`;

const STREAM_PAGE = { forwards: streamPage('>=', 'ASC'), backwards: streamPage('<=', 'DESC') };

const STATES = `
  SELECT s.stream, e.revision, m.revision, CASE WHEN m.is_json THEN m.data END
  FROM unnest($1::text[]) AS s (stream)
  LEFT JOIN LATERAL (SELECT revision FROM log.event WHERE stream = s.stream COLLATE "C"
                     ORDER BY revision DESC LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT revision, data, is_json FROM log.event WHERE stream = ('$$' || s.stream) COLLATE "C"
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
    createdMs: Number(row[8]) / TICKS_PER_MS,
  };
}

/** A pool or one connection of the driver. */
export interface Queries {
  query(config: QueryArrayConfig<unknown[]>): Promise<{ rows: unknown[][] }>;
}

export class LogRows {
  readonly #queries: Queries;
  readonly #prepared: boolean;

  /** `prepared` only on a direct connection: behind a pooler the next statement may use another session. */
  constructor(queries: Queries, options: { readonly prepared: boolean }) {
    this.#queries = queries;
    this.#prepared = options.prepared;
  }

  async #select<Row extends unknown[]>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const named = this.#prepared ? { name: `log_${name}` } : {};
    const { rows } = await this.#queries.query({ ...named, text, values, rowMode: 'array' });
    return rows as Row[];
  }

  async #events(name: string, from: string, values: unknown[]): Promise<readonly StoredRecord[]> {
    const rows = await this.#select<EventRow>(name, `SELECT ${COLUMNS} FROM ${from}`, values);
    return rows.map(toRecord);
  }

  /** The next events after a position, oldest first; empty only at the end of the log. */
  async allAfter(position: number): Promise<readonly StoredRecord[]> {
    const page = await this.#events(
      'all_after',
      'log.event WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3',
      [position, Math.max(position, 0) + PAGE_BYTES, PAGE_EVENTS],
    );
    if (page.length > 0) return page;
    return this.#events('next', 'log.event WHERE position > $1 ORDER BY position LIMIT 1', [position]);
  }

  /** The events before a position, newest first; empty only at the start of the log. */
  async allBefore(position: number): Promise<readonly StoredRecord[]> {
    const page = await this.#events(
      'all_before',
      'log.event WHERE position < $1 AND position >= $2 ORDER BY position DESC LIMIT $3',
      [position, position - PAGE_BYTES, PAGE_EVENTS],
    );
    if (page.length > 0) return page;
    return this.#events('previous', 'log.event WHERE position < $1 ORDER BY position DESC LIMIT 1', [
      position,
    ]);
  }

  /** A page of a stream from a revision, inclusive; empty only past the stream's end. */
  async streamFrom(
    stream: string,
    revision: number,
    direction: Direction,
    most = PAGE_EVENTS,
  ): Promise<readonly StoredRecord[]> {
    const values = [stream, revision, Math.min(most, PAGE_EVENTS), PAGE_BYTES];
    return direction === 'forwards'
      ? this.#events('stream_up', STREAM_PAGE.forwards, values)
      : this.#events('stream_down', STREAM_PAGE.backwards, values);
  }

  /** The first revision of a stream stored since an instant; head + 1 if none. Revisions have no gaps. */
  async firstSince(stream: string, head: number, sinceMs: number): Promise<number> {
    let [low, high] = [0, head + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const rows = await this.#select<[string]>(
        'created',
        'SELECT created FROM log.event WHERE stream = $1 AND revision = $2',
        [stream, middle],
      );
      if (Number(rows[0]?.[0] ?? 0) / TICKS_PER_MS < sinceMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Ids and places of a stream's events from a revision. */
  async knownFrom(stream: string, revision: number, count: number): Promise<readonly KnownRecord[]> {
    const rows = await this.#select<[string, string, string, string]>(
      'known_from',
      `SELECT id, revision, position, created FROM log.event WHERE stream = $1 AND revision >= $2 AND revision < $3
       ORDER BY revision`,
      [stream, revision, revision + count],
    );
    return rows.map(([id, at, position, created]) => ({
      id,
      stream,
      revision: Number(at),
      position: Number(position),
      createdMs: Number(created) / TICKS_PER_MS,
    }));
  }

  /** Position of the newest event; 0 for an empty log. */
  async lastPosition(): Promise<number> {
    const rows = await this.#select<[string]>(
      'last',
      'SELECT position FROM log.event ORDER BY position DESC LIMIT 1',
      [],
    );
    return Number(rows[0]?.[0] ?? 0);
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
