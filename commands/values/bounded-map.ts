/** A bound in bytes, for entries that can be large. */
export interface ByteBound<K, V> {
  readonly mostBytes: number;
  /** About what the entry takes; always the same for the same entry. One larger than `mostBytes` is not kept. */
  readonly bytesOf: (value: V, key: K) => number;
}

interface Entry<V> {
  readonly value: V;
  /** How many entries had been placed when this one was placed last. */
  placed: number;
}

/** Of the limit and of the bytes, when a map is full; one of less than 64 entries loses one at a time. */
const KEPT_SHARE = 63 / 64;

/**
 * A map that keeps the most recently used entries, at most `limit` of them and at most the bytes of `bound`: for caches that
 * must stay bounded. Order within the newest quarter is that of their placing, not of their use.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #limit: number;
  readonly #bound: ByteBound<K, V> | null;
  #bytes = 0;
  #placed = 0;

  constructor(limit: number, bound: ByteBound<K, V> | null = null) {
    this.#limit = limit;
    this.#bound = bound;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A `Map` that is changed at each read is copied again and again, as what was deleted still takes a place.
    if (this.#placed - entry.placed >= this.#entries.size / 4) {
      this.#entries.delete(key);
      this.#place(key, entry);
    }
    return entry.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const bytes = this.#bytesOf(value, key);
    if (bytes > this.#mostBytes) return;
    this.#place(key, { value, placed: 0 });
    this.#bytes += bytes;
    if (this.#entries.size > this.#limit || this.#bytes > this.#mostBytes) this.#evict();
  }

  /** Whoever looks for the oldest entry of a `Map` passes the places of all that were deleted before: so several go at once. */
  #evict(): void {
    const entries = Math.ceil(this.#limit * KEPT_SHARE);
    const bytes = Math.ceil(this.#mostBytes * KEPT_SHARE);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entries && (this.#bytes <= bytes || this.#entries.size === 1)) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= this.#bytesOf(entry.value, key);
  }

  /** Insertion order is the order of use. */
  #place(key: K, entry: Entry<V>): void {
    this.#placed += 1;
    entry.placed = this.#placed;
    this.#entries.set(key, entry);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Bytes kept; 0 without a bound in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get #mostBytes(): number {
    return this.#bound?.mostBytes ?? Infinity;
  }

  #bytesOf(value: V, key: K): number {
    return this.#bound?.bytesOf(value, key) ?? 0;
  }
}
