/** Content that outlived its draft: the discard was cut off before it was erased. */
import type { Sql } from '../../commands/ports/ports.ts';

/** Drafts discarded since then that still hold content. */
export async function listLeftContent(sql: Sql, since: Date, limit: number): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `select d.id from read.draft d
     where d.status = 'discarded' and d.updated_at > $1
       and exists (select 1 from vault.content c where c.draft_id = d.id) limit $2`,
    [since, limit],
  );
  return rows.map(({ id }) => id);
}
