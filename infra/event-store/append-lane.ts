/**
 * The one way events leave the process. The client alone would wait for ever on a silent server, keep a failed feature
 * probe, and mix up the pending appends of all its instances, so there is one lane per process with a client of its own.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { EventStoreDBClient, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import type { AppendResult, JSONEventData } from '@eventstore/db-client';
import { WrongExpectedRevision } from '../../commands/kernel/ports.ts';
import type { ExpectedRevision, Log } from '../../commands/kernel/ports.ts';
import { Backoff } from './backoff.ts';
import { Slots } from './slots.ts';
import { classifyAppendFailure, storeUnavailable } from './store-errors.ts';

export interface AppendLaneOptions {
  readonly url: string;
  readonly log: Log;
  /** In all, with every resend. */
  readonly timeoutMs: number;
  /** For one try; on expiry the outcome is unknown. */
  readonly tryTimeoutMs: number;
  /** One call per append instead of the shared batch call. */
  readonly forceUnary: boolean;
}

/**
 * Appends under way at once. The shared call buffers 16 messages; with more, the client queues writes whose failure
 * becomes an unhandled rejection and ends the process.
 */
const MOST_UNDER_WAY = 15;

/** How long the calls of a silent client may take to end. */
const MOST_DISPOSE_MS = 1_000;

/** With credentials of its own a call is not batched; over an unencrypted channel the client leaves them out. */
const NOBODY = { username: '', password: '' };

export class AppendLane {
  readonly #options: AppendLaneOptions;
  readonly #slots = new Slots(MOST_UNDER_WAY);
  readonly #closed = new AbortController();
  #client: EventStoreDBClient;
  #pause: Promise<void> | null = null;

  constructor(options: AppendLaneOptions) {
    this.#options = options;
    this.#client = EventStoreDBClient.connectionString(options.url);
  }

  /**
   * Appends, resending the identical append while its outcome is unknown: same ids, same expectation. Throws
   * `WrongExpectedRevision`, the client's error for what the store refuses, or after the deadline `store_unavailable`:
   * then it may have been written, or still be.
   */
  async append(stream: string, expected: ExpectedRevision, events: JSONEventData[]): Promise<AppendResult> {
    const giveUpAt = performance.now() + this.#options.timeoutMs;
    if (!(await this.#slots.acquire(this.#options.timeoutMs)))
      throw storeUnavailable('too many appends wait');
    try {
      return await this.#untilSettled(giveUpAt, stream, (client, timeoutMs) =>
        client.appendToStream(stream, events, {
          expectedRevision: expected === 'no-stream' ? NO_STREAM : expected,
          deadline: timeoutMs,
          ...(this.#options.forceUnary ? { credentials: NOBODY } : {}),
        }),
      );
    } finally {
      this.#slots.release();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#pause;
    await this.#client.dispose();
  }

  async #untilSettled(
    giveUpAt: number,
    stream: string,
    attempt: (client: EventStoreDBClient, timeoutMs: number) => Promise<AppendResult>,
  ): Promise<AppendResult> {
    const backoff = new Backoff(20, 1_000);
    let cause: unknown = 'closed';
    for (;;) {
      await this.#pause;
      const leftMs = giveUpAt - performance.now();
      if (leftMs <= 0 || this.#closed.signal.aborted) throw storeUnavailable(cause);
      const client = this.#client;
      try {
        const timeoutMs = Math.ceil(Math.min(leftMs, this.#options.tryTimeoutMs));
        return await within(timeoutMs, attempt(client, timeoutMs));
      } catch (error) {
        cause = error;
        this.#decide(error, client, stream);
      }
      await backoff.pause(this.#closed.signal, giveUpAt - performance.now());
    }
  }

  /** Throws what is final; otherwise makes the lane ready for the next try. */
  #decide(error: unknown, client: EventStoreDBClient, stream: string): void {
    if (error instanceof WrongExpectedVersionError) {
      const { actualVersion } = error;
      throw new WrongExpectedRevision(
        stream,
        typeof actualVersion === 'bigint' ? actualVersion : 'no-stream',
      );
    }
    const failure = error instanceof NoAnswer ? 'resend' : classifyAppendFailure(error);
    if (failure === 'refused') throw error;
    this.#options.log.warn('append is sent again', { stream, error: String(error) });
    if (error instanceof NoAnswer) this.#reset(client, client);
    else if (failure === 'resend-on-new-client') this.#reset(client, null);
  }

  /**
   * Ends the calls of a client that fell silent, and goes on with `next` or a new one. Nothing else is sent meanwhile:
   * the end of the shared call rejects every pending append of the process, and a late answer to one of those throws
   * inside the client. A client whose calls are only silent is kept, because what it still waits for (the feature probe)
   * would later send abandoned appends over a second shared call.
   */
  #reset(failed: EventStoreDBClient, next: EventStoreDBClient | null): void {
    if (this.#pause || failed !== this.#client || this.#closed.signal.aborted) return;
    const ended = Promise.race([failed.dispose(), delay(MOST_DISPOSE_MS, undefined, { ref: false })]);
    this.#pause = ended.then(() => {
      this.#client = next ?? EventStoreDBClient.connectionString(this.#options.url);
      this.#pause = null;
    });
  }
}

class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${String(Math.round(timeoutMs))} ms`);
    this.name = 'NoAnswer';
  }
}

/** The promise, or `NoAnswer`. What it settles to afterwards is of no interest. */
function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const expiry = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new NoAnswer(timeoutMs));
    }, timeoutMs);
  });
  return Promise.race([promise, expiry]).finally(() => {
    clearTimeout(timer);
  });
}
