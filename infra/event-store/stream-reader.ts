/** Finite reads with a deadline, which the client lacks, retried while the store is unreachable. */
import {
  BACKWARDS,
  END,
  FORWARDS,
  START,
  StreamDeletedError,
  StreamNotFoundError,
} from '@eventstore/db-client';
import type {
  AllStreamResolvedEvent,
  EventStoreDBClient,
  ResolvedEvent,
  StreamingRead,
} from '@eventstore/db-client';
import type { Log } from '../../commands/ports/ports.ts';
import type { StoredEvent } from '../../commands/values/event.ts';
import type { Position } from '../../commands/values/position.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { toStoredEvent } from './recorded-events.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import { CurrentConnection, MOST_CALLS_PER_CONNECTION } from './store-connection.ts';
import { classifyFailure, isDenial, reportFailure, storeUnavailable } from './store-errors.ts';

export interface StreamReaderOptions {
  readonly url: string;
  readonly log: Log;
  /** For a read including all retries. */
  readonly timeoutMs: number;
  /** How long one try may receive nothing before another connection is tried. */
  readonly silenceMs: number;
}

type Resolved = ResolvedEvent | AllStreamResolvedEvent;

/** System events at the end of a real log that the lookup of the head skips. */
const SYSTEM_EVENTS_SKIPPED = 32;

export class StreamReader {
  readonly #options: StreamReaderOptions;
  readonly #connections: CurrentConnection;
  /** As many reads as fit on one connection; more reads wait. */
  readonly #slots = new Semaphore(MOST_CALLS_PER_CONNECTION);
  readonly #closed = new AbortController();

  constructor(options: StreamReaderOptions) {
    this.#options = options;
    this.#connections = new CurrentConnection(options.url, options.log);
  }

  /** The events of a stream; empty for a missing or deleted one. From the leader: decisions load here. */
  async stream(name: string, from: bigint): Promise<readonly StoredEvent[]> {
    return this.#read((client) =>
      client.readStream(name, { fromRevision: from === 0n ? START : from, requiresLeader: true }),
    );
  }

  async last(name: string): Promise<StoredEvent | null> {
    const newest = { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true } as const;
    const events = await this.#read((client) => client.readStream(name, newest));
    return events[0] ?? null;
  }

  /** Events after a position. The server refuses one that is not an event's (the end of another log). */
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

  /**
   * The newest event that is not a system event, or the newest of all when only those are near; null for an
   * empty log.
   */
  async head(): Promise<StoredEvent | null> {
    const newest = await this.#newestOfAll(SYSTEM_EVENTS_SKIPPED);
    return newest.find(({ type }) => !type.startsWith('$')) ?? newest[0] ?? null;
  }

  /** The event at a position; null beyond the end or between events. From the leader. */
  async eventAt(position: Position): Promise<StoredEvent | null> {
    const fromPosition = { commit: position, prepare: position };
    const one = { direction: FORWARDS, fromPosition, maxCount: 1, requiresLeader: true } as const;
    const found = await this.#read((client) => client.readAll(one)).catch((error: unknown) => {
      if (classifyFailure(error) === 'refused') return []; // an invalid position
      throw error;
    });
    return found[0]?.position === position ? found[0] : null;
  }

  /** The last position of the log, system events included. */
  async endPosition(): Promise<Position> {
    return (await this.#newestOfAll(1))[0]?.position ?? -1n;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#connections.close();
  }

  /** Forwards, from `from` inclusive. From the leader: a page that is not full means the end of the log. */
  #pageOfAll(from: Position | null, maxCount: number): Promise<readonly StoredEvent[]> {
    const fromPosition = from === null || from < 0n ? START : { commit: from, prepare: from };
    const page = { direction: FORWARDS, fromPosition, maxCount, requiresLeader: true } as const;
    return this.#read((client) => client.readAll(page));
  }

  /** From the leader: a follower may lag behind what this process has already read. */
  #newestOfAll(maxCount: number): Promise<readonly StoredEvent[]> {
    const newest = { direction: BACKWARDS, fromPosition: END, maxCount, requiresLeader: true } as const;
    return this.#read((client) => client.readAll(newest));
  }

  async #read(open: OpenRead): Promise<readonly StoredEvent[]> {
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    if (!(await this.#slots.acquire(this.#options.timeoutMs))) throw storeUnavailable('too many reads wait');
    try {
      return await this.#untilRead(open, giveUpAt);
    } finally {
      this.#slots.release();
    }
  }

  /** Retries until the deadline: a read changes nothing. */
  async #untilRead(open: OpenRead, giveUpAt: number): Promise<readonly StoredEvent[]> {
    const backoff = new Backoff();
    let cause: unknown = 'closed';
    for (;;) {
      const leftMs = giveUpAt - performance.now();
      if (leftMs < 1 || this.#closed.signal.aborted) throw storeUnavailable(cause);
      const connection = this.#connections.acquire();
      try {
        return await this.#collect(open(connection.client), leftMs);
      } catch (error) {
        if (error instanceof StreamNotFoundError || error instanceof StreamDeletedError) return [];
        const failure = classifyFailure(error);
        if (failure === 'refused' || error instanceof TypeError) throw error;
        if (failure === 'again-elsewhere') this.#connections.discard(connection);
        reportFailure(this.#options.log, 'read', {}, error);
        if (isDenial(error)) throw storeUnavailable(error);
        cause = error;
      } finally {
        this.#connections.release(connection);
      }
      await backoff.pause(this.#closed.signal, giveUpAt - performance.now());
    }
  }

  async #collect(read: StreamingRead<Resolved>, timeoutMs: number): Promise<StoredEvent[]> {
    // The client emits errors of abandoned reads; without a listener they end the process.
    read.on('error', () => undefined);
    const end = (reason: string) => (): void => {
      read.destroy(new Error(reason));
    };
    // A read interrupted by its own client ends as if it were complete.
    const close = end('closed');
    this.#closed.signal.addEventListener('abort', close, { once: true });
    const deadline = setTimeout(end('the read took too long'), timeoutMs);
    const silence = setTimeout(end('the read fell silent'), Math.min(timeoutMs, this.#options.silenceMs));
    const events: StoredEvent[] = [];
    try {
      for await (const { event } of read) {
        silence.refresh();
        if (event) events.push(toStoredEvent(event));
      }
      return events;
    } catch (error) {
      void read.cancel().catch(() => undefined); // it may never have been opened, or not yet
      throw error;
    } finally {
      clearTimeout(deadline);
      clearTimeout(silence);
      this.#closed.signal.removeEventListener('abort', close);
    }
  }
}

type OpenRead = (client: EventStoreDBClient) => StreamingRead<Resolved>;
