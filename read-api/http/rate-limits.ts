/** A token's requests per minute and in parallel (`contract.md` 15), in this process's memory. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Clock, Limits } from '../../commands/ports/ports.ts';

export type Effect = 'read' | 'write';

interface Bucket {
  /** Requests left, fractional while it refills. */
  left: number;
  at: number;
}

interface TokenUse {
  readonly buckets: Record<Effect, Bucket>;
  /** The number of running requests, and of those that only wait. */
  running: number;
  waiting: number;
}

/** Idle tokens are forgotten once their buckets are full again. */
const FORGET_AFTER_MS = 60_000;
const MINUTE_SECONDS = 60;

/** Token buckets, one pair per token id: a burst of a minute's worth, refilled evenly. */
export class RateLimits {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #use = new Map<string, TokenUse>();
  #sweptAt: number;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweptAt = clock.elapsedMs();
  }

  /**
   * Counts a request as running and returns a function that ends this; further calls of it change nothing.
   * Throws `rate_limited` with the seconds until the next request is admitted.
   */
  admit(tokenId: string, effect: Effect): () => void {
    const now = this.#clock.elapsedMs();
    this.#forgetIdle(now);
    const use = this.#useOf(tokenId, now);
    if (use.running >= this.#limits.concurrentRequests) {
      throw new GatewayError(
        'rate_limited',
        `This token has ${String(this.#limits.concurrentRequests)} requests at work already; wait for one to end.`,
        { retryAfterSeconds: 1, details: { limit: 'concurrent_requests' } },
      );
    }
    this.#take(use, effect, now);
    use.running += 1;
    let running = true;
    return () => {
      if (running) use.running -= 1;
      running = false;
    };
  }

  /**
   * Counts an admitted request as waiting and returns a function that ends this. Throws `rate_limited` when
   * the token has its maximum of waits.
   */
  wait(tokenId: string): () => void {
    const use = this.#useOf(tokenId, this.#clock.elapsedMs());
    if (use.waiting >= this.#limits.concurrentWaits) {
      throw new GatewayError(
        'rate_limited',
        `This token waits in ${String(this.#limits.concurrentWaits)} requests already; wait for one to end.`,
        { retryAfterSeconds: 1, details: { limit: 'concurrent_waits' } },
      );
    }
    use.waiting += 1;
    let waiting = true;
    return () => {
      if (waiting) use.waiting -= 1;
      waiting = false;
    };
  }

  /** Counts a further effect of a request that is already running. Throws `rate_limited`. */
  count(tokenId: string, effect: Effect): void {
    const now = this.#clock.elapsedMs();
    this.#take(this.#useOf(tokenId, now), effect, now);
  }

  /** The current `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
  headers(tokenId: string, effect: Effect): Readonly<Record<string, string>> {
    const now = this.#clock.elapsedMs();
    const perMinute = this.#perMinute(effect);
    const { left } = this.#refill(this.#useOf(tokenId, now).buckets[effect], perMinute, now);
    const untilFull = Math.ceil(((perMinute - left) * MINUTE_SECONDS) / perMinute);
    return {
      'RateLimit-Policy': `"${effect}s";q=${String(perMinute)};w=${String(MINUTE_SECONDS)}`,
      RateLimit: `"${effect}s";r=${String(Math.floor(left))};t=${String(untilFull)}`,
    };
  }

  #take(use: TokenUse, effect: Effect, now: number): void {
    const perMinute = this.#perMinute(effect);
    const bucket = this.#refill(use.buckets[effect], perMinute, now);
    if (bucket.left < 1) {
      const retryAfterSeconds = Math.max(1, Math.ceil(((1 - bucket.left) * MINUTE_SECONDS) / perMinute));
      throw new GatewayError(
        'rate_limited',
        `This token may ask for ${String(perMinute)} ${effect}s per minute.`,
        {
          retryAfterSeconds,
          details: { limit: `${effect}s_per_minute` },
        },
      );
    }
    bucket.left -= 1;
  }

  #perMinute(effect: Effect): number {
    return effect === 'read' ? this.#limits.readsPerMinute : this.#limits.writesPerMinute;
  }

  #useOf(tokenId: string, now: number): TokenUse {
    let use = this.#use.get(tokenId);
    if (!use) {
      const full = (effect: Effect): Bucket => ({ left: this.#perMinute(effect), at: now });
      use = { buckets: { read: full('read'), write: full('write') }, running: 0, waiting: 0 };
      this.#use.set(tokenId, use);
    }
    return use;
  }

  #refill(bucket: Bucket, perMinute: number, now: number): Bucket {
    bucket.left = Math.min(
      perMinute,
      bucket.left + ((now - bucket.at) / 1_000) * (perMinute / MINUTE_SECONDS),
    );
    bucket.at = now;
    return bucket;
  }

  #forgetIdle(now: number): void {
    if (now - this.#sweptAt < FORGET_AFTER_MS) return;
    this.#sweptAt = now;
    for (const [id, { buckets, running, waiting }] of this.#use) {
      const lastUse = Math.max(buckets.read.at, buckets.write.at);
      if (running === 0 && waiting === 0 && now - lastUse >= FORGET_AFTER_MS) this.#use.delete(id);
    }
  }
}
