/** One read for all who ask while another is under way: each gets an answer that was read after it asked. */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #current: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Throws what the read throws. */
  ask(): Promise<T> {
    if (this.#current === null) return this.#begin();
    this.#next ??= this.#current.then(
      () => this.#begin(),
      () => this.#begin(),
    );
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = null;
    const read = this.#read().finally(() => {
      if (this.#current === read) this.#current = null;
    });
    this.#current = read;
    return read;
  }
}
