/** Which erasures no line of the trail tells yet, and how many a trail has. */
import type { Sql } from '../commands/ports/ports.ts';
import { withLines } from './audit-queries.ts';

export interface ErasedOwner {
  readonly ownerId: string;
  /** Where its line belongs; the last one, if there are several. */
  readonly trail: string;
}

/** The owners without a `PersonalDataErased` in their trail. Throws `index_building`. */
export async function listUntoldErasures(
  sql: Sql,
  owners: readonly ErasedOwner[],
): Promise<ReadonlySet<string>> {
  const rows = await withLines(() =>
    sql.query<{ owner_id: string }>(
      `select owner_id from unnest($1::text[], $2::text[]) as erased (owner_id, trail)
        where not exists (select from read.audit line
          where line.trail = erased.trail and line.resource_id = owner_id and line.type = 'PersonalDataErased')`,
      [owners.map(({ ownerId }) => ownerId), owners.map(({ trail }) => trail)],
    ),
  );
  return new Set(rows.map(({ owner_id: id }) => id));
}

/**
 * How many owners with a line of the trail, up to that place, have no key left: as actor, as what a line is about, or as its mailbox. Whatever is
 * sealed in a trail belongs to one of these. Throws `index_building`.
 */
export async function countErasedIn(sql: Sql, trail: string, size: number): Promise<number> {
  const has = (column: string): string =>
    `exists (select from read.audit where trail = $1 and ${column} = owner_id and seq <= $2)`;
  const [row] = await withLines(() =>
    sql.query<{ count: string }>(
      `select count(*) as count from vault.personal_key
        where erased_at is not null and (${['resource_id', 'actor_id', 'mailbox_id'].map(has).join(' or ')})`,
      [trail, size],
    ),
  );
  return Number(row?.count ?? 0);
}
