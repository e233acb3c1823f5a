/** The `AccessLog` port: reads and refusals in this process's own stream `access-<run id>-<yyyymmddhh>` (`contract.md` 12). */
import {
  PolicyDenied,
  RefusalsCounted,
  RequestRefused,
  sourceOwnerAt,
} from '../../commands/kernel/access-events.ts';
import { EventMetadata } from '../../commands/values/event.ts';
import { envelope, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import type { AccessEntry, AccessLog, Clock, Ids, Log, PersonalData } from '../../commands/ports/ports.ts';
import type { EventStore } from '../../commands/ports/event-store.ts';
import { OwnStream, type WhenAway } from '../event-store/own-stream.ts';
import { type Counter, RefusalCounts, type RefusedFrom } from './refusal-counts.ts';

/** Recorded up to a limit per credential and minute; the others are counted (`contract.md` 12). */
const REFUSALS: ReadonlySet<string> = new Set([RequestRefused.type, PolicyDenied.type]);
const MOST_PER_APPEND = 100;
const COUNTS_EVERY_MS = 5_000;

export interface AccessStreamOptions {
  readonly events: EventStore;
  readonly ids: Ids;
  readonly personal: Pick<PersonalData, 'seal'>;
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

interface Counted {
  readonly count: Counter;
  readonly entry: AccessEntry;
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
        this.#count(String(entry.data['code']), { credentialId: credential }, org_id);
        return;
      }
    }
    await this.#stream.append(entry);
  }

  countRefusal(code: string, source: string): void {
    this.#count(code, { source }, null);
  }

  async flushCounts(): Promise<void> {
    const counts = this.#counts.takeFinished();
    const sealed = await this.#entriesOf(counts).catch((error: unknown) => {
      for (const count of counts) this.#counts.add(count);
      throw error;
    });
    await this.#store(sealed);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    const lost = (error: unknown): void => {
      this.#options.log.error('access log: counted refusals lost', { error: String(error) });
    };
    const sealed = await this.#entriesOf(this.#counts.takeAll()).catch((error: unknown) => {
      lost(error);
      return [];
    });
    // The last chance, so a recent failure is ignored.
    const stored = this.#store(sealed, 'keep').catch(lost);
    await this.#stream.close();
    await stored;
  }

  #count(code: string, from: RefusedFrom, orgId: string | null): void {
    this.#options.metrics?.refusalCounted(code);
    this.#counts.count(code, from, orgId);
  }

  async #store(counted: readonly Counted[], whenAway?: WhenAway): Promise<void> {
    const ends = await Promise.allSettled(counted.map(({ entry }) => this.#stream.append(entry, whenAway)));
    const failed = counted.filter((_, index) => ends[index]?.status === 'rejected');
    for (const { count } of failed) this.#counts.add(count);
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw failure.reason;
  }

  /** One after the other: the first one loads the key of the day. */
  async #entriesOf(counts: readonly Counter[]): Promise<readonly Counted[]> {
    const counted: Counted[] = [];
    for (const count of counts) counted.push({ count, entry: await this.#entryOf(count) });
    return counted;
  }

  async #entryOf({ orgId, credentialId, source, ...counted }: Counter): Promise<AccessEntry> {
    const { ids, clock, personal } = this.#options;
    const sealed = source === null ? null : await personal.seal(sourceOwnerAt(counted.minute), source);
    return {
      type: RefusalsCounted.type,
      data: { ...counted, credential_id: credentialId, source: sealed },
      metadata: envelope(systemAuthor({ ids }, orgId), RefusalsCounted, clock.now()),
    };
  }
}
