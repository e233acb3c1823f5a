/** Who waits until a position is reached. */
import type { Position } from '../../commands/values/position.ts';

interface Waiter {
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
}

export class PositionWaiters {
  #reached: Position = -1n;
  readonly #waiting = new Set<Waiter>();
  #disturbed: () => void = () => undefined;

  get reached(): Position {
    return this.#reached;
  }

  get anyWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Where everything is now; further back than before only when it is being built again. */
  move(position: Position): void {
    this.#reached = position;
    for (const waiter of this.#waiting) if (waiter.position <= position) waiter.settle(true);
  }

  /** True as soon as the position is reached, false when `timeoutMs` passed first or the waiting was given up. */
  waitFor(position: Position, timeoutMs: number): Promise<boolean> {
    if (position <= this.#reached) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        position,
        settle: (reached) => {
          clearTimeout(timer);
          this.#waiting.delete(waiter);
          resolve(reached);
        },
      };
      const timer = setTimeout(() => {
        waiter.settle(false);
      }, timeoutMs);
      this.#waiting.add(waiter);
      this.#disturbed();
    });
  }

  /** Resolves after `ms`, or as soon as anybody waits. */
  quiet(ms: number): Promise<void> {
    if (this.anyWaiting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#disturbed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Sends everybody away. */
  giveUp(): void {
    for (const waiter of this.#waiting) waiter.settle(false);
  }
}
