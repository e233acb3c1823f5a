/** Applies a batch in one transaction: the rows of every projection and their checkpoints, all or none. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Sql } from '../../commands/ports/ports.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import {
  type Batch,
  checkpointKey,
  type LoggedEvent,
  type Open,
  projectedEvent,
  type Projection,
} from '../../projections/projection.ts';
import { NamedShapes } from '../postgres/named-shapes.ts';
import { type Checkpoints, Fenced, moveCheckpoints } from './checkpoints.ts';
import { tableOf } from './projection-tables.ts';

export interface Parked {
  readonly projection: Projection;
  readonly event: StoredEvent;
  readonly error: unknown;
}

export interface BatchToApply {
  readonly projections: readonly Projection[];
  readonly checkpoints: Checkpoints;
  readonly events: readonly StoredEvent[];
  /** Position of the last of them. */
  readonly to: Position;
}

/** To plan a statement for so few takes longer than to run it; for a rebuild's thousands the plan depends on their number. */
const FEW_EVENTS = 32;
const SHAPES = new NamedShapes('projection');

/** Prepares the statements that come again. */
const prepared = (sql: Sql): Sql => ({
  query: (statement, parameters) =>
    sql.query(typeof statement === 'string' ? SHAPES.named(statement) : statement, parameters),
  transaction: (work) => sql.transaction((inside) => work(prepared(inside))),
});

/** An event of the log; `unreadable` is the error of one that cannot be read. */
interface ReadEvent extends LoggedEvent {
  readonly unreadable?: unknown;
}

/**
 * Applies a batch and returns the parked events. When an event cannot be read, or a projection fails on the
 * batch, the whole batch is rolled back and applied event by event, so that only the failing event is left
 * out. Throws `Fenced`, the error of the database, or that of a projection that takes every event.
 */
export async function applyBatch(sql: Sql, open: Open, batch: BatchToApply): Promise<readonly Parked[]> {
  const log = batch.events.map(readEvent);
  const whole = async (projection: Projection, held: Position, inside: Sql): Promise<void> => {
    const fresh = log.filter(({ stored }) => stored.position > held);
    const on = fresh.length <= FEW_EVENTS ? prepared(inside) : inside;
    if (fresh.length > 0) await projection.apply(batchOf(projection, fresh, on, open));
  };
  if (!log.some(isUnreadable)) {
    try {
      await inTransaction(sql, batch, whole);
      return [];
    } catch (error) {
      if (!isPoison(error)) throw error;
    }
  }
  const parked: Parked[] = [];
  await inTransaction(sql, batch, async (projection, held, inside) => {
    if (projection.everyEvent) {
      await whole(projection, held, inside);
      return;
    }
    const known = log.filter((event) => event.projected !== null || isUnreadable(event));
    const fresh = known.filter(({ stored }) => stored.position > held);
    parked.push(...(await applyOneByOne(projection, fresh, inside, open)));
  });
  return parked;
}

const isUnreadable = (event: ReadEvent): boolean => 'unreadable' in event;

async function inTransaction(
  sql: Sql,
  { projections, checkpoints, to }: BatchToApply,
  apply: (projection: Projection, held: Position, inside: Sql) => Promise<void>,
): Promise<void> {
  await sql.transaction(async (inside) => {
    // First, so that a second leader waits here and stops before it writes anything.
    await moveCheckpoints(inside, checkpoints, to);
    for (const projection of projections) {
      await apply(projection, checkpoints.get(checkpointKey(projection)) ?? -1n, inside);
    }
  });
}

async function applyOneByOne(
  projection: Projection,
  events: readonly ReadEvent[],
  sql: Sql,
  open: Open,
): Promise<readonly Parked[]> {
  const parked: Parked[] = [];
  for (const event of events) {
    const error = await failureOf(projection, event, sql, open);
    if (error === null) continue;
    const one = { projection, event: event.stored, error };
    // Immediately, so that the projection handles it before the events that follow.
    await park(sql, one);
    parked.push(one);
  }
  return parked;
}

/** The error of an event that cannot be applied; null when it was applied. */
async function failureOf(projection: Projection, event: ReadEvent, sql: Sql, open: Open): Promise<unknown> {
  if (isUnreadable(event)) return event.unreadable;
  try {
    await sql.transaction((inside) => projection.apply(batchOf(projection, [event], inside, open)));
    return null;
  } catch (error) {
    if (!isPoison(error)) throw error;
    return error;
  }
}

const batchOf = (projection: Projection, log: readonly LoggedEvent[], sql: Sql, open: Open): Batch => ({
  events: log.flatMap(({ projected }) => projected ?? []),
  log,
  sql,
  open,
  tableOf: tableOf(projection),
});

async function park(sql: Sql, { projection, event, error }: Parked): Promise<void> {
  await sql.query(
    `insert into work.parked_event as p (projection, position, event_id, type, error) values ($1, $2, $3, $4, $5)
     on conflict (projection, position) do update set attempts = p.attempts + 1, error = excluded.error`,
    [checkpointKey(projection), String(event.position), event.id, event.type, describeError(error)],
  );
  await projection.parked?.(event, { sql, tableOf: tableOf(projection) });
}

const describeError = (error: unknown): string => String(error).replaceAll('\u0000', '').slice(0, 1_000);

/** A type this version does not know was written by a newer gateway. */
function readEvent(stored: StoredEvent): ReadEvent {
  try {
    return { stored, projected: projectedEvent(stored) };
  } catch (error) {
    return { stored, projected: null, unreadable: error };
  }
}

/** SQLSTATE classes caused by data: data exceptions and constraint violations. */
const DATA_CLASSES = ['22', '23'];

/**
 * True when the event itself is the cause and a retry would fail in the same way. A missing table, a deadlock
 * or a full disk is not caused by the event: then everything waits, because parking would lose it.
 */
function isPoison(error: unknown): boolean {
  if (error instanceof Fenced || error instanceof GatewayError || !(error instanceof Error)) return false;
  const sqlState =
    'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
  return sqlState === null || DATA_CLASSES.includes(sqlState.slice(0, 2));
}
