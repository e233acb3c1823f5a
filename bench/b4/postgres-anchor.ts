/**
 * The anchors: one connection to the same Postgres inserts one row per transaction, or reads the rows of the
 * log in order.
 */
import { randomUUID } from 'node:crypto';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';

const PAGE = 1_000;

/**
 * Rows of the log per second, read in pages from its begin until there were at least that many; a short log is
 * read repeatedly.
 */
export async function measureRowsRead(databaseUrl: string, atLeast: number): Promise<number> {
  const client = await openDirectConnection(databaseUrl, 'anchor of the event store benchmark');
  try {
    const readPage = async (after: string): Promise<readonly unknown[][]> => {
      const { rows } = await client.query<unknown[]>({
        name: 'anchor_read',
        text: `SELECT position, stream, revision, id, type, is_json, data, metadata, created
               FROM log.event WHERE position > $1 ORDER BY position LIMIT $2`,
        values: [after, PAGE],
        rowMode: 'array',
      });
      return rows;
    };
    await readPage('-1');
    const startedAt = performance.now();
    let [read, after] = [0, '-1'];
    while (read < atLeast) {
      const page = await readPage(after);
      read += page.length;
      after = page.length < PAGE ? '-1' : String(page.at(-1)?.[0]);
    }
    return read / ((performance.now() - startedAt) / 1_000);
  } finally {
    await client.end();
  }
}

/** Rows per second, with the columns and sizes of an event. */
export async function measureSingleCommits(databaseUrl: string, rows: number): Promise<number> {
  const client = await openDirectConnection(databaseUrl, 'anchor of the event store benchmark');
  try {
    await client.query(
      'CREATE TABLE IF NOT EXISTS public.anchor (position bigint PRIMARY KEY, stream text, revision bigint, id uuid, data bytea, UNIQUE (stream, revision))',
    );
    await client.query('TRUNCATE public.anchor');
    const data = Buffer.alloc(286, 120);
    const insert = (position: number) =>
      client.query({
        name: 'anchor',
        text: 'INSERT INTO public.anchor VALUES ($1, $2, 0, $3, $4)',
        values: [position, `measured-${randomUUID()}`, randomUUID(), data],
      });
    await insert(-1);
    const startedAt = performance.now();
    for (let position = 0; position < rows; position += 1) await insert(position);
    return rows / ((performance.now() - startedAt) / 1_000);
  } finally {
    await client.end();
  }
}
