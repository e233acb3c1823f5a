/**
 * The newest committed events in memory, each once, as the answer that readers receive. Live subscribers read from here, and
 * from the database only when they have fallen behind; so do forward reads of a stream, from the first revision that is here.
 * Bounded by number and by bytes.
 */
import { keptRecord } from './read-answers.ts';
import { PAGE_BYTES, PAGE_EVENTS } from './stored-record.ts';
import type { KeptRecord, StoredRecord } from './stored-record.ts';

const MOST_EVENTS = 8192;
const MOST_BYTES = 16 * 1_048_576;

export class RecentEvents {
  #records: KeptRecord[] = [];
  readonly #byId = new Map<string, KeptRecord>();
  /** Of each stream the newest events, one after the other. */
  readonly #byStream = new Map<string, KeptRecord[]>();
  #bytes = 0;
  /** Every event after this position is in memory. */
  #floor: number;
  #last: number;

  constructor(lastPosition: number) {
    this.#floor = lastPosition;
    this.#last = lastPosition;
  }

  /** Position of the last event of the log; 0 for an empty log. */
  get lastPosition(): number {
    return this.#last;
  }

  /** Bytes kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Restarts at the log's last event: events written meanwhile are only in the database. */
  restart(lastPosition: number): void {
    this.#records = [];
    this.#byId.clear();
    this.#byStream.clear();
    this.#bytes = 0;
    this.#floor = lastPosition;
    this.#last = lastPosition;
  }

  publish(records: readonly StoredRecord[]): void {
    for (const record of records.map(keptRecord)) {
      this.#records.push(record);
      if (!this.#byId.has(record.id)) this.#byId.set(record.id, record);
      const stream = this.#byStream.get(record.stream);
      if (stream === undefined) this.#byStream.set(record.stream, [record]);
      else stream.push(record);
      this.#bytes += record.encoded.length;
      this.#last = record.position;
    }
    this.#trim();
  }

  /** The first record with this id, as in a real server's cache. */
  byId(id: string): StoredRecord | undefined {
    return this.#byId.get(id);
  }

  /** A page of the events after a position, oldest first; null when memory does not go back that far. */
  after(position: number): readonly StoredRecord[] | null {
    if (position < this.#floor) return null;
    const from = this.#firstAfter(position);
    const first = this.#records[from];
    return first ? this.#records.slice(from, this.#firstAfter(first.position + PAGE_BYTES)) : [];
  }

  /**
   * A page of a stream from a revision on, of at most `most` events; null when that revision is not in memory, because it is
   * older or does not exist.
   */
  streamFrom(stream: string, revision: number, most: number): readonly KeptRecord[] | null {
    const known = this.#byStream.get(stream) ?? [];
    const from = revision - (known[0]?.revision ?? 0);
    if (known[from] === undefined) return null;
    const page = known.slice(from, from + Math.min(most, PAGE_EVENTS));
    let bytes = 0;
    const full = page.findIndex(({ encoded }) => (bytes += encoded.length) > PAGE_BYTES);
    return full < 0 ? page : page.slice(0, full + 1);
  }

  #firstAfter(position: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#records[middle]?.position ?? Infinity) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Drops half of the events at once, so that trimming costs little per event. */
  #trim(): void {
    if (this.#records.length <= MOST_EVENTS && this.#bytes <= MOST_BYTES) return;
    const dropped = this.#records.splice(0, Math.ceil(this.#records.length / 2));
    for (const record of dropped) {
      this.#bytes -= record.encoded.length;
      this.#floor = record.position;
      if (this.#byId.get(record.id) === record) this.#byId.delete(record.id);
      const stream = this.#byStream.get(record.stream);
      stream?.shift();
      if (stream?.length === 0) this.#byStream.delete(record.stream);
    }
  }
}
