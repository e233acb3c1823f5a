/** The `EventStore` port on the official client: the same code for the embedded node and a real server or cluster. */
import type { Log } from '../../commands/ports/ports.ts';
import type { Appended, EventStore } from '../../commands/ports/event-store.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { DiskFull } from '../platform/disk-full.ts';
import { AllStream } from './all-stream.ts';
import { requireEvents, requireStreamName } from './append-checks.ts';
import { AppendQueue } from './append-queue.ts';
import { followAll, readKnownLog } from './follow-all.ts';
import { KnownLog } from './known-log.ts';
import { toJsonEvent } from './recorded-events.ts';
import { CurrentConnection } from './store-connection.ts';
import { StreamReader } from './stream-reader.ts';

export interface EventStoreOptions {
  /** `esdb://…`, a single node or a cluster. */
  readonly url: string;
  readonly log: Log;
  /** For an append including all resends. */
  readonly appendTimeoutMs?: number;
  /** For one try of an append. */
  readonly appendTryTimeoutMs?: number;
  /** For a read including all retries. */
  readonly readTimeoutMs?: number;
  /** How long one try of a read may receive nothing. */
  readonly readSilenceMs?: number;
  /** Timeout for the confirmation of a subscription. */
  readonly confirmTimeoutMs?: number;
  /** One call per append, as with a server that has no BatchAppend. */
  readonly forceUnary?: boolean;
  /** Called for each append that failed because the disk is full. */
  readonly onNoSpace?: (error: DiskFull) => void;
}

export interface ConnectedEventStore extends EventStore {
  /**
   * Why the data of this store cannot be trusted, or null: it holds another log, or a subscription receives
   * only old events.
   */
  readonly trouble: string | null;
  /** Ends every call and subscription; pending ones fail with `store_unavailable`. */
  close(): Promise<void>;
}

/** Opens the store; connects lazily. One per process: the client mixes up the appends of several. */
export function openEventStore(options: EventStoreOptions): ConnectedEventStore {
  const { url, log } = options;
  if (/[?&]throw[_-]*on[_-]*append[_-]*failure=\s*false/i.test(url)) {
    // With it the client reports a revision of 1 for every stream.
    throw new TypeError('EVENTSTORE_URL must not set throwOnAppendFailure=false');
  }
  const reader = new StreamReader({
    url,
    log,
    timeoutMs: options.readTimeoutMs ?? 10_000,
    silenceMs: options.readSilenceMs ?? 3_000,
  });
  const known = new KnownLog(reader, log);
  const lane = new AppendQueue({
    url,
    log,
    known,
    timeoutMs: options.appendTimeoutMs ?? 10_000,
    tryTimeoutMs: options.appendTryTimeoutMs ?? 3_000,
    forceUnary: options.forceUnary ?? false,
    ...(options.onNoSpace && { onNoSpace: options.onNoSpace }),
  });
  const connections = new CurrentConnection(url, log);
  const closed = new AbortController();
  const parts = { connections, reader, known, log, confirmMs: options.confirmTimeoutMs ?? 5_000 };
  const all = new AllStream({
    subscribe: (from, signal) => followAll(parts, from, AbortSignal.any([signal, closed.signal])),
    readAll: (after, most) => readKnownLog(parts, after, most),
    log,
  });
  return {
    get trouble() {
      return known.trouble;
    },
    append: async (streamName, expected, events): Promise<Appended> => {
      requireStreamName(streamName);
      requireEvents(events);
      const jsonEvents = events.map(toJsonEvent);
      const { nextExpectedRevision, position } = await lane.append(streamName, expected, jsonEvents);
      // Missing only for the repeat of an append to a stream deleted since; the end is sufficient then.
      return { revision: nextExpectedRevision, position: position?.commit ?? (await reader.endPosition()) };
    },
    ...readsOf(reader, known),
    subscribeToAll: (from, signal, filter) =>
      all.follow(from, AbortSignal.any([signal, closed.signal]), filter),
    close: async (): Promise<void> => {
      closed.abort();
      await Promise.all([lane.close(), reader.close(), connections.close()]);
    },
  };
}

type Reads = Pick<EventStore, 'readStream' | 'readLast' | 'headPosition' | 'readAll'>;

/** Refuses reads of a replaced log: no decision may depend on them. */
const readsOf = (reader: StreamReader, known: KnownLog): Reads => ({
  readStream: async (streamName, from = 0n): Promise<readonly StoredEvent[]> => {
    requireStreamName(streamName);
    known.refuseOther();
    return reader.stream(streamName, from);
  },
  readLast: async (streamName): Promise<StoredEvent | null> => {
    requireStreamName(streamName);
    known.refuseOther();
    return reader.last(streamName);
  },
  headPosition: async () => {
    known.refuseOther();
    const head = await reader.head();
    known.begin(head);
    return head?.position ?? -1n;
  },
  readAll: async (after, most) => {
    known.refuseOther();
    return reader.allAfter(after, most);
  },
});
