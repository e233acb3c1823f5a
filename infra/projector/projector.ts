/**
 * Maintains the read models: leads the projections whose lock it holds, follows the others. One process leads
 * each projection; when it dies another takes over within a second, when it is frozen within five.
 */
import type { Client } from 'pg';
import type { ReadModels } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import { checkpointKey, type Projection } from '../../projections/projection.ts';
import { pauseAfter } from '../concurrency/backoff.ts';
import type { Metrics } from '../observability/metrics.ts';
import { CheckpointAheadOfLog, lowest, readCheckpoints, refuseCheckpointAhead } from './checkpoints.ts';
import type { ModelLag } from './lag.ts';
import { Lead, type LeadParts, type LeadWatch } from './lead.ts';
import { LeaderLocks, StalledLeader } from './leadership.ts';
import { PositionWaiters } from './position-waiters.ts';
import { type ModelStatus, ProgressWatch } from './lag.ts';
import { dropOlderVersions, isBehindView, prepareTables, swapViews } from './projection-tables.ts';

/** How often a follower tries to lead, and a leader tries to lead the remaining projections. */
const ASK_EVERY_MS = 500;
/** How often one that leads them all asks whether its connection still answers. A lost one says so. */
const CONFIRM_EVERY_MS = 10_000;
/** Short enough to take over within 5 s after any failures. */
const PAUSES = { firstMs: 100, mostMs: 2_000 };
/**
 * Long enough for the second append of an operation and for the feed's event about it, short compared with
 * the second in which the audit must show it.
 */
const GATHER_MS = 60;
/** How often a process that does not lead reads the checkpoints while a caller waits. */
const POLL_EVERY_MS = 20;

export interface ProjectorOptions extends LeadParts {
  readonly projections: readonly Projection[];
  /** A connection for the locks, not through a transaction pooler. */
  readonly directConnection: () => Promise<Client>;
  /** False = only follows other processes, and never takes a lock. Default true. */
  readonly leads?: boolean;
  readonly metrics?: Pick<Metrics, 'eventParked'>;
}

export interface ProjectorStatus {
  /** True when this process leads every projection. */
  readonly leader: boolean;
  /** The position every projection has reached, as far as this process knows. */
  readonly position: Position;
  /** Of the model that is furthest behind; at most `MOST_COUNTED` events are counted. */
  readonly lagEvents: number;
  readonly lagSeconds: number;
  readonly models: readonly ModelStatus[];
}

export interface Projector {
  readonly readModels: ReadModels;
  status(): ProjectorStatus;
  /** Finishes the current batch and releases the locks. */
  close(): Promise<void>;
}

/** Creates the tables, then leads or follows. Throws one sentence when a checkpoint is ahead of the log. */
export async function startProjector(options: ProjectorOptions): Promise<Projector> {
  const { sql, events, projections } = options;
  await prepareTables(sql, projections);
  const checkpoints = await readCheckpoints(sql, projections.map(checkpointKey));
  for (const position of checkpoints.values()) await refuseCheckpointAhead(events, position);
  const projector = new RunningProjector(options);
  await projector.start(lowest(checkpoints.values()));
  return projector;
}

class RunningProjector implements Projector {
  readonly #options: ProjectorOptions;
  readonly #keys: readonly string[];
  readonly #ending = new AbortController();
  readonly #waiters = new PositionWaiters();
  readonly #progress: ProgressWatch;
  readonly #stalled: StalledLeader;
  /** The positions of the projections led by this process, by key. */
  readonly #held = new Map<string, Position>();
  #polling = false;
  #running: Promise<unknown> = Promise.resolve();

  readonly readModels: ReadModels = {
    waitFor: (position, timeoutMs) => {
      const reached = this.#waiters.waitFor(position, timeoutMs);
      if (!this.#leadsAll && !this.#polling) void this.#poll();
      return reached;
    },
  };

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#keys = options.projections.map(checkpointKey);
    this.#stalled = new StalledLeader(options);
    this.#progress = new ProgressWatch({ ...options, seen: (models) => this.#seen(models) });
  }

  async start(position: Position): Promise<void> {
    this.#waiters.move(position);
    await this.#progress.measure();
    const { signal } = this.#ending;
    const leading = this.#options.leads === false ? [] : [this.#run()];
    this.#running = Promise.all([this.#progress.run(signal, () => this.#leadsAll), ...leading]);
  }

  status(): ProjectorStatus {
    const models = this.#progress.status(this.#held);
    return {
      leader: this.#leadsAll,
      position: this.#waiters.reached,
      lagEvents: Math.max(0, ...models.map(({ lagEvents }) => lagEvents)),
      lagSeconds: Math.max(0, ...models.map(({ lagSeconds }) => lagSeconds)),
      models,
    };
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#waiters.giveUp();
    await this.#running;
  }

