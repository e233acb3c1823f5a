/** What one person did, in every organisation, also those the person has left, and the person's own trail. */
import type { Sql } from '../commands/ports/ports.ts';
import { type AuditEntry, listAudit, withLines } from './audit-queries.ts';

interface Act {
  /** Null in the person's own trail. */
  readonly orgId: string | null;
  readonly entry: AuditEntry;
}

interface ActsPage {
  /** The last line of the previous page. */
  readonly after: { readonly trail: string; readonly seq: number } | null;
  readonly limit: number;
}

/** Steps from organisation to organisation through the index, so that the lines of others are not read. */
const ORGANISATIONS = `with recursive org as (
    (select trail from read.audit where trail >= greatest($2, 'org_') and trail < 'org~' order by trail limit 1)
    union all
    select (select line.trail from read.audit line where line.trail > org.trail and line.trail < 'org~'
        order by line.trail limit 1)
      from org where org.trail is not null
  )
  select trail as org_id from org
   where exists (select from read.audit line where line.trail = org.trail and line.actor_id = $1)
   order by trail`;

const organisationsFrom = async (sql: Sql, userId: string, first: string): Promise<readonly string[]> =>
  (await sql.query<{ org_id: string }>(ORGANISATIONS, [userId, first])).map(({ org_id }) => org_id);

/** The organisations whose trail has lines of the person. Throws `index_building`. */
export const listOrganisationsOf = (sql: Sql, userId: string): Promise<readonly string[]> =>
  withLines(() => organisationsFrom(sql, userId, ''));

/** Ordered by organisation, the own trail last, oldest first in each; at most `limit`. */
export async function listActsOf(
  sql: Sql,
  userId: string,
  { after, limit }: ActsPage,
): Promise<readonly Act[]> {
  const isOwn = after?.trail === userId;
  const organisations = isOwn ? [] : await organisationsFrom(sql, userId, after?.trail ?? '');
  const acts: Act[] = [];
  for (const trail of [...organisations, userId]) {
    if (acts.length >= limit) break;
    const page = {
      order: 'asc',
      after: trail === after?.trail ? after.seq : null,
      limit: limit - acts.length,
    } as const;
    // All of the own trail is about the person.
    const found = await listAudit(sql, trail, trail === userId ? {} : { actor: userId }, page);
    acts.push(...found.map((entry) => ({ orgId: trail === userId ? null : trail, entry })));
  }
  return acts;
}
