/**
 * The one way events leave the process. The client alone would wait for ever on a silent server, keep a failed feature
 * probe, and mix up the pending appends of all its instances, so there is one lane per process with a client of its own.
 */
import { NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import type { AppendResult, EventStoreDBClient, JSONEventData } from '@eventstore/db-client';
import { WrongExpectedRevision } from '../../commands/ports/event-store.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { ExpectedRevision } from '../../commands/ports/event-store.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { LogReplaced } from './known-log.ts';
import type { KnownLog } from './known-log.ts';
import { Semaphore } from '../concurrency/semaphore.ts';
import type { StoreConnection } from './store-connection.ts';
import { MOST_CALLS_PER_CONNECTION, StoreConnections } from './store-connections.ts';
import { credentialsIn } from './store-connection.ts';
import { DiskFull } from '../platform/disk-full.ts';
import { classifyFailure, reportFailure, saysNoSpace, storeUnavailable } from './store-errors.ts';
import type { StoreFailure } from './store-errors.ts';

export interface AppendQueueOptions {
  readonly url: string;
  readonly log: Log;
  readonly known: KnownLog;
  /** In all, with every resend. */
  readonly timeoutMs: number;
  /** For one try; on expiry the outcome is unknown. */
  readonly tryTimeoutMs: number;
  /** One call per append instead of the shared batch call. */
  readonly forceUnary: boolean;
  /** Told of each append that found no room. */
  readonly onNoSpace?: (error: DiskFull) => void;
}

/**
 * Appends under way at once. It bounds what the shared call buffers; with a server that has no BatchAppend each is a call
 * of its own.
 */
const MOST_UNDER_WAY = MOST_CALLS_PER_CONNECTION;

/** With credentials of its own a call is not batched. Over an unencrypted channel the client leaves them out. */
const NOBODY = { username: '', password: '' };

interface OneAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: JSONEventData[];
  /** On the clock of `performance.now()`. */
  readonly giveUpAt: number;
}

export class AppendQueue {
  readonly #options: AppendQueueOptions;
  readonly #slots = new Semaphore(MOST_UNDER_WAY);
  readonly #closed = new AbortController();
  readonly #connections: StoreConnections;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
    this.#connections = new StoreConnections(options.url, options.log);
  }

  /**
   * Appends, resending the identical append while its outcome is unknown: same ids, same expectation. So the answer is
   * true even when the first try was written and others appended since. Throws `WrongExpectedRevision`; the client's error
   * for what the store refuses (too large, stream deleted: defects of ours); `store_unavailable` after the deadline,
   * when it may have been written or still be, and at once when the store denies access or has no room; `LogReplaced`.
   */
  async append(stream: string, expected: ExpectedRevision, events: JSONEventData[]): Promise<AppendResult> {
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    if (!(await this.#slots.acquire(this.#options.timeoutMs)))
      throw storeUnavailable('too many appends wait');
    try {
      return await this.#untilSettled({ stream, expected, events, giveUpAt });
    } finally {
      this.#slots.release();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#connections.close();
  }

  async #untilSettled(append: OneAppend): Promise<AppendResult> {
    const backoff = new Backoff();
    let cause: unknown = 'closed';
    for (;;) {
      const leftMs = append.giveUpAt - performance.now();
      if (leftMs <= 0 || this.#closed.signal.aborted) throw storeUnavailable(cause);
      const connection = this.#connections.acquire();
      try {
        return await within(Math.min(leftMs, this.#options.tryTimeoutMs), this.#try(connection, append));
      } catch (error) {
        cause = error;
        if (this.#decide(error, append) === 'again-elsewhere') this.#connections.discard(connection);
      } finally {
        this.#connections.release(connection);
      }
      await backoff.pause(this.#closed.signal, append.giveUpAt - performance.now());
    }
  }

  /**
   * One try. The log is looked at before when the connection is new, and again when it was made anew meanwhile: what
   * another log has taken is not acknowledged.
   */
  async #try(connection: StoreConnection, append: OneAppend): Promise<AppendResult> {
    const { known } = this.#options;
    await known.confirm(connection);
    const result = await this.#send(connection.client, append);
    await known.confirm(connection);
    const last = append.events.at(-1);
    if (result.position && last)
      known.appended(connection, { id: last.id, position: result.position.commit });
    return result;
  }

  /**
   * The server is told the deadline of the whole append: it compares it with its own clock, and a short one would
   * refuse everything once the two clocks differ by as much.
   */
  #send(
    client: EventStoreDBClient,
    { stream, expected, events, giveUpAt }: OneAppend,
  ): Promise<AppendResult> {
    const { url, forceUnary } = this.#options;
    return client.appendToStream(stream, events, {
      expectedRevision: expected === 'no-stream' ? NO_STREAM : expected,
      deadline: Math.ceil(giveUpAt - performance.now()),
      ...(forceUnary ? { credentials: credentialsIn(url)?.credentials ?? NOBODY } : {}),
    });
  }

  /**
   * Throws what is final; otherwise says how to try again. Tries that are still under way over a failed connection may
   * end there. Its own end then rejects every pending append of the process, and those are sent again too.
   */
  #decide(error: unknown, { stream, expected }: OneAppend): StoreFailure {
    if (error instanceof LogReplaced) throw error;
    if (error instanceof WrongExpectedVersionError) {
      throw new WrongExpectedRevision(stream, actualRevision(error, expected));
    }
    if (saysNoSpace(error)) {
      const full = new DiskFull(error);
      this.#options.onNoSpace?.(full);
      throw full;
    }
    const failure = classifyFailure(error);
    if (failure === 'refused') throw error;
    reportFailure(this.#options.log, 'append', { stream }, error);
    if (failure === 'denied') throw storeUnavailable(error);
    return failure;
  }
}

/**
 * Where the stream is by the client's word: it says -1 or "no stream" for a missing one, and "no stream" too when the
 * server gave no revision, so that beside an expectation of "no stream" it means nothing.
 */
function actualRevision(
  { actualVersion }: WrongExpectedVersionError,
  expected: ExpectedRevision,
): bigint | 'no-stream' | null {
  if (typeof actualVersion === 'bigint' && actualVersion >= 0n) return actualVersion;
  const isMissing = actualVersion === 'no_stream' || actualVersion === -1n;
  return isMissing && expected !== 'no-stream' ? 'no-stream' : null;
}

/** The promise, or an error when it takes too long. What it settles to afterwards is of no interest. */
function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const expiry = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${String(Math.round(timeoutMs))} ms`));
    }, timeoutMs);
  });
  return Promise.race([promise, expiry]).finally(() => {
    clearTimeout(timer);
  });
}
