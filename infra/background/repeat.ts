/** A loop in the background: it outlives failures, and ends with its signal. */
import type { Clock, Log } from '../../commands/ports/ports.ts';

export interface Loop {
  readonly name: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Runs `work`, pauses, and runs it again. A failure is logged and tried again after the pause. */
export async function repeat(
  { name, everyMs, clock, log, signal }: Loop,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      log.warn('a background pass failed', { loop: name, error: String(error) });
    }
    await clock.sleep(everyMs, signal);
  }
}

/** Waits for the end of work that is under way, at most so long: what takes longer is gone on with by whoever comes next. */
export async function endOf(
  works: readonly Promise<void>[],
  withinMs: number,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const over = new AbortController();
  const ended = Promise.all(works).then(() => {
    // A timer that runs on would keep the process alive.
    over.abort();
  });
  await Promise.race([ended, clock.sleep(withinMs, over.signal)]);
}

/**
 * Growing pauses per thing that keeps failing: doubled from `firstMs` up to `mostMs`, ±20 % so that they spread. They last as
 * long however the time of day is set.
 */
export class Backoff {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #next = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(clock: Pick<Clock, 'elapsedMs'>, firstMs: number, mostMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  isDue(key: string): boolean {
    return (this.#next.get(key)?.at ?? -Infinity) <= this.#clock.elapsedMs();
  }

  /** Keys whose pause is not over. */
  waiting(): readonly string[] {
    const now = this.#clock.elapsedMs();
    return [...this.#next].flatMap(([key, { at }]) => (at > now ? [key] : []));
  }

  failed(key: string): void {
    const failures = (this.#next.get(key)?.failures ?? 0) + 1;
    const pause = Math.min(this.#mostMs, this.#firstMs * 2 ** (failures - 1));
    this.#next.set(key, { failures, at: this.#clock.elapsedMs() + pause * (0.8 + Math.random() * 0.4) });
  }

  clear(key: string): void {
    this.#next.delete(key);
  }
}
