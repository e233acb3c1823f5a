/** The `EventStore` port on the official client: the same code for the embedded node and a real server or cluster. */
import type { Appended, EventStore, Log, StoredEvent } from '../../commands/kernel/ports.ts';
import { requireEvents, requireStreamName } from './append-checks.ts';
import { AppendLane } from './append-lane.ts';
import { followAll } from './follow-all.ts';
import { toJsonEvent } from './recorded-events.ts';
import { StoreConnections } from './store-connections.ts';
import { StreamReader } from './stream-reader.ts';

export interface EventStoreOptions {
  /** `esdb://…`, a single node or a cluster. */
  readonly url: string;
  readonly log: Log;
  /** For an append with all its resends. */
  readonly appendTimeoutMs?: number;
  /** For one try of an append. */
  readonly appendTryTimeoutMs?: number;
  /** For a read with all its repetitions. */
  readonly readTimeoutMs?: number;
  /** How long one try of a read may hear nothing. */
  readonly readSilenceMs?: number;
  /** How long a subscription may take to be confirmed. */
  readonly confirmTimeoutMs?: number;
  /** Appends one call at a time, as with a server that has no BatchAppend. */
  readonly forceUnary?: boolean;
}

export interface ConnectedEventStore extends EventStore {
  /** Ends every call and subscription; what still waits fails with `store_unavailable`. */
  close(): Promise<void>;
}

/** Opens the store; connects lazily. One per process, because the client mixes up the appends of several. */
export function openEventStore(options: EventStoreOptions): ConnectedEventStore {
  const { url, log } = options;
  if (/[?&]throw[_-]*on[_-]*append[_-]*failure=\s*false/i.test(url)) {
    // The client then reports a revision of 1 whatever the stream is at.
    throw new TypeError('EVENTSTORE_URL must not set throwOnAppendFailure=false');
  }
  const lane = new AppendLane({
    url,
    log,
    timeoutMs: options.appendTimeoutMs ?? 10_000,
    tryTimeoutMs: options.appendTryTimeoutMs ?? 3_000,
    forceUnary: options.forceUnary ?? false,
  });
  const reader = new StreamReader({
    url,
    log,
    timeoutMs: options.readTimeoutMs ?? 10_000,
    silenceMs: options.readSilenceMs ?? 3_000,
  });
  const connections = new StoreConnections(url, log);
  const closed = new AbortController();
  return {
    append: async (streamName, expected, events): Promise<Appended> => {
      requireStreamName(streamName);
      requireEvents(events);
      const { nextExpectedRevision, position } = await lane.append(
        streamName,
        expected,
        events.map(toJsonEvent),
      );
      // Left out only for the repeat of an append to a stream deleted since; waiting for the end is enough then.
      return { revision: nextExpectedRevision, position: position?.commit ?? (await reader.endPosition()) };
    },
    readStream: async (streamName, from = 0n): Promise<readonly StoredEvent[]> => {
      requireStreamName(streamName);
      return reader.stream(streamName, from);
    },
    readLast: async (streamName): Promise<StoredEvent | null> => {
      requireStreamName(streamName);
      return reader.last(streamName);
    },
    headPosition: () => reader.headPosition(),
    readAll: (after, most) => reader.allAfter(after, most),
    subscribeToAll: (from, signal, filter) =>
      followAll(
        { connections, reader, log, confirmMs: options.confirmTimeoutMs ?? 5_000 },
        from,
        AbortSignal.any([signal, closed.signal]),
        filter,
      ),
    close: async (): Promise<void> => {
      closed.abort();
      await Promise.all([lane.close(), reader.close(), connections.close()]);
    },
  };
}
