/** The lag of the read models, measured against the log: correct on every process, leader or not. */
import type { Sql } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';

/** The limit of counted events; for a projection further behind, the count is a minimum. */
export const MOST_COUNTED = 1_000;

/** An event that a projection has not applied. */
export interface Waiting {
  readonly position: Position;
  readonly storedAt: Date;
}

export interface ModelLag {
  readonly name: string;
  readonly key: string;
  /** Its checkpoint; -1n before the first event. */
  readonly position: Position;
  /** Oldest first, `MOST_COUNTED` at most. */
  readonly waiting: readonly Waiting[];
  /** Events skipped because they could not be applied. */
  readonly parked: number;
}

export interface LagParts {
  readonly sql: Sql;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly Projection[];
}

/** Measures every projection. Throws `store_unavailable`, or the error of a checkpoint the store refuses. */
export async function measureLag({ sql, events, projections }: LagParts): Promise<readonly ModelLag[]> {
  const progress = await readProgress(sql, projections.map(checkpointKey));
  // Projections of one leader share a position, so this is nearly always one page.
  const pages = new Map<Position, readonly Waiting[]>();
  for (const { position } of progress.values()) {
    if (!pages.has(position)) pages.set(position, await waitingAfter(events, position));
  }
  return projections.map((projection) => {
    const key = checkpointKey(projection);
    const { position, parked } = progress.get(key) ?? { position: -1n, parked: 0 };
    return { name: projection.name, key, position, parked, waiting: pages.get(position) ?? [] };
  });
}

interface Progress {
  readonly position: Position;
  readonly parked: number;
}

async function readProgress(sql: Sql, keys: readonly string[]): Promise<ReadonlyMap<string, Progress>> {
  const rows = await sql.query<{ key: string; position: string; parked: string }>(
    `select key, coalesce(c.position, -1) as position,
       (select count(*) from work.parked_event p where p.projection = key) as parked
     from unnest($1::text[]) as key left join read.checkpoint c on c.projection = key`,
    [keys],
  );
  return new Map(
    rows.map(({ key, position, parked }) => [key, { position: BigInt(position), parked: Number(parked) }]),
  );
}

const waitingAfter = async (events: LagParts['events'], position: Position): Promise<readonly Waiting[]> =>
  (await events.readAll(position < 0n ? null : position, MOST_COUNTED)).map((event) => ({
    position: event.position,
    storedAt: event.storedAt,
  }));
