/**
 * Reads of the same thing by many at once. Whoever asks while one is under way shares the next with everybody else who
 * asks meanwhile: never that one, which began before, so nobody is told what was true before the question.
 */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<T>>();

  /** What `read` finds, begun after this call. `read` does the same for everybody with the same key. Throws what it throws. */
  ask(key: string, read: () => Promise<T>): Promise<T> {
    const joined = this.#next.get(key);
    if (joined) return joined;
    const underWay = this.#underWay.get(key);
    if (!underWay) return this.#begin(key, read);
    const next = underWay.then(() => {
      this.#next.delete(key);
      return this.#begin(key, read);
    });
    this.#next.set(key, next);
    return next;
  }

  #begin(key: string, read: () => Promise<T>): Promise<T> {
    const reading = read();
    const end = (): void => {
      this.#underWay.delete(key);
    };
    this.#underWay.set(key, reading.then(end, end));
    return reading;
  }
}
