/** One read at a time per key, shared by all callers that request it meanwhile. */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Promise<T>>();
  readonly #next = new Map<string, Promise<T>>();

  /** Shares the read under way, which may have begun before this call. Throws what it throws. */
  join(key: string, read: () => Promise<T>): Promise<T> {
    return this.#underWay.get(key) ?? this.#begin(key, read);
  }

  /**
   * A read that begins after this call. Callers that arrive during a read share the next one, so no answer is
   * older than its question. `read` must be equivalent for every caller with the same key. Throws what it
   * throws.
   */
  ask(key: string, read: () => Promise<T>): Promise<T> {
    const shared = this.#next.get(key);
    if (shared) return shared;
    const underWay = this.#underWay.get(key);
    if (!underWay) return this.#begin(key, read);
    const begin = (): Promise<T> => {
      this.#next.delete(key);
      return this.#begin(key, read);
    };
    const next = underWay.then(begin, begin);
    this.#next.set(key, next);
    return next;
  }

  #begin(key: string, read: () => Promise<T>): Promise<T> {
    const reading = read();
    const end = (): void => {
      if (this.#underWay.get(key) === reading) this.#underWay.delete(key);
    };
    this.#underWay.set(key, reading);
    reading.then(end, end);
    return reading;
  }
}
