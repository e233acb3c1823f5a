/**
 * A stream `<name>-<run id>-<yyyymmddhh>` that only this process writes: entries that arrive during an append share the
 * next one.
 */
import { newEvents } from '../../commands/kernel/decide-and-append.ts';
import {
  type EventStore,
  type ExpectedRevision,
  WrongExpectedRevision,
} from '../../commands/ports/event-store.ts';
import type { AccessEntry, Clock, Ids } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { NewEvent } from '../../commands/values/event.ts';

/** Characters in one append, but for the entry that reaches it: a store refuses one that is too large, every time. */
const MOST_CHARACTERS = 512 * 1024;
/** More entries than this wait only when the store is stuck, which counts as unavailable. */
const MOST_WAITING = 5_000;
/** After a failure, one append per second is tried. */
const AWAY_MS = 1_000;
const MAX_ATTEMPTS = 3;

export interface OwnStreamOptions {
  readonly events: EventStore;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Random per process start, so that none of its streams exists yet. */
  readonly runId: string;
  /** Entries in one append. */
  readonly mostPerAppend: number;
  /** The category of the stream. */
  readonly name: string;
  /** Its record, as an error names it. */
  readonly what: string;
  /** The id of the event of an entry; absent = a fresh one. */
  readonly idOf?: (entry: AccessEntry) => string;
}

/** `refuse`: fails with the append, and is not stored later. `keep`: is tried until it is stored. */
export type WhenAway = 'refuse' | 'keep';

interface Waiting {
  readonly entry: AccessEntry;
  readonly whenAway: WhenAway;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** One append: sent again exactly as it was, because the store recognises it. */
interface Batch {
  readonly stream: string;
  readonly facts: readonly NewEvent[];
}

export class OwnStream {
  readonly #options: OwnStreamOptions;
  #waiting: Waiting[] = [];
  #appending: Promise<void> | null = null;
  #stream = '';
  /** Null = unknown, after an append without an answer. */
  #revision: ExpectedRevision | null = 'no-stream';
  #awayUntil = -Infinity;
  readonly #closing = new AbortController();

  constructor(options: OwnStreamOptions) {
    this.#options = options;
  }

  /** True while entries wait for a store that does not take them. */
  get isAway(): boolean {
    return this.#options.clock.elapsedMs() < this.#awayUntil;
  }

  /** Resolves when the entry is in the stream. Throws `store_unavailable` when it is not, and will not be. */
  append(entry: AccessEntry, whenAway: WhenAway = 'refuse'): Promise<void> {
    const refused = whenAway === 'refuse' && this.isAway;
    if (this.#closing.signal.aborted || refused || this.#waiting.length >= MOST_WAITING)
      return Promise.reject(this.#unavailable());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, whenAway, resolve, reject });
      this.#appending ??= this.#drain();
    });
  }

  /** Gives waiting entries a last chance, then accepts no more. */
  async close(): Promise<void> {
    this.#awayUntil = -Infinity;
    this.#closing.abort();
    await this.#appending;
  }

  /** Appends immediately when idle; later entries join the next append, so a caller waits for two at most. */
  async #drain(): Promise<void> {
    // Entries of the same turn belong together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      await this.#settle(this.#takeBatch());
    }
    this.#appending = null;
  }

  #takeBatch(): readonly Waiting[] {
    let characters = 0;
    const last = this.#waiting.findIndex(({ entry }, place) => {
      characters += JSON.stringify(entry).length;
      return characters >= MOST_CHARACTERS || place + 1 === this.#options.mostPerAppend;
    });
    return this.#waiting.splice(0, last < 0 ? this.#waiting.length : last + 1);
  }

  async #settle(waiting: readonly Waiting[]): Promise<void> {
    const batch = this.#batchOf(waiting);
    let left = waiting;
    for (;;) {
      try {
        await this.#write(batch);
        for (const { resolve } of left) resolve();
        return;
      } catch (error) {
        this.#revision = null;
        this.#awayUntil = this.#options.clock.elapsedMs() + AWAY_MS;
        left = this.#refuse(left, error);
        this.#waiting = [...this.#refuse(this.#waiting, error)];
        if (left.length === 0) return;
        await this.#options.clock.sleep(AWAY_MS, this.#closing.signal);
      }
    }
  }

  /** Rejects what is not kept; returns the others. When the process ends, nothing is. */
  #refuse(waiting: readonly Waiting[], error: unknown): readonly Waiting[] {
    const keeps = (each: Waiting): boolean => each.whenAway === 'keep' && !this.#closing.signal.aborted;
    for (const each of waiting) if (!keeps(each)) each.reject(error);
    return waiting.filter(keeps);
  }

  #batchOf(waiting: readonly Waiting[]): Batch {
    const { ids, clock, runId, name, idOf } = this.#options;
    const hour = clock.now().toISOString().replace(/\D/g, '').slice(0, 10);
    const stream = `${name}-${runId}-${hour}`;
    if (stream !== this.#stream) {
      this.#stream = stream;
      this.#revision = 'no-stream';
    }
    const entries = waiting.map(({ entry }) => entry);
    return { stream, facts: newEvents(ids, stream, entries, idOf) };
  }

  async #write({ stream, facts }: Batch): Promise<void> {
    const { events } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const last = this.#revision === null ? await events.readLast(stream) : null;
      if (last !== null && last.id === facts.at(-1)?.id) {
        // An append without an answer was written after all.
        this.#revision = last.revision;
        return;
      }
      this.#revision ??= last?.revision ?? 'no-stream';
      try {
        this.#revision = (await events.append(stream, this.#revision, facts)).revision;
        return;
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === MAX_ATTEMPTS) throw error;
        // No other process writes here, so the end is ours.
        this.#revision = null;
      }
    }
  }

  #unavailable(): GatewayError {
    return new GatewayError(
      'store_unavailable',
      `The event store cannot take ${this.#options.what}; try again.`,
    );
  }
}
