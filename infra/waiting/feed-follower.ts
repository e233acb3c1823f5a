/**
 * The `ChangeFeed` port: follows the feeds of all mailboxes and the operations, from the end of the log.
 * Earlier changes are read from the mailbox's streams when a cursor requires them.
 */
import { changesOf, feedStream } from '../../commands/feed/feed-events.ts';
import type {
  ChangeFeed,
  ChangesSoFar,
  FeedPlace,
  FeedWatch,
  ObservedChange,
} from '../../commands/ports/change-feed.ts';
import type { Clock, Locators, Log } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import { RecentChanges } from './recent-changes.ts';
import { Watches } from './watches.ts';
import { FEED_DAYS, isAfter } from '../../commands/ports/change-feed.ts';

const FEED = 'mailFeed-';
const OPERATION = 'operation-';
const DELIVERIES = 'webhookDeliveries-';
const ENDPOINT = 'webhookEndpoint-';

/** Changes kept in memory, a few hundred bytes each. */
const RECENT_CHANGES = 10_000;
const FOLLOW_AGAIN_AFTER_MS = 500;

export interface FeedFollowerOptions {
  readonly events: EventStore;
  readonly clock: Clock;
  readonly locators: Locators;
  readonly log: Log;
  readonly recentChanges?: number;
}

/** Follows from `start` on; earlier changes are read from the streams. */
export class FeedFollower implements ChangeFeed {
  readonly #options: FeedFollowerOptions;
  readonly #watches: Watches;
  readonly #stopping = new AbortController();
  readonly #head = new SingleFlight<Position>();
  #recent: RecentChanges;
  #reached: Position = -1n;
  #following: Promise<void> = Promise.resolve();
  #onFolderReset: (mailboxId: string) => void = () => undefined;

  constructor(options: FeedFollowerOptions) {
    this.#options = options;
    this.#watches = new Watches(options.clock);
    this.#recent = this.#nothingKept();
  }

  get reached(): Position {
    return this.#reached;
  }

  get isEnding(): boolean {
    return this.#watches.isEnding;
  }

  /** Starts at the end of the log. Throws `store_unavailable` when that cannot be read. */
  async start(): Promise<void> {
    await this.#startOver();
    this.#following = this.#follow();
  }

  /** Calls the listener with the mailbox when another folder has taken the place of one of its folders. It must not throw. */
  onFolderReset(listener: (mailboxId: string) => void): void {
    this.#onFolderReset = listener;
  }

  head(): Promise<Position> {
    return this.#head.ask('head', () => this.#options.events.headPosition());
  }

  watch(ids: readonly string[], signal: AbortSignal): FeedWatch {
    return this.#watches.open(ids, signal);
  }

  async changesAfter(mailboxId: string, after: FeedPlace): Promise<ChangesSoFar> {
    // Everything noted up to here is in the streams too, so a read that starts now misses none of it.
    const upTo = this.#reached;
    const recent = this.#recent.after(mailboxId, after);
    if (recent) return { changes: recent, upTo };
    const { events, clock } = this.#options;
    const parts = { events, clock, changesOf: (stored: StoredEvent) => this.#changesOf(stored) };
    const earlier = await readEarlierChanges(parts, mailboxId, after);
    return { changes: earlier.filter(({ position }) => position <= upTo), upTo };
  }

  /** Ends all waits, now and from now on. */
  end(): void {
    this.#watches.end();
  }

  /** Also ends the subscription. */
  async close(): Promise<void> {
    this.end();
    this.#stopping.abort();
    await this.#following;
  }

  /**
   * The subscription recovers automatically. It fails only when the log was replaced: then everything kept is
   * invalid.
   */
  async #follow(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#followOnce(signal);
      } catch (error) {
        log.warn('feed: subscribed again from the end of the log', { error: String(error) });
        await clock.sleep(FOLLOW_AGAIN_AFTER_MS, signal);
        await this.#startOver().catch(() => undefined); // store unavailable: retried
      }
    }
  }

  async #followOnce(signal: AbortSignal): Promise<void> {
    const from = this.#reached < 0n ? null : this.#reached;
    const filter = { streamPrefixes: [FEED, OPERATION, DELIVERIES, ENDPOINT] };
    for await (const item of this.#options.events.subscribeToAll(from, signal, filter)) {
      // A checkpoint may be beyond the last event here; a cursor from it would seem to be of another log.
      if (item.kind === 'event') this.#note(item.event);
    }
  }

  /** Synchronous: no reader sees a position reached before its changes are available. */
  #note(event: StoredEvent): void {
    const { streamName, position } = event;
    const id = streamName.startsWith(DELIVERIES)
      ? String(event.data['delivery_id'])
      : (streamName.split('-', 2)[1] ?? '');
    if (streamName.startsWith(FEED)) this.#recent.add(id, this.#changesOf(event));
    if (event.type === 'FolderReset') this.#onFolderReset(id);
    this.#reached = position;
    this.#watches.ring(id);
  }

  #changesOf(event: StoredEvent): readonly ObservedChange[] {
    const { locators, log } = this.#options;
    try {
      return changesOf(event, locators);
    } catch (error) {
      log.error('feed: event unreadable, waits miss it', {
        event_id: event.id,
        error: String(error),
      });
      return [];
    }
  }

  async #startOver(): Promise<void> {
    this.#reached = await this.#options.events.headPosition();
    this.#recent = this.#nothingKept();
    // Changes before this end were not noted, so each waiting caller reads the streams.
    this.#watches.ringAll();
  }

  #nothingKept(): RecentChanges {
    return new RecentChanges(this.#options.recentChanges ?? RECENT_CHANGES, this.#reached);
  }
}

/** Reads changes that are no longer in memory from the mailbox's own streams, one for each day. */
const DAY_MS = 86_400_000;

interface EarlierParts {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The changes an event contains. */
  readonly changesOf: (stored: StoredEvent) => readonly ObservedChange[];
}

/**
 * The changes of a mailbox after a place, oldest first. Reads days backwards until one begins at or before
 * the place, plus one day on either side: around midnight the writing processes may disagree on the day.
 * Throws `store_unavailable`.
 */
async function readEarlierChanges(
  { events, clock, changesOf }: EarlierParts,
  mailboxId: string,
  place: FeedPlace,
): Promise<readonly ObservedChange[]> {
  const found: ObservedChange[] = [];
  let last = FEED_DAYS + 1;
  for (let daysAgo = -1; daysAgo <= last; daysAgo += 1) {
    const day = new Date(clock.now().getTime() - daysAgo * DAY_MS);
    const stored = await events.readStream(feedStream(mailboxId, day));
    found.push(...stored.flatMap(changesOf).filter((change) => isAfter(change, place)));
    const [first] = stored;
    if (first && first.position <= place.position) last = Math.min(last, daysAgo + 1);
  }
  return found.sort((a, b) => Number(a.position - b.position) || a.index - b.index);
}
