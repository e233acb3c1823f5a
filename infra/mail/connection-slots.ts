/** Decides who gets a connection to a mailbox next: callers first, then the mailbox's watch, then bulk work. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Priority } from '../../commands/ports/mail-port.ts';
import { unavailable } from './mail-errors.ts';

/** The holder of a connection: a caller, or the watch. */
export type Holder = Priority | 'watch';

export interface SlotOptions {
  /** Connections to the mailbox, including the one of the watch. */
  readonly limit: number;
  /** How long a caller waits. The watch waits as long as others work. */
  readonly waitMs: number;
}

interface Waiter {
  readonly holder: Holder;
  readonly go: () => void;
  readonly fail: (error: GatewayError) => void;
}

const MAX_WAITERS = 200;
/** Other programs of the user have connections too, and close them. */
const LEARNED_FOR_MS = 10 * 60_000;
const ORDER: readonly Holder[] = ['interactive', 'watch', 'bulk'];

export class ConnectionSlots {
  /** Called when a caller waits that only the watch can let through. */
  onWatchWanted: (() => void) | null = null;
  readonly #options: SlotOptions;
  /** What the server was observed to allow; null = as configured. */
  #learned: { readonly limit: number; readonly until: number } | null = null;
  readonly #taken: Record<Holder, number> = { interactive: 0, bulk: 0, watch: 0 };
  #waiters: readonly Waiter[] = [];
  #ended = false;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** Concurrent connections: as configured, or as many as the server currently allows. */
  get limit(): number {
    const { limit } = this.#options;
    if (this.#learned !== null && performance.now() > this.#learned.until) this.#learned = null;
    return Math.min(limit, this.#learned?.limit ?? limit);
  }

  /** The server refused one more than these: others wait for one of them, until the limit is tried again. */
  learn(limit: number): void {
    this.#learned = { limit: Math.max(1, limit), until: performance.now() + LEARNED_FOR_MS };
    if (this.isWatchWanted) this.onWatchWanted?.();
  }

  /** Concurrent connections of callers: the watch has one besides, unless only one is allowed. */
  get mostCallers(): number {
    return Math.max(1, this.limit - 1);
  }

  get callers(): number {
    return this.#taken.interactive + this.#taken.bulk;
  }

  /** Somebody waits. */
  get isWanted(): boolean {
    return this.#waiters.length > 0;
  }

  /** True while the watch holds the only connection and others wait. */
  get isWatchWanted(): boolean {
    return this.limit === 1 && this.#taken.watch > 0 && this.isWanted;
  }

  /**
   * Waits until the signal aborts or, without one, for `withinMs`. Throws `overloaded` when none becomes free in that time,
   * `mailbox_unavailable` when the slots ended.
   */
  async take(holder: Holder, signal?: AbortSignal, withinMs = this.#options.waitMs): Promise<void> {
    if (this.#ended) throw disconnected();
    if (signal?.aborted === true) throw tooBusy();
    if (this.#hasRoom(holder)) {
      this.#taken[holder] += 1;
      return;
    }
    if (this.#waiters.length >= MAX_WAITERS) throw tooBusy();
    await new Promise<void>((resolve, reject) => {
      const settle = (then: () => void) => (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        then();
      };
      const fail = (error: GatewayError): void => {
        settle(() => {
          reject(error);
        })();
      };
      const giveUp = (): void => {
        fail(tooBusy());
      };
      const timer = signal ? undefined : setTimeout(giveUp, withinMs);
      const waiter: Waiter = { holder, go: settle(resolve), fail };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiters = [...this.#waiters, waiter];
      if (this.isWatchWanted) this.onWatchWanted?.();
    });
  }

  /** Lets the next waiter proceed. */
  free(holder: Holder): void {
    this.#taken[holder] -= 1;
    const next = ORDER.flatMap((each) =>
      this.#hasRoom(each) ? (this.#waiters.find((waiter) => waiter.holder === each) ?? []) : [],
    )[0];
    if (next === undefined) return;
    this.#taken[next.holder] += 1;
    next.go();
  }

  /** Grants no slot any more. */
  end(): void {
    this.#ended = true;
    for (const { fail } of this.#waiters) fail(disconnected());
  }

  /** One slot of callers is reserved from bulk work, unless there is only one. */
  #hasRoom(holder: Holder): boolean {
    const { limit } = this;
    const { watch, bulk } = this.#taken;
    // More may be in use than the server allows, if the limit was observed after they began.
    if (this.callers + watch >= limit) return false;
    if (holder === 'watch') return true;
    if (this.callers >= this.mostCallers) return false;
    return holder === 'interactive' || this.mostCallers === 1 || bulk < this.mostCallers - 1;
  }
}

export const disconnected = (): GatewayError =>
  unavailable('disconnected', 'The connections of this mailbox were ended; try again.');

const tooBusy = (): GatewayError =>
  new GatewayError('overloaded', 'All connections of this mailbox are busy; try again in a moment.', {
    retryAfterSeconds: 2,
  });
