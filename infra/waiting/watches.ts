/** Watches on mailboxes and operations, woken by id. */
import type { FeedWatch } from '../../commands/ports/change-feed.ts';
import type { Clock } from '../../commands/ports/ports.ts';

export class Watches {
  readonly #clock: Clock;
  readonly #byId = new Map<string, Set<Watch>>();
  readonly #open = new Set<Watch>();
  #isEnding = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  open(ids: readonly string[], signal: AbortSignal): FeedWatch {
    const watch = new Watch(this.#clock, signal, () => {
      this.#open.delete(watch);
      for (const id of ids) this.#remove(id, watch);
    });
    this.#open.add(watch);
    for (const id of ids) {
      const watching = this.#byId.get(id);
      if (watching) watching.add(watch);
      else this.#byId.set(id, new Set([watch]));
    }
    if (this.#isEnding) watch.end();
    return watch;
  }

  ring(id: string): void {
    for (const watch of this.#byId.get(id) ?? []) watch.ring();
  }

  /** Wakes every watch: anything watched may have changed. */
  ringAll(): void {
    for (const watch of this.#open) watch.ring();
  }

  /** Ends all waits, now and from now on. */
  end(): void {
    this.#isEnding = true;
    for (const watch of this.#open) watch.end();
  }

  #remove(id: string, watch: Watch): void {
    const watching = this.#byId.get(id);
    watching?.delete(watch);
    if (watching?.size === 0) this.#byId.delete(id);
  }
}

class Watch implements FeedWatch {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #leave: () => void;
  readonly #stop = (): void => {
    this.end();
  };
  #rung = true;
  #ended = false;
  /** Ends the current wait. */
  #bell = new AbortController();

  constructor(clock: Clock, signal: AbortSignal, leave: () => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#leave = leave;
    if (signal.aborted) this.#ended = true;
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  ring(): void {
    this.#rung = true;
    this.#bell.abort();
  }

  end(): void {
    this.#ended = true;
    this.#bell.abort();
  }

  take(): boolean {
    const rung = this.#rung;
    this.#rung = false;
    return rung;
  }

  async wait(ms: number): Promise<void> {
    if (this.#rung || this.#ended) return;
    this.#bell = new AbortController();
    await this.#clock.sleep(ms, this.#bell.signal);
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#stop);
    this.#leave();
  }
}
