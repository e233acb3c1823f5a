/**
 * One subscription of the client, taken item by item. Checkpoints and "caught up" come beside the events and ahead of a
 * slow consumer; they are held back until every event received before them has been taken, so whoever stores a position
 * has seen all events up to it.
 */
import { START, excludeSystemEvents, streamNameFilter } from '@eventstore/db-client';
import type {
  AllStreamResolvedEvent,
  AllStreamSubscription,
  EventStoreDBClient,
  Filter,
  Position as StorePosition,
} from '@eventstore/db-client';
import type {
  EventFilter,
  Log,
  Position,
  StoredEvent,
  SubscriptionItem,
} from '../../commands/kernel/ports.ts';
import { toStoredEvent } from './recorded-events.ts';

/** Events read ahead of the consumer. */
const READ_AHEAD = 1_000;

/** The server looks through so many events per page and tells its place after each fourth page. */
const SEARCH_WINDOW = 256;
const CHECKPOINT_WINDOWS = 4;

export interface FeedOptions {
  /** Where the last item handed out stood; null = from the start. */
  readonly from: Position | null;
  readonly filter: EventFilter | undefined;
  readonly log: Log;
  /** How long the server may take to confirm the subscription. */
  readonly confirmMs: number;
}

export class SubscriptionFeed {
  readonly #subscription: AllStreamSubscription;
  readonly #log: Log;
  readonly #confirmation: NodeJS.Timeout;
  #wake: (() => void) | null = null;
  #checkpoint: Position | null = null;
  #caughtUp = false;
  #failure: Error | null = null;
  #handedOut: Position;

  constructor(client: EventStoreDBClient, { from, filter, log, confirmMs }: FeedOptions) {
    this.#log = log;
    this.#handedOut = from ?? -1n;
    const subscription = client.subscribeToAll(
      {
        fromPosition: from === null ? START : { commit: from, prepare: from },
        filter: this.#serverFilter(filter),
      },
      { highWaterMark: READ_AHEAD },
    );
    this.#subscription = subscription;
    this.#confirmation = setTimeout(() => {
      this.#fail(new Error('the subscription was not confirmed'));
    }, confirmMs);
    subscription.on('confirmation', () => {
      clearTimeout(this.#confirmation);
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

  /** The next item, or null when nothing is here yet. Throws what ended the subscription, after its last event. */
  take(): SubscriptionItem | null {
    for (;;) {
      const resolved = this.#subscription.read() as AllStreamResolvedEvent | null;
      if (resolved === null) break;
      const event = this.#newEvent(resolved);
      if (event) return { kind: 'event', event };
    }
    // An empty buffer: every event that came before the checkpoint has been taken.
    const checkpoint = this.#checkpoint;
    this.#checkpoint = null;
    if (checkpoint !== null && checkpoint > this.#handedOut) {
      this.#handedOut = checkpoint;
      return { kind: 'checkpoint', position: checkpoint };
    }
    if (this.#caughtUp) {
      this.#caughtUp = false;
      return { kind: 'caught-up' };
    }
    if (this.#failure) throw this.#failure;
    return null;
  }

  /** Resolves when `take` is worth another look. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the subscription and whoever waits for it. */
  close(): void {
    this.#fail(new Error('closed'));
    void this.#subscription.unsubscribe().catch(() => undefined); // it may never have been opened, or not yet
    this.#subscription.destroy();
  }

  /** The event, or null for one handed out before: whoever counts events must not count it twice. */
  #newEvent({ event, link }: AllStreamResolvedEvent): StoredEvent | null {
    const recorded = event ?? link;
    if (!recorded) return null;
    const stored = toStoredEvent(recorded);
    if (stored.position <= this.#handedOut) {
      const place = { position: String(stored.position), after: String(this.#handedOut) };
      this.#log.warn('an event that came again was left out', place);
      return null;
    }
    this.#handedOut = stored.position;
    return stored;
  }

  #serverFilter(filter: EventFilter | undefined): Filter {
    const options = {
      maxSearchWindow: SEARCH_WINDOW,
      checkpointInterval: CHECKPOINT_WINDOWS,
      checkpointReached: (_subscription: AllStreamSubscription, { commit, prepare }: StorePosition): void => {
        // Elsewhere than at an event the pair differs, and one number would not lead back there. 0/0 is before the first.
        if (commit !== prepare || commit === 0n) return;
        this.#checkpoint = commit;
        this.#ring();
      },
    };
    return filter
      ? streamNameFilter({ prefixes: [...filter.streamPrefixes], ...options })
      : excludeSystemEvents(options);
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
