/** Growing, jittered pauses between attempts, so that many processes do not come back in step. */
import { setTimeout as delay } from 'node:timers/promises';

/** A single lost connection is back at once. */
const FIRST_MS = 20;

/** However long the store was away: it is found within two seconds of being back, at an attempt a second. */
const MOST_MS = 1_000;

export class Backoff {
  #nextMs = FIRST_MS;

  /** Something worked: the next pause is short again. */
  reset(): void {
    this.#nextMs = FIRST_MS;
  }

  /** Pauses for half to all of the next step, at most `limitMs`; ends at once when the signal aborts. */
  async pause(signal: AbortSignal, limitMs = Infinity): Promise<void> {
    const ms = Math.max(0, Math.min(limitMs, this.#nextMs * (0.5 + Math.random() / 2)));
    this.#nextMs = Math.min(2 * this.#nextMs, MOST_MS);
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }
}
