/** The `AccessLog` port: reads and refusals in this process's own stream `access-<run id>-<yyyymmddhh>` (`contract.md` 12). */
import { PolicyDenied, RequestRefused } from '../../commands/kernel/access-events.ts';
import { EventMetadata } from '../../commands/values/event.ts';
import type { AccessEntry, AccessLog, Clock, Ids, Log } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import { OwnStream, type WhenAway } from '../event-store/own-stream.ts';
import { RefusalCounts } from './refusal-counts.ts';

/** Recorded up to a limit per credential and minute; the others are counted (`contract.md` 12). */
const REFUSALS: ReadonlySet<string> = new Set([RequestRefused.type, PolicyDenied.type]);
const MOST_PER_APPEND = 100;
const COUNTS_EVERY_MS = 5_000;

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

class OwnAccessStream implements AccessStream {
  readonly #options: AccessStreamOptions;
  readonly #counts: RefusalCounts;
  readonly #stream: OwnStream;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: AccessStreamOptions) {
    this.#options = options;
    this.#counts = new RefusalCounts(options);
    this.#stream = new OwnStream({
      ...options,
      name: 'access',
      mostPerAppend: MOST_PER_APPEND,
      what: 'the record of this access',
    });
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
    await this.#stream.append(entry);
  }

  countRefusal(code: string, source: string): void {
    this.#count(code, source, null);
  }

  async flushCounts(): Promise<void> {
    await this.#flushCounts(this.#counts.takeFinished());
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    // The last chance, so a recent failure is ignored.
    const counts = this.#flushCounts(this.#counts.takeAll(), 'keep');
    await this.#stream.close();
    await counts.catch((error: unknown) => {
      this.#options.log.error('access log: counted refusals lost', { error: String(error) });
    });
  }

  #count(code: string, source: string, orgId: string | null): void {
    this.#options.metrics?.refusalCounted(code);
    this.#counts.count(code, source, orgId);
  }

  async #flushCounts(entries: readonly AccessEntry[], whenAway?: WhenAway): Promise<void> {
    const ends = await Promise.allSettled(entries.map((entry) => this.#stream.append(entry, whenAway)));
    const failed = entries.filter((_, index) => ends[index]?.status === 'rejected');
    for (const entry of failed) this.#counts.putBack(entry);
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw failure.reason;
  }
}
