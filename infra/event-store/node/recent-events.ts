/**
 * The newest committed events in memory, and the bell that rings after each commit: live subscribers are served from
 * here and go to the database only when they have fallen behind.
 */
import type { StoredRecord } from './stored-record.ts';

const MOST_EVENTS = 8192;
const MOST_BYTES = 16 * 1_048_576;

const weight = (record: StoredRecord): number => record.data.length + record.metadata.length;

export class RecentEvents {
  #records: StoredRecord[] = [];
  readonly #byId = new Map<string, StoredRecord>();
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  /** Every event after this position is in memory. */
  #floor: number;
  #last: number;

  constructor(lastPosition: number) {
    this.#floor = lastPosition;
    this.#last = lastPosition;
  }

  /** The last position given out; events up to it are committed. */
  get lastPosition(): number {
    return this.#last;
  }

  /** Starts over from the log's end: what happened since is only in the database. */
  restart(lastPosition: number): void {
    this.#records = [];
    this.#byId.clear();
    this.#bytes = 0;
    this.#floor = lastPosition;
    this.#last = lastPosition;
    this.#ring();
  }

  publish(records: readonly StoredRecord[]): void {
    for (const record of records) {
      this.#records.push(record);
      this.#byId.set(record.id, record);
      this.#bytes += weight(record);
      this.#last = record.position;
    }
    this.#trim();
    this.#ring();
  }

  byId(id: string): StoredRecord | undefined {
    return this.#byId.get(id);
  }

  /** The events after a position, oldest first, or null when memory does not reach back that far. */
  after(position: number): readonly StoredRecord[] | null {
    if (position < this.#floor) return null;
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#records[middle]?.position ?? Infinity) <= position) low = middle + 1;
      else high = middle;
    }
    return this.#records.slice(low);
  }

  /** Resolves when something after the position is committed, at every commit, or when the signal aborts. */
  moreThan(position: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#last > position) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.#waiting.add(wake);
    });
  }

  #ring(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Drops a half at a time, so that trimming costs little per event. */
  #trim(): void {
    if (this.#records.length <= MOST_EVENTS && this.#bytes <= MOST_BYTES) return;
    const dropped = this.#records.splice(0, Math.ceil(this.#records.length / 2));
    for (const record of dropped) {
      this.#bytes -= weight(record);
      this.#floor = record.position;
      if (this.#byId.get(record.id) === record) this.#byId.delete(record.id);
    }
  }
}
