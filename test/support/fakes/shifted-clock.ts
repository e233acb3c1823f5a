import type { Clock } from '../../../commands/ports/ports.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';

/** The current time plus an offset that a test sets. */
export class ShiftedClock implements Clock {
  #shiftMs = 0;
  #elapsedMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#shiftMs);
  }

  elapsedMs(): number {
    return performance.now() + this.#elapsedMs;
  }

  advance(milliseconds: number): void {
    this.#shiftMs += milliseconds;
    this.#elapsedMs += milliseconds;
  }

  /** Sets the time of day; no time has passed. */
  step(milliseconds: number): void {
    this.#shiftMs += milliseconds;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(milliseconds, signal);
  }
}
