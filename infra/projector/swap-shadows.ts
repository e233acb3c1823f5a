/** Swaps rebuilt copies in as the read models: one transaction, all or nothing. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Open } from '../../projections/projection.ts';
import { applyBatch } from './apply-batch.ts';
import { DDL_LOCK } from './projection-tables.ts';
import { lockCheckpoints, type Pair, putInPlace } from './shadow-tables.ts';

/** How long the swap, and new readers behind it, wait for a reader of the table; then the swap is retried. */
const LOCK_TIMEOUT = '1s';

/** Maximum events applied inside the swap: the live leader waits meanwhile. */
const MOST_INSIDE = 1_000;

/** SQLSTATE: lock timeout; deadlock. */
const TRY_AGAIN_STATES = ['55P03', '40P01'];

export interface SwapParts {
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
