/** Measures the lag of the read models on every process, for health and metrics. */
import type { Clock, Log, Sql } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';

/** The limit of counted events; for a projection further behind, the count is a minimum. At each measurement they are read once more. */
export const MOST_COUNTED = 100;

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

interface LagParts {
  readonly sql: Sql;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly Projection[];
}

/** Measures every projection. Throws `store_unavailable`, or the error of a checkpoint the store refuses. */
async function measureLag({ sql, events, projections }: LagParts): Promise<readonly ModelLag[]> {
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

const MEASURE_EVERY_MS = 1_000;
/** In a process that leads, while nothing waits: others watch it, so that a leader that stands still is soon replaced. */
const MEASURE_IDLE_EVERY_MS = 10_000;
/** A measurement older than this is outdated: everything stored since may be missing. */
const TRUSTED_FOR_MS = 15_000;

export interface ModelStatus {
  readonly name: string;
  /** Events stored and not applied; at most `MOST_COUNTED` are counted. */
  readonly lagEvents: number;
  /** Age of the oldest of them; while measurements fail, at least the time since the last one. */
  readonly lagSeconds: number;
  readonly parked: number;
}

interface ProgressWatchOptions extends LagParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each measurement. */
  readonly seen: (models: readonly ModelLag[]) => Promise<void>;
}

export class ProgressWatch {
  readonly #options: ProgressWatchOptions;
  #models: readonly ModelLag[] = [];
  /** On the monotonic clock. */
  #measuredAtMs = 0;
  readonly #wake = new WakeSignal();

  constructor(options: ProgressWatchOptions) {
    this.#options = options;
  }

  /** Measures once. Throws as `measureLag` and `seen` do. */
  async measure(): Promise<void> {
    const { clock, seen } = this.#options;
    const askedAtMs = clock.elapsedMs();
    this.#models = await measureLag(this.#options);
    this.#measuredAtMs = askedAtMs;
    await seen(this.#models);
  }

  /** Measures at once and then every second, as this process leads no more. */
  hurry(): void {
    this.#wake.ring();
  }

  /** Runs until the signal aborts. `leads`: whether this process leads every projection now. */
  async run(signal: AbortSignal, leads: () => boolean): Promise<void> {
    const { log } = this.#options;
    let isKnown = true;
    const stop = (): void => {
      this.#wake.ring();
    };
    signal.addEventListener('abort', stop, { once: true });
    for (;;) {
      const isIdle = isKnown && leads() && this.#models.every(({ waiting }) => waiting.length === 0);
      await this.#wake.sleep(isIdle ? MEASURE_IDLE_EVERY_MS : MEASURE_EVERY_MS);
      if (signal.aborted) return;
      try {
        await this.measure();
        isKnown = true;
      } catch (error) {
        // Logged once: the unavailable part reports its own failure as well.
        if (isKnown) log.warn('projector: progress unknown', { error: String(error) });
        isKnown = false;
      }
    }
  }

  /** `held`: the positions this process has applied since the last measurement, by key. */
  status(held: ReadonlyMap<string, Position>): readonly ModelStatus[] {
    const { clock } = this.#options;
    const now = clock.now().getTime();
    const unseenMs = clock.elapsedMs() - this.#measuredAtMs;
    return this.#models.map(({ name, key, waiting, parked }) => {
      const applied = held.get(key) ?? -1n;
      const left = waiting.filter(({ position }) => position > applied);
      // When all that were counted are applied by now, the next is as old as the last of them at most.
      const oldest = left[0] ?? (waiting.length === MOST_COUNTED ? waiting.at(-1) : undefined);
      const ageMs = oldest ? now - oldest.storedAt.getTime() : 0;
      const lagMs = Math.max(0, ageMs, unseenMs > TRUSTED_FOR_MS ? unseenMs : 0);
      return { name, parked, lagEvents: left.length, lagSeconds: lagMs / 1_000 };
    });
  }
}
