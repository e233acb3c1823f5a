/** What one person did, in every organisation, also those the person has left, and the person's own trail. */
import type { Sql } from '../commands/ports/ports.ts';
import type { OwnedAgent, Trails } from '../commands/ports/trails.ts';
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

/** Ids of agents are a range of the index; a body is canonical, so the owner is spelled in one way. */
const AGENTS = `select distinct trail as org_id, resource_id as id from read.audit
  where trail = any($1) and resource_id >= 'agt' and resource_id < 'agu' and starts_with(resource_id, 'agt_')
    and type in ('AgentCreated', 'AgentChanged') and strpos(body, $2) > 0
  order by 1, 2`;

async function agentsFrom(
  sql: Sql,
  userId: string,
  orgIds: readonly string[],
): Promise<readonly OwnedAgent[]> {
  const owner = `"owner_id":${JSON.stringify(userId)}`;
  const rows = await sql.query<{ org_id: string; id: string }>(AGENTS, [orgIds, owner]);
  return rows.map(({ id, org_id: orgId }) => ({ id, orgId }));
}

/** What the lines say of people. */
export const trailsIn = (sql: Sql): Trails => ({
  organisationsOf: (userId) => withLines(() => organisationsFrom(sql, userId, '')),
  agentsOf: (userId, orgIds) => withLines(() => agentsFrom(sql, userId, orgIds)),
});

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
