/**
 * The `AccessLog` port: this process's own stream `access-<run id>-<yyyymmddhh>` of reads and refusals
 * (`contract.md` 12). This process is its only writer, so entries that arrive during an append share the next
 * one.
 */
import { GatewayError } from '../../commands/values/errors.ts';
import { PolicyDenied, RequestRefused } from '../../commands/kernel/access-events.ts';
import { EventMetadata } from '../../commands/values/event.ts';
import { newEvents } from '../../commands/kernel/decide-and-append.ts';
import type { AccessEntry, AccessLog, Clock, Ids, Log } from '../../commands/ports/ports.ts';
import {
  type EventStore,
  type ExpectedRevision,
  WrongExpectedRevision,
} from '../../commands/ports/event-store.ts';
import { RefusalCounts } from './refusal-counts.ts';

/** Recorded up to a limit per credential and minute; the others are counted (`contract.md` 12). */
const REFUSALS: ReadonlySet<string> = new Set([RequestRefused.type, PolicyDenied.type]);
const MOST_PER_APPEND = 100;
/** More entries than this wait only when the store is stuck, which counts as unavailable. */
const MOST_WAITING = 5_000;
const COUNTS_EVERY_MS = 5_000;
/** After a failure, one append per second is tried; other entries are refused immediately. */
const AWAY_MS = 1_000;
const MAX_ATTEMPTS = 3;

export interface AccessStreamOptions {
  readonly events: EventStore;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  /** Random per process start, so that none of its streams exists yet. */
  readonly runId: string;
  readonly metrics?: { refusalCounted(code: string): void };
}

export interface AccessStream extends AccessLog {
  /** Appends the counts of finished minutes; called by the timer and by tests. */
  flushCounts(): Promise<void>;
  /** Appends waiting entries and all counts, then accepts no more. */
  close(): Promise<void>;
}

/** Opens the stream; writes nothing before the first entry. */
export function openAccessStream(options: AccessStreamOptions): AccessStream {
  const stream = new OwnAccessStream(options);
  stream.start();
  return stream;
}

interface Waiting {
  readonly entry: AccessEntry;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

class OwnAccessStream implements AccessStream {
  readonly #options: AccessStreamOptions;
  readonly #counts: RefusalCounts;
  readonly #waiting: Waiting[] = [];
  #appending: Promise<void> | null = null;
  #hour = '';
  /** Null = unknown, after an append without an answer. */
  #revision: ExpectedRevision | null = 'no-stream';
  #awayUntil = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: AccessStreamOptions) {
    this.#options = options;
    this.#counts = new RefusalCounts(options);
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.flushCounts().catch((error: unknown) => {
        this.#options.log.warn('access log: counted refusals not stored yet', { error: String(error) });
      });
    }, COUNTS_EVERY_MS).unref();
  }

  async record(entry: AccessEntry): Promise<void> {
    if (REFUSALS.has(entry.type)) {
      const { org_id, actor } = EventMetadata.parse(entry.metadata);
      const credential = actor.token_id ?? actor.session_id;
      if (credential !== null && !this.#counts.admits(credential)) {
        this.#count(String(entry.data['code']), credential, org_id);
        return;
      }
    }
    await this.#append(entry);
  }

  countRefusal(code: string, source: string): void {
    this.#count(code, source, null);
  }

  async flushCounts(): Promise<void> {
    await this.#flushCounts(this.#counts.takeFinished());
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    clearInterval(this.#timer);
    // The last chance, so a recent failure is ignored.
    this.#awayUntil = -Infinity;
    try {
      await this.#flushCounts(this.#counts.takeAll());
    } catch (error) {
      this.#options.log.error('access log: counted refusals lost', { error: String(error) });
    }
    this.#closed = true;
    await this.#appending;
  }

  #count(code: string, source: string, orgId: string | null): void {
    this.#options.metrics?.refusalCounted(code);
    this.#counts.count(code, source, orgId);
  }

  async #flushCounts(entries: readonly AccessEntry[]): Promise<void> {
    const ends = await Promise.allSettled(entries.map((entry) => this.#append(entry)));
    const failed = entries.filter((_, index) => ends[index]?.status === 'rejected');
    for (const entry of failed) this.#counts.putBack(entry);
    if (failed.length > 0) throw unavailable();
  }

  #append(entry: AccessEntry): Promise<void> {
    if (
      this.#closed ||
      this.#waiting.length >= MOST_WAITING ||
      this.#options.clock.elapsedMs() < this.#awayUntil
    ) {
      return Promise.reject(unavailable());
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject });
      this.#appending ??= this.#drain().finally(() => {
        this.#appending = null;
      });
    });
  }

  /** Appends immediately when idle; later entries join the next append, so a caller waits for two at most. */
  async #drain(): Promise<void> {
    // Entries of the same turn belong together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_PER_APPEND);
      try {
        await this.#write(batch.map(({ entry }) => entry));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#revision = null;
        this.#awayUntil = this.#options.clock.elapsedMs() + AWAY_MS;
        for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
      }
    }
  }

  async #write(entries: readonly AccessEntry[]): Promise<void> {
    const { events, ids, clock, runId } = this.#options;
    const hour = clock.now().toISOString().replace(/\D/g, '').slice(0, 10);
    if (hour !== this.#hour) {
      this.#hour = hour;
      this.#revision = 'no-stream';
    }
    const stream = `access-${runId}-${hour}`;
    const facts = newEvents(ids, stream, entries);
    for (let attempt = 1; ; attempt += 1) {
      this.#revision ??= await this.#revisionOf(stream);
      try {
        this.#revision = (await events.append(stream, this.#revision, facts)).revision;
        return;
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === MAX_ATTEMPTS) throw error;
        // An append without an answer was written after all: no other process writes here, so the end is
        // ours.
        this.#revision = null;
      }
    }
  }

  async #revisionOf(stream: string): Promise<ExpectedRevision> {
    return (await this.#options.events.readLast(stream))?.revision ?? 'no-stream';
  }
}

const unavailable = (): GatewayError =>
  new GatewayError('store_unavailable', 'The event store cannot take the record of this access; try again.');
