/** What one person did, in every organisation, also those the person has left. */
import type { Sql } from '../commands/ports/ports.ts';
import { type AuditEntry, listAudit } from './audit-queries.ts';

interface Act {
  readonly orgId: string;
  readonly entry: AuditEntry;
}

interface ActsPage {
  /** The last line of the previous page. */
  readonly after: { readonly org: string; readonly seq: number } | null;
  readonly limit: number;
}

/** Steps from organisation to organisation through the index, so that the lines of others are not read. */
const ORGANISATIONS = `with recursive org as (
    (select org_id from read.audit where org_id >= $2 order by org_id limit 1)
    union all
    select (select line.org_id from read.audit line where line.org_id > org.org_id order by line.org_id limit 1)
      from org where org.org_id is not null
  )
  select org_id from org
   where exists (select from read.audit line where line.org_id = org.org_id and line.actor_id = $1)
   order by org_id`;

/** Ordered by organisation, oldest first in each; at most `limit`. */
export async function listActsOf(
  sql: Sql,
  userId: string,
  { after, limit }: ActsPage,
): Promise<readonly Act[]> {
  const organisations = await sql.query<{ org_id: string }>(ORGANISATIONS, [userId, after?.org ?? '']);
  const acts: Act[] = [];
  for (const { org_id: orgId } of organisations) {
    if (acts.length >= limit) break;
    const page = {
      order: 'asc',
      after: orgId === after?.org ? after.seq : null,
      limit: limit - acts.length,
    } as const;
    const found = await listAudit(sql, orgId, { actor: userId }, page);
    acts.push(...found.map((entry) => ({ orgId, entry })));
  }
  return acts;
}
