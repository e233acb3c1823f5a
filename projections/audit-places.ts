/** Where the lines of given events are in a trail. */
import type { Sql } from '../commands/ports/ports.ts';
import { withLines } from './audit-queries.ts';

/** The line of each event that the trail has, by the id of the event. */
export async function placesOf(
  sql: Sql,
  trail: string,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await withLines(() =>
    sql.query<{ event_id: string; seq: string }>(
      'select event_id, seq from read.audit where trail = $1 and event_id = any($2::uuid[])',
      [trail, eventIds],
    ),
  );
  return new Map(rows.map(({ event_id: id, seq }) => [id, Number(seq)]));
}

/** Reads of one approval are many only where somebody asks again and again: the first ones count. */
const MOST_READS = 1_000;

/** The lines that say who opened what an approval is about, in order. */
export async function readsOfApproval(
  sql: Sql,
  trail: string,
  approvalId: string,
): Promise<readonly number[]> {
  const rows = await withLines(() =>
    sql.query<{ seq: string }>(
      `select seq from read.audit where trail = $1 and approval_id = $2 and type = 'BodiesRead'
        order by seq limit ${String(MOST_READS)}`,
      [trail, approvalId],
    ),
  );
  return rows.map(({ seq }) => Number(seq));
}
