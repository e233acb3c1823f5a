/** Growing pauses between attempts: for one loop, or for many keys separately. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../commands/ports/ports.ts';

export interface Pauses {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** A lost connection is retried almost at once; a returning store is found within two seconds. */
const STORE_PAUSES: Pauses = { firstMs: 20, mostMs: 800 };

/** Doubles from `firstMs` up to `mostMs`, with ±20 % jitter so that many processes do not retry in step. */
export const pauseAfter = (failures: number, { firstMs, mostMs }: Pauses): number =>
  Math.min(mostMs, firstMs * 2 ** (failures - 1)) * (0.8 + Math.random() * 0.4);

export class Backoff {
  readonly #pauses: Pauses;
  #failures = 0;

  constructor(pauses = STORE_PAUSES) {
    this.#pauses = pauses;
  }

  /** After a success the next pause is short again. */
  reset(): void {
    this.#failures = 0;
  }

  /** Sleeps for the next pause, at most `limitMs`; ends at once when the signal aborts. */
  async pause(signal: AbortSignal, limitMs = Infinity): Promise<void> {
    this.#failures += 1;
    const ms = Math.max(0, Math.min(limitMs, pauseAfter(this.#failures, this.#pauses)));
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }
}

/** A pause for each failing key, on the monotonic clock: setting the time of day does not change it. */
export class KeyedBackoff {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #pauses: Pauses;
  readonly #next = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(clock: Pick<Clock, 'elapsedMs'>, pauses: Pauses) {
    this.#clock = clock;
    this.#pauses = pauses;
  }

  isDue(key: string): boolean {
    return (this.#next.get(key)?.at ?? -Infinity) <= this.#clock.elapsedMs();
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#next.size;
  }

  /** Keys whose pause is not over. Forgets keys without a failure, and those due for longer than any pause. */
  waiting(): readonly string[] {
    const now = this.#clock.elapsedMs();
    for (const [key, { failures, at }] of this.#next) {
      if (at + (failures === 0 ? 0 : 2 * this.#pauses.mostMs) < now) this.#next.delete(key);
    }
    return [...this.#next].flatMap(([key, { at }]) => (at > now ? [key] : []));
  }

  /** A pause of `ms` that does not count as a failure. */
  postpone(key: string, ms: number): void {
    const { failures = 0 } = this.#next.get(key) ?? {};
    this.#next.set(key, { failures, at: this.#clock.elapsedMs() + ms });
  }

  /** Returns the pause in milliseconds. */
  failed(key: string): number {
    const failures = (this.#next.get(key)?.failures ?? 0) + 1;
    const ms = pauseAfter(failures, this.#pauses);
    this.#next.set(key, { failures, at: this.#clock.elapsedMs() + ms });
    return ms;
  }

  clear(key: string): void {
    this.#next.delete(key);
  }
}
