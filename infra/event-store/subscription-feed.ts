/**
 * One subscription of the client, read item by item. Checkpoints and "caught up" arrive beside the events,
 * ahead of a slow consumer. They are held back until every event received before them has been taken, so a
 * consumer that stores a position has seen all events up to it.
 */
import { START, excludeSystemEvents } from '@eventstore/db-client';
import type {
  AllStreamResolvedEvent,
  AllStreamSubscription,
  EventStoreDBClient,
  Filter,
  Position as StorePosition,
} from '@eventstore/db-client';
import type { Log } from '../../commands/ports/ports.ts';
import type { SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import { toStoredEvent } from './recorded-events.ts';

/** Events read ahead of the consumer. */
const READ_AHEAD = 1_000;

/** The server searches this many events per page, and sends a checkpoint after every fourth page. */
const SEARCH_WINDOW = 256;
const CHECKPOINT_WINDOWS = 4;

/** Larger positions are invalid: servers 24.2.0 to 24.10.4 end a catch-up without matches with 2⁶⁴ − 1. */
const NO_POSITION = 2n ** 63n;

/** More repeated events in a row mean that the start position is wrong. */
const MOST_REPEATED = 10;

/**
 * A place in the log as a server reports it. At an event both numbers are its position. With a smaller
 * `prepare` it is before the event at `commit`, behind all others up to there: the checkpoint of pages
 * without a match.
 */
export type Place = StorePosition;

export interface FeedOptions {
  /** Behind what was returned or searched; null = from the start. */
  readonly from: Place | null;
  readonly log: Log;
  /** Timeout for the confirmation by the server. */
  readonly confirmMs: number;
  /** Called with true when only old events arrive, with false when new ones arrive again or on close. */
  readonly setDeaf: (isDeaf: boolean) => void;
}

const isBehind = (place: Place, other: Place | null): boolean =>
  other === null ||
  place.commit > other.commit ||
  (place.commit === other.commit && place.prepare > other.prepare);

export class SubscriptionFeed {
  readonly #subscription: AllStreamSubscription;
  readonly #log: Log;
  readonly #setDeaf: (isDeaf: boolean) => void;
  readonly #confirmation: NodeJS.Timeout;
  #isConfirmed = false;
  #wake: (() => void) | null = null;
  #checkpoint: Place | null = null;
  #caughtUp = false;
  #failure: Error | null = null;
  #place: Place | null;
  /** Events skipped since the last new one. */
  #repeated = 0;

  constructor(client: EventStoreDBClient, { from, log, confirmMs, setDeaf }: FeedOptions) {
    this.#log = log;
    this.#setDeaf = setDeaf;
    this.#place = from;
    const subscription = client.subscribeToAll(
      { fromPosition: from ?? START, filter: this.#ourEvents() },
      { highWaterMark: READ_AHEAD },
    );
    this.#subscription = subscription;
    this.#confirmation = setTimeout(() => {
      this.#fail(new Error('the subscription was not confirmed'));
    }, confirmMs);
    subscription.on('confirmation', () => {
      clearTimeout(this.#confirmation);
      this.#isConfirmed = true;
      this.#ring();
    });
    subscription.on('readable', () => {
      this.#ring();
    });
    subscription.on('caughtUp', () => {
      this.#caughtUp = true;
      this.#ring();
    });
    subscription.on('error', (error: Error) => {
      this.#fail(error);
    });
    for (const ending of ['end', 'close'] as const) {
      subscription.on(ending, () => {
        this.#fail(new Error('the subscription ended'));
      });
    }
  }

  /** Behind everything returned and everything the server has searched since. */
  get place(): Place | null {
    return this.#place;
  }

  /** Resolves when the server has confirmed. Throws the error that ended the subscription before. */
  async confirmed(): Promise<void> {
    while (!this.#isConfirmed) {
      if (this.#failure) throw this.#failure;
      await this.changed();
    }
  }

  /** The next item; null if none is available. Throws the error of the subscription after its last event. */
  take(): SubscriptionItem | null {
    for (;;) {
      const resolved = this.#subscription.read() as AllStreamResolvedEvent | null;
      if (resolved === null) break;
      const event = this.#newEvent(resolved);
      if (event) return { kind: 'event', event };
    }
    // The buffer is empty: every event received before the checkpoint has been taken.
    const checkpoint = this.#checkpoint;
    this.#checkpoint = null;
    if (checkpoint !== null && isBehind(checkpoint, this.#place)) {
      this.#place = checkpoint;
      // One number cannot express a place beside an event: it is for the next subscription only.
      if (checkpoint.commit === checkpoint.prepare)
        return { kind: 'checkpoint', position: checkpoint.commit };
    }
    if (this.#caughtUp) {
      this.#caughtUp = false;
      return { kind: 'caught-up' };
    }
    if (this.#failure) throw this.#failure;
    return null;
  }

  /** Resolves when `take` may return something new. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the subscription; waiting callers fail. */
  close(): void {
    this.#setDeaf(false);
    this.#fail(new Error('closed'));
    void this.#subscription.unsubscribe().catch(() => undefined); // it may never have opened, or not yet
    this.#subscription.destroy();
  }

  /** The event, or null for one returned before: a consumer that counts events must not count it twice. */
  #newEvent({ event, link }: AllStreamResolvedEvent): StoredEvent | null {
    const recorded = event ?? link;
    if (!recorded) return null;
    const stored = toStoredEvent(recorded);
    const place = { commit: stored.position, prepare: stored.position };
    if (!isBehind(place, this.#place)) {
      this.#leaveOut(stored);
      return null;
    }
    if (this.#repeated >= MOST_REPEATED) this.#setDeaf(false);
    this.#repeated = 0;
    this.#place = place;
    return stored;
  }

  #leaveOut({ position }: StoredEvent): void {
    const line = { position: String(position), after: String(this.#place?.commit) };
    this.#repeated += 1;
    if (this.#repeated < MOST_REPEATED) this.#log.warn('subscription: repeated event skipped', line);
    if (this.#repeated !== MOST_REPEATED) return;
    this.#setDeaf(true);
    this.#log.error('subscription: only old events arrive, changes are missed', {
      ...line,
      advice: 'Restart this process. If that does not help, compare the event store with the database.',
    });
  }

  #ourEvents(): Filter {
    return excludeSystemEvents({
      maxSearchWindow: SEARCH_WINDOW,
      checkpointInterval: CHECKPOINT_WINDOWS,
      checkpointReached: (_subscription: AllStreamSubscription, { commit, prepare }: StorePosition): void => {
        // 0/0 is before the first.
        if (commit === 0n || commit >= NO_POSITION) return;
        this.#checkpoint = { commit, prepare };
        this.#ring();
      },
    });
  }

  #fail(error: Error): void {
    clearTimeout(this.#confirmation);
    this.#failure ??= error;
    this.#ring();
  }

  #ring(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
