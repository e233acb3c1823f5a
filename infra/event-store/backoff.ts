/** Growing, jittered pauses between attempts, so that many processes do not come back in step. */
import { setTimeout as delay } from 'node:timers/promises';

export class Backoff {
  readonly #firstMs: number;
  readonly #mostMs: number;
  #nextMs: number;

  constructor(firstMs: number, mostMs: number) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#nextMs = firstMs;
  }

  /** Something worked: the next pause is short again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }

  /** Pauses for half to all of the next step, at most `limitMs`; ends at once when the signal aborts. */
  async pause(signal: AbortSignal, limitMs = Infinity): Promise<void> {
    const ms = Math.max(0, Math.min(limitMs, this.#nextMs * (0.5 + Math.random() / 2)));
    this.#nextMs = Math.min(2 * this.#nextMs, this.#mostMs);
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }
}
