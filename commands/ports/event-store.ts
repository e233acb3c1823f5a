/** The event log: append at an exact revision, read, subscribe. */
import type { Position } from '../values/position.ts';
import type { NewEvent, StoredEvent } from '../values/event.ts';

/** The exact revision of the last known event, or that the stream must not exist. ANY is never used. */
export type ExpectedRevision = bigint | 'no-stream';

export interface Appended {
  readonly revision: bigint;
  readonly position: Position;
}

export type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'checkpoint'; readonly position: Position }
  | { readonly kind: 'caught-up' };

export interface EventFilter {
  /** Stream name prefixes such as `mailbox-`; system streams are always left out. */
  readonly streamPrefixes: readonly string[];
}

export interface EventStore {
  /**
   * Appends all events or none. Throws `WrongExpectedRevision`, or `GatewayError` `store_unavailable` when the store
   * does not answer in time; an unknown outcome is settled by resending the identical append.
   */
  append(streamName: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended>;
  /** The events of a stream in order, empty when it does not exist. Throws `store_unavailable`. */
  readStream(streamName: string, from?: bigint): Promise<readonly StoredEvent[]>;
  /** The newest event of a stream, or null. */
  readLast(streamName: string): Promise<StoredEvent | null>;
  /** The position of the last event in `$all`, or -1n when it is empty. */
  headPosition(): Promise<Position>;
  /**
   * Events of `$all` after a position (null = from the start), oldest first, without system events: at most `most`,
   * and fewer only near the end of the log. Throws `store_unavailable`.
   */
  readAll(after: Position | null, most: number): Promise<readonly StoredEvent[]>;
  /**
   * Every event after `from` (null = from the start), without end. The subscription reconnects automatically
   * from the last item it yielded. It ends only when the signal aborts.
   */
  subscribeToAll(
    from: Position | null,
    signal: AbortSignal,
    filter?: EventFilter,
  ): AsyncIterable<SubscriptionItem>;
}

/**
 * The stream is not at the revision the append expected. `actual` is null when the store did not report it.
 */
export class WrongExpectedRevision extends Error {
  readonly streamName: string;
  readonly actual: bigint | 'no-stream' | null;
  constructor(streamName: string, actual: bigint | 'no-stream' | null) {
    super(`stream ${streamName} is not at the expected revision`);
    this.name = 'WrongExpectedRevision';
    this.streamName = streamName;
    this.actual = actual;
  }
}
