/**
 * One subscription to `$all` for all followers of this process. A follower that is behind reads the log until
 * it has caught up, then takes what the subscription receives.
 */
import type { Log } from '../../commands/ports/ports.ts';
import type { EventFilter, SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { CheckpointNotInLog } from './follow-all.ts';
import { LogReplaced } from './known-log.ts';
import { Follower, SharedSubscription } from './shared-subscription.ts';
import type { Subscribe } from './shared-subscription.ts';
import { reportFailure } from './store-errors.ts';

/** Events per read of a follower that is behind. */
const PAGE = 500;

export interface AllStreamParts {
  /** Items after a position, resubscribing automatically; ends only when the signal aborts. */
  readonly subscribe: Subscribe;
  /** Events after a position, fewer than `most` only at the end of the log. Throws `CheckpointNotInLog`. */
  readonly readAll: (after: Position | null, most: number) => Promise<readonly StoredEvent[]>;
  readonly log: Log;
}

export class AllStream {
  readonly #parts: AllStreamParts;
  #shared: SharedSubscription | null = null;

  constructor(parts: AllStreamParts) {
    this.#parts = parts;
  }

  /** Implements `subscribeToAll` of the `EventStore` port. Throws `CheckpointNotInLog`. */
  async *follow(
    from: Position | null,
    signal: AbortSignal,
    filter?: EventFilter,
  ): AsyncGenerator<SubscriptionItem, void, undefined> {
    using follower = new Follower(from, filter, signal);
    for (let isFirst = true; !isOver(follower); isFirst = false) {
      const { shared, isOpen } = this.#join(follower);
      if (isOpen) yield* this.#readBehind(follower, shared, signal);
      // Only once: otherwise two followers could keep replacing each other's subscription.
      if (isOpen && isFirst && !isOver(follower)) shared.endIfBehind(follower);
      // Not a separate generator: it would double the cost per event.
      while (!isOver(follower)) {
        const taken = shared.take(follower);
        if (taken === 'lost') break;
        const item = taken === 'none-yet' ? await follower.woken() : follower.select(taken);
        if (item) yield item;
      }
    }
  }

  /**
   * Joins the open subscription, or opens one at the follower's place. Items received from now on are kept,
   * so a follower that joins and then reads the log misses nothing.
   */
  #join(follower: Follower): { readonly shared: SharedSubscription; readonly isOpen: boolean } {
    follower.leave();
    const open = this.#shared?.isOver === false ? this.#shared : null;
    const shared = open ?? new SharedSubscription(this.#parts.subscribe, follower.at);
    this.#shared = shared;
    shared.join(follower);
    return { shared, isOpen: open !== null };
  }

  /** Reads up to the end of the log, and at least as far as the subscription was when the follower joined. */
  async *#readBehind(
    follower: Follower,
    { lastEvent }: SharedSubscription,
    signal: AbortSignal,
  ): AsyncGenerator<SubscriptionItem, void, undefined> {
    const backoff = new Backoff();
    let isBehind = true;
    while (isBehind) {
      const page = await this.#page(follower, backoff, signal);
      for (const event of page) {
        if (follower.isOver) return;
        const item = follower.select({ kind: 'event', event });
        if (item) yield item;
      }
      if (follower.isOver) return;
      isBehind = page.length === PAGE || follower.at < lastEvent;
      // The node that answered the read may be behind the one that serves the subscription.
      if (isBehind && page.length === 0) await backoff.pause(signal);
    }
    const end = follower.select({ kind: 'caught-up' });
    if (end) yield end;
  }

  /** The next events; empty when the signal aborts. */
  async #page(follower: Follower, backoff: Backoff, signal: AbortSignal): Promise<readonly StoredEvent[]> {
    const after = follower.at < 0n ? null : follower.at;
    while (!signal.aborted) {
      try {
        return (await unlessAborted(signal, this.#parts.readAll(after, PAGE))) ?? [];
      } catch (error) {
        if (error instanceof CheckpointNotInLog) throw error;
        // A replaced log is reported once, where it is detected.
        if (!(error instanceof LogReplaced))
          reportFailure(this.#parts.log, 'read $all', { after: String(after) }, error);
        await backoff.pause(signal);
      }
    }
    return [];
  }
}

/** A function, because the compiler assumes that what was asked once never changes. */
const isOver = (follower: Follower): boolean => follower.isOver;

/** The result; null as soon as the signal aborts, so that no follower waits for an unreachable store. */
async function unlessAborted<T>(signal: AbortSignal, result: Promise<T>): Promise<T | null> {
  const aborted = Promise.withResolvers<null>();
  const stop = (): void => {
    aborted.resolve(null);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([result, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
