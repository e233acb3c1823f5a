/** The log of the embedded node: rows, states, recent events and a writer that replaces lost sessions. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Pool } from 'pg';
import type { Log } from '../../../commands/ports/ports.ts';
import { CommitNotifier } from './commit-notifier.ts';
import { LogRows } from './log-rows.ts';
import { LogWriter } from './log-writer.ts';
import { RecentEvents } from './recent-events.ts';
import { StreamStates } from './stream-states.ts';
import type { WriteRequest } from './write-request.ts';
import { WriterLockHeld, WriterSession } from './writer-session.ts';

export interface EventLogOptions {
  readonly pool: Pool;
  /** A new connected client per call, never through a transaction pooler: it holds a session lock. */
  readonly directConnection: () => Promise<Client>;
  readonly log: Log;
  /** True without a transaction pooler; reads then use named statements. */
  readonly isPoolDirect?: boolean;
  /** How long to wait for a lock that a dying predecessor may hold. */
  readonly lockTimeoutMs: number;
  /** Called when another node took over while this one was disconnected. */
  readonly onOvertaken: () => void;
}

const RETRY_MS = { first: 50, most: 500 };

/** How often an idle writer confirms that it is still the writer: a frozen connection reports nothing. */
const CONFIRM_EVERY_MS = 2_000;

export class EventLog {
  readonly rows: LogRows;
  readonly states: StreamStates;
  readonly recent: RecentEvents;
  readonly bells = new CommitNotifier();
  readonly #options: EventLogOptions;
  readonly #writer: LogWriter;
  readonly #stopped = new AbortController();
  #confirming: NodeJS.Timeout | null = null;
  /** The epoch of this node's newest session. */
  #epoch = 0;
  #reopening: Promise<void> | null = null;

  private constructor(options: EventLogOptions) {
    this.#options = options;
    this.rows = new LogRows(options.pool, { prepared: options.isPoolDirect ?? false });
    this.states = new StreamStates(this.rows);
    this.recent = new RecentEvents(0);
    this.#writer = new LogWriter(this, (error) => {
      this.#lost(error);
    });
  }

  /**
   * Opens the log for writing. Throws `WriterLockHeld` when another node holds the lock, or the driver's
   * error.
   */
  static async open(options: EventLogOptions): Promise<EventLog> {
    const log = new EventLog(options);
    const giveUpAt = Date.now() + options.lockTimeoutMs;
    for (;;) {
      try {
        log.#attach(await log.#openSession());
        log.#confirming = setInterval(() => void log.#writer.confirm(), CONFIRM_EVERY_MS).unref();
        return log;
      } catch (error) {
        if (!(error instanceof WriterLockHeld) || Date.now() > giveUpAt) throw error;
        await delay(RETRY_MS.first);
      }
    }
  }

  /** False while another writer may be active: reads could then be stale. */
  get isReady(): boolean {
    return this.#writer.isAttached;
  }

  submit(request: WriteRequest): void {
    this.#writer.submit(request);
  }

  /** Refuses waiting requests, finishes the current commit and releases the lock. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    if (this.#confirming) clearInterval(this.#confirming);
    const session = this.#writer.detach();
    await this.#writer.idle();
    await session?.close();
    await this.#reopening;
  }

  #attach(session: WriterSession): void {
    this.#epoch = session.epoch;
    this.#writer.attach(session);
  }

  async #openSession(): Promise<WriterSession> {
    return WriterSession.open(await this.#options.directConnection(), (error) => {
      this.#lost(error);
    });
  }

  #lost(error: unknown): void {
    if (this.#stopped.signal.aborted || this.#reopening) return;
    this.#options.log.warn('event node: writer lost its session', { error: String(error) });
    this.#reopening = this.#reopen(this.#writer.detach()).finally(() => {
      this.#reopening = null;
    });
  }

  async #reopen(lost: WriterSession | null): Promise<void> {
    const { signal } = this.#stopped;
    await lost?.close();
    await this.#writer.idle();
    let reported = '';
    for (let waitMs = RETRY_MS.first; !signal.aborted; waitMs = Math.min(2 * waitMs, RETRY_MS.most)) {
      try {
        const session = await this.#openSession();
        if (this.#stopped.signal.aborted) await session.close();
        else this.#attach(session);
        return;
      } catch (error) {
        if (error instanceof WriterLockHeld && error.epoch > this.#epoch) this.#options.onOvertaken();
        // Logged once per reason: another writer may stay indefinitely.
        if (String(error) !== reported) {
          this.#options.log.warn('event node: writer not ready', { error: String(error) });
        }
        reported = String(error);
        await delay(waitMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
