/** One subscription shared by several followers, each at its own pace. */
import type { EventFilter, SubscriptionItem } from '../../commands/ports/event-store.ts';
import type { Position } from '../../commands/values/position.ts';

/** Items kept for the slowest follower, and bytes of the log they span. A follower further behind reads the log instead. */
const MOST_KEPT = 1_000;
const MOST_BYTES = 8n * 1_048_576n;

/** A filtered follower gets a checkpoint after this many events that do not match. */
const CHECKPOINT_EVERY = 1_024;

const positionOf = (item: Exclude<SubscriptionItem, { kind: 'caught-up' }>): Position =>
  item.kind === 'event' ? item.event.position : item.position;

/** One follower and its place. */
export class Follower {
  /** The position of the last event returned or filtered out; -1n before the first. */
  at: Position;
  /** The number of its next item in the joined subscription. */
  next = 0;
  /** The joined subscription. */
  joined: SharedSubscription | null = null;
  /** As the signal, which costs more to ask for each event when it is made of several. */
  isOver: boolean;
  readonly #filter: EventFilter | undefined;
  readonly #signal: AbortSignal;
  #leftOut = 0;
  #isCaughtUp = false;
  #wake: ((nothing: null) => void) | null = null;

  constructor(from: Position | null, filter: EventFilter | undefined, signal: AbortSignal) {
    this.at = from ?? -1n;
    this.#filter = filter;
    this.#signal = signal;
    this.isOver = signal.aborted;
    signal.addEventListener('abort', this.#end, { once: true });
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#end);
    this.leave();
  }

  leave(): void {
    this.joined?.leave(this);
    this.joined = null;
  }

  /** The item for this follower: null when it was returned before, or when the filter excludes it. */
  select(item: SubscriptionItem): SubscriptionItem | null {
    if (item.kind === 'caught-up') return this.#catchUp(item);
    const position = positionOf(item);
    if (position <= this.at) return null;
    this.at = position;
    this.#leftOut =
      item.kind === 'checkpoint' || this.#matches(item.event.streamName) ? 0 : this.#leftOut + 1;
    if (this.#leftOut === 0) return item;
    return this.#leftOut % CHECKPOINT_EVERY === 0 ? { kind: 'checkpoint', position } : null;
  }

  /** Resolves with the next `wake`, or when the signal aborts. */
  woken(): Promise<null> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  readonly wake = (): void => {
    this.#wake?.(null);
    this.#wake = null;
  };

  readonly #end = (): void => {
    this.isOver = true;
    this.wake();
  };

  /** Reports the end of the log once, also when the subscription is reopened. */
  #catchUp(item: SubscriptionItem): SubscriptionItem | null {
    if (this.#isCaughtUp) return null;
    this.#isCaughtUp = true;
    return item;
  }

  #matches(streamName: string): boolean {
    return !this.#filter || this.#filter.streamPrefixes.some((prefix) => streamName.startsWith(prefix));
  }
}

export type Subscribe = (from: Position | null, signal: AbortSignal) => AsyncIterable<SubscriptionItem>;

/**
 * The fastest follower draws the next item, so a slow one does not delay the others. An item is kept until
 * every follower has taken it, at most `MOST_KEPT` items and `MOST_BYTES`: a follower further behind loses its place.
 */
export class SharedSubscription {
  /** The position of the last event received; -1n before the first. */
  lastEvent: Position = -1n;
  /** The position up to which everything was received: the start, an event or a checkpoint. */
  #reached: Position;
  /** True after it has reached the end of the log. */
  #isLive = false;
  readonly #source: AsyncIterator<SubscriptionItem>;
  readonly #ending = new AbortController();
  readonly #followers = new Set<Follower>();
  readonly #kept: SubscriptionItem[] = [];
  /** The number of the first item kept. */
  #first = 0;
  #isDrawing = false;
  #failure: { readonly error: unknown } | null = null;

  constructor(subscribe: Subscribe, from: Position) {
    this.#reached = from;
    this.#source = subscribe(from < 0n ? null : from, this.#ending.signal)[Symbol.asyncIterator]();
  }

  /** True when no more items follow: it failed or was ended. */
  get isOver(): boolean {
    return this.#ending.signal.aborted;
  }

  /** From now on every received item is kept for the follower. */
  join(follower: Follower): void {
    follower.next = this.#first + this.#kept.length;
    follower.joined = this;
    this.#followers.add(follower);
  }

  /** Ends the subscription with its last follower. */
  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.end();
  }

  /**
   * The next item of a follower. `none-yet`: the follower is woken when there is more. `lost`: its items are
   * no longer kept, or the subscription ended; it continues by reading the log. Throws the error the
   * subscription failed with.
   */
  take(follower: Follower): SubscriptionItem | 'none-yet' | 'lost' {
    if (follower.next < this.#first) return 'lost';
    const item = this.#kept[follower.next - this.#first];
    if (item) {
      follower.next += 1;
      return item;
    }
    if (this.#failure) throw this.#failure.error;
    if (this.isOver) return 'lost';
    if (!this.#isDrawing) void this.#draw();
    return 'none-yet';
  }

  /**
   * Ends the subscription if it has not reached the end of the log and is behind this follower, which has
   * read the log. The follower reopens it further on; the others read the log instead.
   */
  endIfBehind(follower: Follower): void {
    if (!this.#isLive && follower.at > this.#reached) this.end();
  }

  /** Ends the subscription. Its followers read the log from their own places, and join the next one. */
  end(): void {
    if (this.isOver) return;
    this.#ending.abort();
    // A source waiting at its last item releases its connection only here. Its result is irrelevant.
    void this.#source.return?.().catch(() => undefined);
    this.#wakeAll();
  }

  async #draw(): Promise<void> {
    this.#isDrawing = true;
    try {
      const result = await this.#source.next();
      if (result.done === true) this.end();
      else if (!this.isOver) this.#keep(result.value);
    } catch (error) {
      this.#failure = { error };
      this.end();
    }
    this.#isDrawing = false;
    this.#wakeAll();
  }

  #keep(item: SubscriptionItem): void {
    if (item.kind === 'caught-up') this.#isLive = true;
    else if (item.kind === 'checkpoint') this.#reached = item.position;
    else this.#reached = this.lastEvent = item.event.position;
    this.#kept.push(item);
    const lowest = Math.min(...[...this.#followers].map(({ next }) => next));
    const dropped = Math.max(lowest - this.#first, this.#kept.length - MOST_KEPT, this.#tooLong());
    if (dropped <= 0) return;
    this.#kept.splice(0, dropped);
    this.#first += dropped;
    for (const follower of this.#followers) if (follower.next < this.#first) this.#followers.delete(follower);
  }

  /** How many of the oldest items are further back than `MOST_BYTES`; positions count bytes of the log. */
  #tooLong(): number {
    const from = this.#reached - MOST_BYTES;
    let dropped = 0;
    for (const [index, item] of this.#kept.entries()) {
      if (item.kind === 'caught-up') continue;
      if (positionOf(item) >= from) break;
      dropped = index + 1;
    }
    return dropped;
  }

  #wakeAll(): void {
    for (const follower of this.#followers) follower.wake();
  }
}
