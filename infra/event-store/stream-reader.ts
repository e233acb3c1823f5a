/** Reads that end, with the deadline the client does not give them, repeated while the store is away. */
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  START,
  StreamDeletedError,
  StreamNotFoundError,
} from '@eventstore/db-client';
import type { AllStreamResolvedEvent, ResolvedEvent, StreamingRead } from '@eventstore/db-client';
import type { Log, Position, StoredEvent } from '../../commands/kernel/ports.ts';
import { Backoff } from './backoff.ts';
import { toStoredEvent } from './recorded-events.ts';
import { storeUnavailable } from './store-errors.ts';

export interface StreamReaderOptions {
  readonly url: string;
  readonly log: Log;
  readonly timeoutMs: number;
}

type Resolved = ResolvedEvent | AllStreamResolvedEvent;

/** System events at the end of a real log that the head look-up is ready to step over. */
const SYSTEM_EVENTS_SKIPPED = 32;

export class StreamReader {
  readonly #options: StreamReaderOptions;
  readonly #client: EventStoreDBClient;
  readonly #closed = new AbortController();

  constructor(options: StreamReaderOptions) {
    this.#options = options;
    this.#client = EventStoreDBClient.connectionString(options.url);
  }

  /** The events of a stream in order; empty for a missing or deleted one. Decisions load here, so the leader is asked. */
  async stream(name: string, from: bigint): Promise<readonly StoredEvent[]> {
    return this.#read(() =>
      this.#client.readStream(name, { fromRevision: from === 0n ? START : from, requiresLeader: true }),
    );
  }

  async last(name: string): Promise<StoredEvent | null> {
    const events = await this.#read(() =>
      this.#client.readStream(name, {
        direction: BACKWARDS,
        fromRevision: END,
        maxCount: 1,
        requiresLeader: true,
      }),
    );
    return events[0] ?? null;
  }

  /** Events after a position; one that is no event's (the end of another log) is refused by the server. */
  async allAfter(position: Position | null, most: number): Promise<readonly StoredEvent[]> {
    const found: StoredEvent[] = [];
    let after = position;
    for (;;) {
      const page = await this.#pageOfAll(after, most + 1);
      found.push(...page.filter((event) => event.position !== after && !event.type.startsWith('$')));
      if (found.length >= most || page.length <= most) return found.slice(0, most);
      after = page.at(-1)?.position ?? after;
    }
  }

  /** The newest position that is not a system event's, or the newest of all when only those are near; -1n when empty. */
  async headPosition(): Promise<Position> {
    const newest = await this.#newestOfAll(SYSTEM_EVENTS_SKIPPED);
    return (newest.find(({ type }) => !type.startsWith('$')) ?? newest[0])?.position ?? -1n;
  }

  /** The last position of all, system events included. */
  async endPosition(): Promise<Position> {
    return (await this.#newestOfAll(1))[0]?.position ?? -1n;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#client.dispose();
  }

  /** Forwards, the event at `from` included. */
  #pageOfAll(from: Position | null, maxCount: number): Promise<readonly StoredEvent[]> {
    const fromPosition = from === null || from < 0n ? START : { commit: from, prepare: from };
    return this.#read(() => this.#client.readAll({ direction: FORWARDS, fromPosition, maxCount }));
  }

  #newestOfAll(maxCount: number): Promise<readonly StoredEvent[]> {
    return this.#read(() => this.#client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount }));
  }

  /** Reads again until the deadline: a read changes nothing, and the client reconnects on its next call. */
  async #read(open: () => StreamingRead<Resolved>): Promise<readonly StoredEvent[]> {
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    const backoff = new Backoff(20, 1_000);
    for (;;) {
      try {
        return await collect(open(), Math.max(1, giveUpAt - performance.now()));
      } catch (error) {
        if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return [];
        const leftMs = giveUpAt - performance.now();
        if (leftMs <= 0 || this.#closed.signal.aborted) throw storeUnavailable(error);
        this.#options.log.warn('read is tried again', { error: String(error) });
        await backoff.pause(this.#closed.signal, leftMs);
      }
    }
  }
}

async function collect(read: StreamingRead<Resolved>, timeoutMs: number): Promise<StoredEvent[]> {
  // The client reports errors of a read that nobody listens to any more; without a listener they end the process.
  read.on('error', () => undefined);
  const timer = setTimeout(() => {
    read.destroy(new Error('the read took too long'));
  }, timeoutMs);
  const events: StoredEvent[] = [];
  try {
    for await (const { event } of read) if (event) events.push(toStoredEvent(event));
    return events;
  } catch (error) {
    await read.cancel().catch(() => undefined); // it may never have been opened
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
