/**
 * Tables, checkpoints and views of the read models. A table has its version in its name. The view with the
 * plain name points to the version that queries read, and moves when a newer one has caught up.
 */
import type { Sql } from '../../commands/ports/ports.ts';
import { checkpointKey, type Projection, tableName } from '../../projections/projection.ts';

/** Any fixed number: gateways that start at the same time create tables one after the other. */
export const DDL_LOCK = 7_303_180_124;

/** How long a swap waits for queries that still read the old table. */
const SWAP_LOCK_TIMEOUT = '3s';

export const tableOf =
  (projection: Projection) =>
  (table: string): string =>
    tableName(table, projection);

/**
 * Creates what is missing: a projection without tables or checkpoint starts empty. Complete projections are
 * unchanged.
 */
export async function prepareTables(sql: Sql, projections: readonly Projection[]): Promise<void> {
  await sql.transaction(async (inside) => {
    await inside.query('select pg_advisory_xact_lock($1)', [DDL_LOCK]);
    // The schema may have been dropped to rebuild everything; its migration does not run twice.
    await inside.query('create schema if not exists read');
    await inside.query(
      `create table if not exists read.checkpoint (projection text primary key, version int not null,
         position bigint not null, updated_at timestamptz not null default now())`,
    );
    for (const projection of projections) await prepare(inside, projection);
  });
}

async function prepare(sql: Sql, projection: Projection): Promise<void> {
  const key = checkpointKey(projection);
  const [{ complete } = { complete: false }] = await sql.query<{ complete: boolean }>(
    `select exists (select from read.checkpoint where projection = $1)
       and not exists (select from unnest($2::text[]) as t where to_regclass(t) is null) as complete`,
    [key, projection.tables.map(tableOf(projection))],
  );
  if (!complete) await startEmpty(sql, projection);
  // No query reads a copy before it replaces the live tables.
  if (projection.slot !== undefined) return;
  for (const table of projection.tables) {
    if ((await liveVersion(sql, table)) === null) await pointView(sql, projection, table);
  }
}

async function startEmpty(sql: Sql, projection: Projection): Promise<void> {
  const key = checkpointKey(projection);
  for (const table of projection.tables)
    await sql.query(`drop table if exists ${tableOf(projection)(table)} cascade`);
  for (const statement of projection.create(tableOf(projection))) await sql.query(statement);
  if (projection.slot === undefined) await makeIndexes(sql, projection);
  await sql.query('delete from work.parked_event where projection = $1', [key]);
  await sql.query(
    `insert into read.checkpoint (projection, version, position) values ($1, $2, -1)
     on conflict (projection) do update set position = -1, updated_at = now()`,
    [key, projection.version],
  );
}

/** Creates the indexes that only queries use. */
export async function makeIndexes(sql: Sql, projection: Projection): Promise<void> {
  for (const statement of projection.indexes?.(tableOf(projection)) ?? []) await sql.query(statement);
}

/** The version that queries read; null without a view. */
export async function liveVersion(sql: Sql, table: string): Promise<number | null> {
  const [row] = await sql.query<{ version: string | null }>(
    `select substring(definition from '${table}_v([0-9]+)') as version
     from pg_views where schemaname = 'read' and viewname = $1`,
    [table],
  );
  return row?.version == null ? null : Number(row.version);
}

/** SQLSTATE of a view whose columns cannot be replaced in place. */
const INVALID_TABLE_DEFINITION = '42P16';

/** Replaced in place when only columns were added, so that waiting queries continue; else recreated. */
export async function pointView(sql: Sql, projection: Projection, table: string): Promise<void> {
  const definition = `view read.${table} as select * from ${tableOf(projection)(table)}`;
  try {
    await sql.transaction((inside) => inside.query(`create or replace ${definition}`));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === INVALID_TABLE_DEFINITION)) throw error;
    await sql.query(`drop view read.${table}`);
    await sql.query(`create ${definition}`);
  }
}

/** True while queries read an older version than this one. A newer version of a newer gateway stays. */
export async function isBehindView(sql: Sql, { tables, version }: Projection): Promise<boolean> {
  for (const table of tables) {
    const live = await liveVersion(sql, table);
    if (live !== null && live < version) return true;
  }
  return false;
}

/** Points the views to the tables of this version, in one transaction. */
export async function swapViews(sql: Sql, projection: Projection): Promise<void> {
  await sql.transaction(async (inside) => {
    await inside.query(`set local lock_timeout = '${SWAP_LOCK_TIMEOUT}'`);
    for (const table of projection.tables) await pointView(inside, projection, table);
  });
}

/** Drops the tables of older versions that no gateway leads and no query reads. */
export async function dropOlderVersions(sql: Sql, { name, tables, version }: Projection): Promise<void> {
  const older = await sql.query<{ projection: string; version: number }>(
    `select projection, version from read.checkpoint where projection = $1 || '_v' || version and version < $2`,
    [name, version],
  );
  for (const old of older) {
    await sql.transaction(async (inside) => {
      const [lock] = await inside.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1) as free', [
        lockNumber(old.projection),
      ]);
      if (lock?.free !== true) return;
      for (const table of tables) await inside.query(`drop table if exists ${tableName(table, old)}`);
      await inside.query('delete from read.checkpoint where projection = $1', [old.projection]);
    });
  }
}

/** The advisory lock of a projection's leader: FNV-1a of its key, in the range of a `bigint`. */
export function lockNumber(key: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(`projection:${key}`))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return String(BigInt.asIntN(64, hash));
}
