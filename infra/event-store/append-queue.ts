/**
 * The only path for appends. The client alone would wait forever on a silent server, keep a failed feature
 * probe, and mix up the pending appends of all its instances. So each process has one queue with its own
 * client.
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
import { within } from '../concurrency/within.ts';
import type { StoreConnection } from './store-connection.ts';
import { CurrentConnection, MOST_CALLS_PER_CONNECTION, credentialsIn } from './store-connection.ts';
import { DiskFull } from '../platform/disk-full.ts';
import { classifyFailure, reportFailure, saysNoSpace, storeUnavailable } from './store-errors.ts';
import type { StoreFailure } from './store-errors.ts';

export interface AppendQueueOptions {
  readonly url: string;
  readonly log: Log;
  readonly known: KnownLog;
  /** Total, including every resend. */
  readonly timeoutMs: number;
  /** For one try; on expiry the outcome is unknown. */
  readonly tryTimeoutMs: number;
  /** One call per append instead of the shared batch call. */
  readonly forceUnary: boolean;
  /** Called for each append that failed because the disk is full. */
  readonly onNoSpace?: (error: DiskFull) => void;
}

/**
 * Concurrent appends. The limit bounds what the shared call buffers; without BatchAppend on the server each
 * append is a call of its own.
 */
const MOST_UNDER_WAY = MOST_CALLS_PER_CONNECTION;

/** The client does not batch calls with own credentials, and sends none over an unencrypted channel. */
const NOBODY = { username: '', password: '' };

interface OneAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: JSONEventData[];
  /** As `performance.now()`. */
  readonly giveUpAt: number;
}

export class AppendQueue {
  readonly #options: AppendQueueOptions;
  readonly #slots = new Semaphore(MOST_UNDER_WAY);
  readonly #closed = new AbortController();
  readonly #connections: CurrentConnection;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
    this.#connections = new CurrentConnection(options.url, options.log);
  }

  /**
   * Appends, and resends the identical append (same ids, same expectation) while its outcome is unknown. So
   * the result is correct even when the first try was written and other appends followed. Throws
   * `WrongExpectedRevision`; the client's error when the store refuses (too large, stream deleted: defects of
   * ours); `store_unavailable` after the deadline, when the append may be written already or later, and
   * immediately when the store denies access or its disk is full; `LogReplaced`.
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
        const ms = Math.min(leftMs, this.#options.tryTimeoutMs);
        return await within(ms, this.#try(connection, append), `no answer within ${ms.toFixed(0)} ms`);
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
   * One try. The log is compared before on a new connection, and afterwards if it reconnected meanwhile: an
   * append to another log is not acknowledged.
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
   * Sends the deadline of the whole append: the server compares it with its own clock, and a short deadline
   * would refuse everything once the clocks differ by that much.
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
   * Throws final errors; otherwise returns how to retry. Other tries over a failed connection may end there.
   * The end of the shared call rejects every pending append of the process, and those are resent too.
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
 * The stream's revision as the client reports it: -1 or "no stream" for a missing one. It also reports "no
 * stream" when the server gave no revision, so with an expectation of "no stream" the value is meaningless.
 */
function actualRevision(
  { actualVersion }: WrongExpectedVersionError,
  expected: ExpectedRevision,
): bigint | 'no-stream' | null {
  if (typeof actualVersion === 'bigint' && actualVersion >= 0n) return actualVersion;
  const isMissing = actualVersion === 'no_stream' || actualVersion === -1n;
  return isMissing && expected !== 'no-stream' ? 'no-stream' : null;
}
