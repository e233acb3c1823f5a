/** A fixed number of slots, given to callers in the order of their requests. */
export class Semaphore {
  #free: number;
  /** A set keeps the order and allows removal from the middle. */
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Callers without a slot. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits at most this many milliseconds, or until the signal aborts. True = a slot was taken; return it with
   * `release`.
   */
  acquire(until?: number | AbortSignal): Promise<boolean> {
    const signal = typeof until === 'object' ? until : undefined;
    if (signal?.aborted === true) return Promise.resolve(false);
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const settle = (isTaken: boolean): void => {
        this.#waiting.delete(take);
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        resolve(isTaken);
      };
      const take = (): void => {
        settle(true);
      };
      const leave = (): void => {
        settle(false);
      };
      this.#waiting.add(take);
      const timer = typeof until === 'number' ? setTimeout(leave, until) : undefined;
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free += 1;
  }

  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Returns null without running the work when the signal aborts before a slot is free. Throws what the work
   * throws.
   */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | null>;
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T | null> {
    if (!(await this.acquire(signal))) return null;
    try {
      return signal?.aborted === true ? null : await work();
    } finally {
      this.release();
    }
  }
}
