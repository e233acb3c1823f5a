import type { Clock } from '../../../commands/ports/ports.ts';

/** A clock that stands still until the test moves it; a sleep moves it automatically. */
export class ManualClock implements Clock {
  #now: number;
  #elapsedMs = 0;

  constructor(start = '2026-01-01T00:00:00.000Z') {
    this.#now = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#now);
  }

  elapsedMs(): number {
    return this.#elapsedMs;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    this.#elapsedMs += milliseconds;
  }

  /** Sets the time of day, as NTP or a woken machine does; no time has passed. */
  step(milliseconds: number): void {
    this.#now += milliseconds;
  }

  sleep(milliseconds: number): Promise<void> {
    this.advance(milliseconds);
    return Promise.resolve();
  }
}
