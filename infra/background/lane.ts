/** Works on single checks, so many at once: what fails is tried again after a growing pause, and is in nobody's way. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { endOf } from './repeat.ts';

const FIRST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 5 * 60_000;

interface Task {
  readonly operationId: string;
  readonly mailboxId: string;
}

export class Lane {
  readonly #atOnce: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #backoff: KeyedBackoff;
  readonly #underWay = new Map<string, { readonly mailboxId: string; readonly ended: Promise<void> }>();

  constructor({ atOnce, clock, log }: { readonly atOnce: number; readonly clock: Clock; readonly log: Log }) {
    this.#atOnce = atOnce;
    this.#clock = clock;
    this.#log = log;
    this.#backoff = new KeyedBackoff(clock, { firstMs: FIRST_PAUSE_MS, mostMs: MOST_PAUSE_MS });
  }

  /** How many more may begin now. */
  get room(): number {
    return this.#atOnce - this.#underWay.size;
  }

  /** The mailbox of each that is under way. */
  get busy(): readonly string[] {
    return [...this.#underWay.values()].map(({ mailboxId }) => mailboxId);
  }

  /** Operations that are under way or wait for the end of their pause. */
  get taken(): readonly string[] {
    return [...this.#underWay.keys(), ...this.#backoff.waiting()];
  }

  /** Begins a work that tells whether it is over. False, and any failure, has it looked at again after a pause. */
  begin({ operationId, mailboxId }: Task, work: () => Promise<boolean>): void {
    if (this.room <= 0 || this.#underWay.has(operationId)) return;
    const ended = this.#isOver(operationId, work).then((isOver) => {
      if (isOver) this.#backoff.clear(operationId);
      else this.#backoff.failed(operationId);
      this.#underWay.delete(operationId);
    });
    this.#underWay.set(operationId, { mailboxId, ended });
  }

  async #isOver(operationId: string, work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#log.warn('approval: retry scheduled', {
        operation_id: operationId,
        error: String(error),
      });
      return false;
    }
  }

  /** Waits for what is under way, at most so long, milliseconds. */
  async end(withinMs: number): Promise<void> {
    const works = [...this.#underWay.values()].map(({ ended }) => ended);
    await endOf(works, withinMs, this.#clock);
  }
}
