/** A fixed number of places; who finds none waits in line, at most until its deadline. */
export class Semaphore {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** True when a place was taken, to be given back with `release`; false when none came free in time. */
  acquire(timeoutMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const take = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#line.splice(this.#line.indexOf(take), 1);
        resolve(false);
      }, timeoutMs);
      this.#line.push(take);
    });
  }

  release(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free += 1;
  }
}
