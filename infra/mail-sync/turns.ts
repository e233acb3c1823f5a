/** Lets so many pieces of work run at once, first come first served. */
export class Turns {
  /** A set keeps the order, and lets go of one in the middle. */
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Somebody waits for a turn. */
  get isWanted(): boolean {
    return this.#waiting.size > 0;
  }

  /** Null, and no work, when the signal aborts before its turn. Throws what the work throws. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#isReached(signal))) return null;
    try {
      return signal.aborted ? null : await work();
    } finally {
      this.#pass();
    }
  }

  /** False when the signal aborts first. */
  #isReached(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        this.#waiting.delete(begin);
        resolve(false);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.add(begin);
    });
  }

  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
