/** Two things done at once, again and again: whoever was late last time has a little start, so that both win now and then. */
import { setImmediate, setTimeout } from 'node:timers/promises';

export type Side = 'left' | 'right';

export interface Sides<Answer> {
  readonly left: () => Promise<Answer>;
  readonly right: () => Promise<Answer>;
}

/** How one side ended: its answer, or what it threw. */
export type Ended<Answer> = PromiseSettledResult<Answer>;

/** How far a lead moves after a race, more with each one that the same side wins, milliseconds. */
const FIRST_STEP_MS = 0.4;
const STEP_GROWTH = 1.6;
const MOST_STEP_MS = 10;
/** How much each side strays at random. */
const STRAY_MS = 1.5;
const MOST_LEAD_MS = 100;

export class Racecourse {
  #leadMs = 0;
  #stepMs = FIRST_STEP_MS;
  #last: Side | null = null;

  /** How much later the left one starts, milliseconds; below zero it has the start. */
  get leadMs(): number {
    return this.#leadMs;
  }

  /** Both at once; `tell` before the next race. */
  async run<Answer>({ left, right }: Sides<Answer>): Promise<readonly [Ended<Answer>, Ended<Answer>]> {
    const lead = this.#leadMs + (Math.random() * 2 - 1) * STRAY_MS;
    return await Promise.allSettled([after(lead, left), after(-lead, right)]);
  }

  /** Who was first. */
  tell(winner: Side): void {
    this.#stepMs = winner === this.#last ? Math.min(MOST_STEP_MS, this.#stepMs * STEP_GROWTH) : FIRST_STEP_MS;
    this.#last = winner;
    const moved = this.#leadMs + (winner === 'left' ? this.#stepMs : -this.#stepMs);
    this.#leadMs = Math.max(-MOST_LEAD_MS, Math.min(MOST_LEAD_MS, moved));
  }
}

/** A timer counts in whole milliseconds, and late: the last ones are waited for awake. */
async function after<Answer>(milliseconds: number, work: () => Promise<Answer>): Promise<Answer> {
  const startAt = performance.now() + milliseconds;
  if (milliseconds > 3) await setTimeout(milliseconds - 2);
  while (performance.now() < startAt) await setImmediate();
  return await work();
}
