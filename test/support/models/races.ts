/** Two calls at once, repeatedly: the late one gets a small lead next time, so that both win sometimes. */
import { setImmediate, setTimeout } from 'node:timers/promises';

export type Side = 'left' | 'right';

export interface Sides<Answer> {
  readonly left: () => Promise<Answer>;
  readonly right: () => Promise<Answer>;
}

/** The end of one side: its answer, or its error. */
export type Ended<Answer> = PromiseSettledResult<Answer>;

/** Change of the lead after a race, more with each further win of the same side, milliseconds. */
const FIRST_STEP_MS = 0.4;
const STEP_GROWTH = 1.6;
const MOST_STEP_MS = 10;
/** Random deviation of each side, milliseconds. */
const STRAY_MS = 1.5;
const MOST_LEAD_MS = 1_000;

export class Racecourse {
  #leadMs = 0;
  #stepMs = FIRST_STEP_MS;
  #last: Side | null = null;

  /** Delay of the left side's start, milliseconds; negative when it has the lead. */
  get leadMs(): number {
    return this.#leadMs;
  }

  /** Runs both at once; call `tell` before the next race. */
  async run<Answer>({ left, right }: Sides<Answer>): Promise<readonly [Ended<Answer>, Ended<Answer>]> {
    const lead = this.#leadMs + (Math.random() * 2 - 1) * STRAY_MS;
    return await Promise.allSettled([after(lead, left), after(-lead, right)]);
  }

  /** Records the winner. */
  tell(winner: Side): void {
    this.#stepMs = winner === this.#last ? Math.min(MOST_STEP_MS, this.#stepMs * STEP_GROWTH) : FIRST_STEP_MS;
    this.#last = winner;
    const moved = this.#leadMs + (winner === 'left' ? this.#stepMs : -this.#stepMs);
    this.#leadMs = Math.max(-MOST_LEAD_MS, Math.min(MOST_LEAD_MS, moved));
  }
}

/** A timer counts whole milliseconds and fires late: the last ones are spent in a busy wait. */
async function after<Answer>(milliseconds: number, work: () => Promise<Answer>): Promise<Answer> {
  const startAt = performance.now() + milliseconds;
  if (milliseconds > 3) await setTimeout(milliseconds - 2);
  while (performance.now() < startAt) await setImmediate();
  return await work();
}
