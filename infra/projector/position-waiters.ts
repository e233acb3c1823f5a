/** Callers that wait until a position is reached. */
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

  /** Sets the reached position; it moves backwards only during a rebuild. */
  move(position: Position): void {
    this.#reached = position;
    for (const waiter of this.#waiting) if (waiter.position <= position) waiter.settle(true);
  }

  /** True as soon as the position is reached; false after `timeoutMs` or `giveUp`. */
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

  /** Resolves after `ms`, or as soon as a caller waits. */
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

  /** Ends all waits with false. */
  giveUp(): void {
    for (const waiter of this.#waiting) waiter.settle(false);
  }
}
