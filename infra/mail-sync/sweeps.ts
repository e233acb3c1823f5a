/** When a process goes over all mailboxes: what changes is told to it, so that is for what it was not told. */
import type { Clock } from '../../commands/ports/ports.ts';
import type { SyncTimes } from './sync-times.ts';

export class Sweeps {
  readonly #clock: Pick<Clock, 'elapsedMs'>;
  readonly #everyMs: number;
  #nextAt = -Infinity;
  #sharers = '';

  constructor(clock: Pick<Clock, 'elapsedMs'>, { sweepEveryMs }: Pick<SyncTimes, 'sweepEveryMs'>) {
    this.#clock = clock;
    this.#everyMs = sweepEveryMs;
  }

  /** True when it is time: first, every `sweepEveryMs`, and when other processes share the mailboxes than before. */
  isDue(others: readonly string[]): boolean {
    const now = this.#clock.elapsedMs();
    const sharers = others.join();
    if (now < this.#nextAt && sharers === this.#sharers) return false;
    this.#sharers = sharers;
    this.#nextAt = now + this.#everyMs;
    return true;
  }
}
