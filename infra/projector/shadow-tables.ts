/**
 * The tables that a rebuild fills beside the live ones: same names, in a separate schema. A change of schema
 * moves them into place with their indexes and constraints, and dropping the schema removes what a killed
 * rebuild left.
 */
import type { Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Open, type Projection } from '../../projections/projection.ts';
import { Fenced } from './checkpoints.ts';
import { DDL_LOCK, makeIndexes, pointView, prepareTables, tableOf } from './projection-tables.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import { applyBatch } from './apply-batch.ts';

/** How long the swap, and new readers behind it, wait for a reader of the table; then the swap is retried. */
const LOCK_TIMEOUT = '1s';

/** Maximum events applied inside the swap: the live leader waits meanwhile. */
const MOST_INSIDE = 1_000;

/** SQLSTATE: lock timeout; deadlock. */
const TRY_AGAIN_STATES = ['55P03', '40P01'];

interface SwapParts {
  readonly sql: Sql;
  readonly events: Pick<EventStore, 'headPosition' | 'readAll'>;
  readonly open: Open;
}

class TooFarBehind extends Error {}

/**
 * Puts the copies in place at or after the position of the live models, so that no reader sees less than
 * before. Returns false and changes nothing when tables are in use, or when more events are missing than one
 * transaction should apply. Throws `Fenced`, `store_unavailable`, or the error of the database.
 */
export async function swapShadows(parts: SwapParts, pairs: readonly Pair[]): Promise<boolean> {
  try {
    await parts.sql.transaction(async (inside) => {
      await inside.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      await inside.query('select pg_advisory_xact_lock($1)', [DDL_LOCK]);
      const positions = await lockCheckpoints(inside, pairs);
      await reachLive({ ...parts, sql: inside }, pairs, positions);
      for (const pair of pairs) await putInPlace(inside, pair);
    });
    return true;
  } catch (error) {
    if (error instanceof TooFarBehind) return false;
    if (error instanceof Error && 'code' in error && TRY_AGAIN_STATES.includes(String(error.code)))
      return false;
    throw error;
  }
}

/** Applies to the copies the events that only the live models have. */
async function reachLive(
  { sql, events, open }: SwapParts,
  pairs: readonly Pair[],
  positions: ReadonlyMap<string, Position>,
): Promise<void> {
  const projections = pairs.map(({ shadow }) => shadow);
  const heldBy = (key: string): Position => positions.get(key) ?? -1n;
  const checkpoints = new Map(projections.map(checkpointKey).map((key) => [key, heldBy(key)]));
  const [from = -1n] = [...checkpoints.values()].toSorted(ascending);
  const to =
    pairs
      .map(({ live }) => heldBy(checkpointKey(live)))
      .toSorted(ascending)
      .at(-1) ?? -1n;
  if (to <= from) return;
  // Beyond the end of the log: the live models belong to another log, and only the copies are true.
  if (to > (await events.headPosition())) return;
  const missing = await eventsBetween(events, from, to);
  await applyBatch(sql, open, { projections, checkpoints, events: missing, to });
}

const ascending = (a: Position, b: Position): number => (a < b ? -1 : a > b ? 1 : 0);

/** Events after `from`, up to and including `to`. Throws `TooFarBehind`. */
async function eventsBetween(
  events: SwapParts['events'],
  from: Position,
  to: Position,
): Promise<readonly StoredEvent[]> {
  const page = await events.readAll(from < 0n ? null : from, MOST_INSIDE);
  const upTo = page.filter(({ position }) => position <= to);
  if (upTo.at(-1)?.position !== to) throw new TooFarBehind();
  return upTo;
}

const SCHEMA = 'rebuild';

/** A live projection and its copy. */
export interface Pair {
  readonly live: Projection;
  readonly shadow: Projection;
}

export const pairOf = (live: Projection): Pair => ({ live, shadow: { ...live, slot: SCHEMA } });

/** Drops the tables of this rebuild, or of one that was killed. */
export async function dropShadows(sql: Sql): Promise<void> {
  await sql.transaction(async (inside) => {
    await inside.query(`drop schema if exists ${SCHEMA} cascade`);
    for (const table of ['read.checkpoint', 'work.parked_event'])
      await inside.query(`delete from ${table} where projection like '${SCHEMA}.%'`);
  });
}

/** Creates empty copies, without the indexes that only queries use. */
export async function makeShadows(sql: Sql, shadows: readonly Projection[]): Promise<void> {
  await sql.query(`create schema ${SCHEMA}`);
  await prepareTables(sql, shadows);
}

/** Completes a filled copy for queries. Takes time in proportion to the table. */
export async function finishShadows(sql: Sql, shadows: readonly Projection[]): Promise<void> {
  for (const shadow of shadows) {
    await makeIndexes(sql, shadow);
    for (const table of shadow.tables) await sql.query(`analyze ${tableOf(shadow)(table)}`);
  }
}

/**
 * Reads and locks all checkpoints until the transaction ends: the live leader's next compare-and-set waits.
 * Throws `Fenced` when one is missing, because the copies or the schema `read` were dropped.
 */
async function lockCheckpoints(sql: Sql, pairs: readonly Pair[]): Promise<ReadonlyMap<string, Position>> {
  const keys = pairs.flatMap(({ live, shadow }) => [checkpointKey(live), checkpointKey(shadow)]);
  const rows = await sql.query<{ projection: string; position: string }>(
    'select projection, position from read.checkpoint where projection = any($1) order by projection for update',
    [keys],
  );
  if (rows.length < keys.length) throw new Fenced(keys);
  return new Map(rows.map(({ projection, position }) => [projection, BigInt(position)]));
}

/** Replaces the live tables with the copy: rows, names, parked events, checkpoint; in a transaction. */
async function putInPlace(sql: Sql, { live, shadow }: Pair): Promise<void> {
  for (const table of live.tables) {
    await pointView(sql, shadow, table);
    await sql.query(`drop table ${tableOf(live)(table)}`);
    await sql.query(`alter table ${tableOf(shadow)(table)} set schema read`);
  }
  const keys = [checkpointKey(live), checkpointKey(shadow)];
  await sql.query(
    `update work.parked_event mine set attempts = mine.attempts + before.attempts, parked_at = before.parked_at
     from work.parked_event before
     where mine.projection = $2 and before.projection = $1 and mine.position = before.position`,
    keys,
  );
  await sql.query('delete from work.parked_event where projection = $1', [keys[0]]);
  await sql.query('update work.parked_event set projection = $1 where projection = $2', keys);
  await sql.query(
    `update read.checkpoint mine set position = filled.position, updated_at = now()
     from read.checkpoint filled where mine.projection = $1 and filled.projection = $2`,
    keys,
  );
  await sql.query('delete from read.checkpoint where projection = $1', [keys[1]]);
  await live.rebuilt?.(sql);
}