  get #leadsAll(): boolean {
    return this.#keys.every((key) => this.#held.has(key));
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#ending;
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await this.#leadOrFollow(signal);
      } catch (error) {
        const line = { error: String(error), failures: failures + 1 };
        if (error instanceof CheckpointAheadOfLog)
          log.error('projector: stopped, checkpoint ahead of the log', line);
        else log.warn('projector: restarting', line);
      }
      // A long run means that the earlier failures are over.
      if (performance.now() - startedAt > 2 * PAUSES.mostMs) failures = 0;
      failures += 1;
      await clock.sleep(pauseAfter(failures, PAUSES), signal);
    }
  }

  async #leadOrFollow(signal: AbortSignal): Promise<void> {
    const locks = await LeaderLocks.open(this.#options.directConnection);
    try {
      while (!signal.aborted) {
        const held = await locks.take(this.#keys);
        if (held.length > 0) await this.#leadThese(held, locks, signal);
        else await this.#options.clock.sleep(ASK_EVERY_MS, signal);
      }
    } finally {
      await locks.close();
    }
  }

  /**
   * Leads until more locks are held, a swap, or an error. Projections being built have their own
   * subscription.
   */
  async #leadThese(keys: readonly string[], locks: LeaderLocks, signal: AbortSignal): Promise<void> {
    const { sql, projections } = this.#options;
    const led = projections.filter((projection) => keys.includes(checkpointKey(projection)));
    await prepareTables(sql, led);
    const building: Projection[] = [];
    for (const projection of led) if (await isBehindView(sql, projection)) building.push(projection);
    const live = led.filter((projection) => !building.includes(projection));
    const turn = new AbortController();
    const either = AbortSignal.any([signal, turn.signal]);
    const endTurn = (): void => {
      turn.abort();
    };
    const swap = async (): Promise<void> => {
      for (const projection of building) await swapViews(sql, projection);
      endTurn();
    };
    for (const projection of live) await dropOlderVersions(sql, projection);
    const work = [
      this.#lead(live, either, () => Promise.resolve()),
      this.#lead(building, either, swap),
      this.#askForMore(locks, keys.length, either).then(endTurn),
    ];
    work.forEach((part) => {
      part.catch(endTurn);
    });
    try {
      const ends = await Promise.allSettled(work);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    } finally {
      this.#held.clear();
      this.#progress.hurry();
    }
  }

  async #lead(
    projections: readonly Projection[],
    signal: AbortSignal,
    caughtUp: () => Promise<void>,
  ): Promise<void> {
    if (projections.length === 0) return;
    await new Lead(this.#options, projections, this.#watch(caughtUp)).run(signal);
  }

  #watch(caughtUp: () => Promise<void>): LeadWatch {
    return {
      caughtUp,
      gather: () => this.#waiters.quiet(GATHER_MS),
      held: (projections, position) => {
        for (const projection of projections) this.#held.set(checkpointKey(projection), position);
        if (this.#leadsAll) this.#waiters.move(lowest(this.#held.values()));
      },
      parked: ({ projection, event, error }) => {
        this.#options.metrics?.eventParked(projection.name);
        this.#options.log.error('projector: event parked', {
          projection: checkpointKey(projection),
          event_id: event.id,
          type: event.type,
          position: String(event.position),
          error: String(error),
        });
      },
    };
  }

  /** Resolves when more than `count` locks are held. Throws when the connection with the locks is lost. */
  async #askForMore(locks: LeaderLocks, count: number, signal: AbortSignal): Promise<void> {
    const everyMs = count === this.#keys.length ? CONFIRM_EVERY_MS : ASK_EVERY_MS;
    const either = AbortSignal.any([signal, locks.lost]);
    for (;;) {
      await this.#options.clock.sleep(everyMs, either);
      if (signal.aborted) return;
      if ((await locks.take(this.#keys)).length > count) return;
    }
  }

  async #seen(models: readonly ModelLag[]): Promise<void> {
    if (!this.#leadsAll) this.#waiters.move(lowest(models.map(({ position }) => position)));
    if (this.#options.leads === false) return;
    await this.#stalled.seen(models.filter(({ key }) => !this.#held.has(key)));
  }

  /** Reads the checkpoints while a caller waits. */
  async #poll(): Promise<void> {
    this.#polling = true;
    const { sql, clock, log } = this.#options;
    try {
      while (!this.#leadsAll) {
        this.#waiters.move(lowest((await readCheckpoints(sql, this.#keys)).values()));
        if (!this.#waiters.anyWaiting) return;
        await clock.sleep(POLL_EVERY_MS, this.#ending.signal);
      }
    } catch (error) {
      log.warn('projector: checkpoints not read', { error: String(error) });
    } finally {
      this.#polling = false;
    }
  }
}
