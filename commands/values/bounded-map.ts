/** A bound in bytes, for entries that can be large. */
export interface ByteBound<K, V> {
  readonly mostBytes: number;
  /** About what the entry takes; always the same for the same entry. One larger than `mostBytes` is not kept. */
  readonly bytesOf: (value: V, key: K) => number;
}

/**
 * A map that keeps the most recently used entries, at most `limit` of them and at most the bytes of `bound`: for caches that
 * must stay bounded.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;
  readonly #bound: ByteBound<K, V> | null;
  #bytes = 0;

  constructor(limit: number, bound: ByteBound<K, V> | null = null) {
    this.#limit = limit;
    this.#bound = bound;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      // Insertion order is the order of use.
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const bytes = this.#bytesOf(value, key);
    if (bytes > this.#mostBytes) return;
    this.#entries.set(key, value);
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit && this.#bytes <= this.#mostBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= this.#bytesOf(value, key);
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
