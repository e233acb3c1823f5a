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
import type { EventFilter, Position, SubscriptionItem } from '../../commands/kernel/ports.ts';
import { toStoredEvent } from './recorded-events.ts';

/** Events read ahead of the consumer. */
const READ_AHEAD = 1_000;

/** The server looks through so many events per page and tells its place after each fourth page. */
const SEARCH_WINDOW = 256;
const CHECKPOINT_WINDOWS = 4;

export class SubscriptionFeed {
  readonly #subscription: AllStreamSubscription;
  #wake: (() => void) | null = null;
  #checkpoint: Position | null = null;
  #caughtUp = false;
  #failure: Error | null = null;
  #handedOut: Position;

  constructor(client: EventStoreDBClient, from: Position | null, filter: EventFilter | undefined) {
    this.#handedOut = from ?? -1n;
    const subscription = client.subscribeToAll(
      {
        fromPosition: from === null ? START : { commit: from, prepare: from },
        filter: this.#serverFilter(filter),
      },
      { highWaterMark: READ_AHEAD },
    );
    this.#subscription = subscription;
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
    const resolved: unknown = this.#subscription.read();
    if (resolved !== null) return this.#event(resolved as AllStreamResolvedEvent);
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
  async close(): Promise<void> {
    this.#fail(new Error('closed'));
    await this.#subscription.unsubscribe().catch(() => undefined); // it may never have been opened
    this.#subscription.destroy();
  }

  #event({ event, link }: AllStreamResolvedEvent): SubscriptionItem | null {
    const recorded = event ?? link;
    if (!recorded) return this.take();
    const stored = toStoredEvent(recorded);
    this.#handedOut = stored.position;
    return { kind: 'event', event: stored };
  }

  #serverFilter(filter: EventFilter | undefined): Filter {
    const options = {
      maxSearchWindow: SEARCH_WINDOW,
      checkpointInterval: CHECKPOINT_WINDOWS,
      checkpointReached: (_subscription: AllStreamSubscription, { commit, prepare }: StorePosition): void => {
        // Elsewhere than at an event the pair differs, and one number would not lead back there.
        if (commit !== prepare) return;
        this.#checkpoint = commit;
        this.#ring();
      },
    };
    return filter
      ? streamNameFilter({ prefixes: [...filter.streamPrefixes], ...options })
      : excludeSystemEvents(options);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#ring();
  }

  #ring(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
