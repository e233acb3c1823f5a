/** The anchor: one connection to the same Postgres inserts one row per transaction, sequentially. */
import { randomUUID } from 'node:crypto';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';

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
