/** Measures the lag of the read models every second, on every process, for health and metrics. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import type { Position } from '../../commands/values/position.ts';
import { type LagParts, measureLag, type ModelLag } from './lag.ts';

const LOOK_EVERY_MS = 1_000;
/** A measurement older than this is outdated: everything stored since may be missing. */
const TRUSTED_FOR_MS = 5_000;

export interface ModelStatus {
  readonly name: string;
  /** Events stored and not applied; at most `MOST_COUNTED` are counted. */
  readonly lagEvents: number;
  /** Age of the oldest of them; while measurements fail, at least the time since the last one. */
  readonly lagSeconds: number;
  readonly parked: number;
}

export interface ProgressWatchOptions extends LagParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each measurement. */
  readonly seen: (models: readonly ModelLag[]) => Promise<void>;
}

export class ProgressWatch {
  readonly #options: ProgressWatchOptions;
  #models: readonly ModelLag[] = [];
  /** On the monotonic clock. */
  #lookedAtMs = 0;

  constructor(options: ProgressWatchOptions) {
    this.#options = options;
  }

  /** Measures once. Throws as `measureLag` and `seen` do. */
  async look(): Promise<void> {
    const { clock, seen } = this.#options;
    const askedAtMs = clock.elapsedMs();
    this.#models = await measureLag(this.#options);
    this.#lookedAtMs = askedAtMs;
    await seen(this.#models);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let isKnown = true;
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        await this.look();
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
    const unseenMs = clock.elapsedMs() - this.#lookedAtMs;
    return this.#models.map(({ name, key, waiting, parked }) => {
      const applied = held.get(key) ?? -1n;
      const left = waiting.filter(({ position }) => position > applied);
      const ageMs = left[0] ? now - left[0].storedAt.getTime() : 0;
      const lagMs = Math.max(0, ageMs, unseenMs > TRUSTED_FOR_MS ? unseenMs : 0);
      return { name, parked, lagEvents: left.length, lagSeconds: lagMs / 1_000 };
    });
  }
}
