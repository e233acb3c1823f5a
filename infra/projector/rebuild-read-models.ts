/**
 * Rebuilds read models beside the live ones, which stay in use and up to date, and swaps them at the same
 * position. Has no side effects. Every event is applied again in its place, including parked ones.
 */
import type { Client } from 'pg';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';
import { Lead, type LeadParts } from './lead.ts';
import { LeaderLocks } from './leadership.ts';
import { liveVersion, prepareTables } from './projection-tables.ts';
import { dropShadows, finishShadows, makeShadows, type Pair, pairOf, swapShadows } from './shadow-tables.ts';

/** One rebuild at a time, for any models: the copies share a schema. */
const LOCK = 'rebuild';

const MOST_SWAPS = 60;
const SWAP_AGAIN_MS = 500;

export interface RebuildOptions extends LeadParts {
  readonly projections: readonly Projection[];
  /** A connection for the lock, not through a transaction pooler. */
  readonly directConnection: () => Promise<Client>;
  readonly signal: AbortSignal;
  readonly report?: (progress: RebuildProgress) => void;
}

export interface RebuildProgress {
  /** `swapping` while waiting until the copies can be swapped in. */
  readonly step: 'reading' | 'indexing' | 'swapping';
  /** Events read so far. */
  readonly events: number;
  readonly position: Position;
  /** The end of the log when the rebuild began. */
  readonly head: Position;
}

export interface Rebuilt {
  readonly events: number;
  /** Events parked in the new models, by name; models without any are absent. */
  readonly parked: ReadonlyMap<string, number>;
}

/**
 * Resolves when the new models are in place. Throws one sentence when another rebuild runs, when a newer
 * version is live, or when no swap succeeded. On an error or abort, the live models are untouched and no copy
 * is left.
 */
export async function rebuildModels(options: RebuildOptions): Promise<Rebuilt> {
  const { sql, projections } = options;
  const locks = await LeaderLocks.open(options.directConnection);
  try {
    if ((await locks.take([LOCK])).length === 0) {
      throw new Error('Another rebuild is running: wait for its end, or end it, and start this one again.');
    }
    for (const projection of projections) await refuseNewer(options, projection);
    await prepareTables(sql, projections);
    await dropShadows(sql);
    try {
      const pairs = projections.map(pairOf);
      await makeShadows(
        sql,
        pairs.map(({ shadow }) => shadow),
      );
      return await new Rebuild(options, pairs).run();
    } finally {
      await dropShadows(sql);
    }
  } finally {
    await locks.close();
  }
}

async function refuseNewer({ sql }: RebuildOptions, { name, tables, version }: Projection): Promise<void> {
  for (const table of tables) {
    const live = await liveVersion(sql, table);
    if (live === null || live <= version) continue;
    throw new Error(
      `A newer gateway serves ${name} in its version ${String(live)}: run the rebuild of that gateway, this one knows version ${String(version)}.`,
    );
  }
}

class Rebuild {
  readonly #options: RebuildOptions;
  readonly #pairs: readonly Pair[];
  readonly #shadows: readonly Projection[];
  #events = 0;
  #position: Position = -1n;
  #head: Position = -1n;

  constructor(options: RebuildOptions, pairs: readonly Pair[]) {
    this.#options = options;
    this.#pairs = pairs;
    this.#shadows = pairs.map(({ shadow }) => shadow);
  }

  async run(): Promise<Rebuilt> {
    const { sql, events, personal, clock, signal } = this.#options;
    this.#head = await events.headPosition();
    await this.#catchUp('reading');
    this.#report('indexing');
    await finishShadows(sql, this.#shadows);
    const parts = { sql, events, open: personal.open.bind(personal) };
    for (let swaps = 0; swaps < MOST_SWAPS; swaps += 1) {
      await this.#catchUp('swapping');
      if (await swapShadows(parts, this.#pairs)) {
        return { events: this.#events, parked: await this.#parked() };
      }
      await clock.sleep(SWAP_AGAIN_MS, signal);
    }
    throw new Error(
      'The rebuilt read models could not be put in place: the log grows too fast or a query reads them all the time. Try again when there is less to do.',
    );
  }

  /** Applies everything in the log. Throws the signal's reason when it aborts. */
  async #catchUp(step: RebuildProgress['step']): Promise<void> {
    const { signal } = this.#options;
    const turn = new AbortController();
    const lead = new Lead(this.#options, this.#shadows, {
      held: (_, position, events) => {
        this.#position = position;
        this.#events += events;
        this.#report(step);
      },
      // Reported after the swap, if still parked.
      parked: () => undefined,
      gather: () => Promise.resolve(),
      caughtUp: () => {
        turn.abort();
        return Promise.resolve();
      },
    });
    await lead.run(AbortSignal.any([signal, turn.signal]));
    signal.throwIfAborted();
  }

  #report(step: RebuildProgress['step']): void {
    const progress = { step, events: this.#events, position: this.#position, head: this.#head };
    this.#options.report?.(progress);
  }

  async #parked(): Promise<ReadonlyMap<string, number>> {
    const names = new Map(this.#pairs.map(({ live }) => [checkpointKey(live), live.name]));
    const rows = await this.#options.sql.query<{ projection: string; count: number }>(
      'select projection, count(*)::int as count from work.parked_event where projection = any($1) group by projection',
      [[...names.keys()]],
    );
    return new Map(rows.map(({ projection, count }) => [names.get(projection) ?? projection, count]));
  }
}
