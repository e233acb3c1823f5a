/**
 * The one loop of all sweepers: it finds due tasks, settles some at a time, and retries failures after a
 * growing pause, so that no task delays the others.
 */
import type { Directory } from '../../commands/ports/directory.ts';
import type { Clock, Log } from '../../commands/ports/ports.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { KeyedBackoff, type Pauses } from '../concurrency/backoff.ts';
import { WakeSignal } from '../concurrency/wake-signal.ts';
import type { Metrics } from '../observability/metrics.ts';
import { repeat } from '../concurrency/repeat.ts';

/** Another process resumes tasks that take longer to end. */
const END_WITHIN_MS = 10_000;

/** A timer may end a moment early. */
const TIMER_EARLY_MS = 2;

/**
 * `later`: not done, retried after a growing pause. `held`: another process works on it; the next pass finds
 * it.
 */
export type Outcome = 'settled' | 'later' | 'held';

/** The room for new tasks. */
export interface Room {
  readonly now: Date;
  readonly limit: number;
  /** Keys of tasks that are under way or paused. */
  readonly except: readonly string[];
  readonly ofOneMailbox: number;
  /** The mailbox of each task under way. */
  readonly busy: readonly string[];
}

/** One row of the table in `sweepers.ts`. */
export interface Sweeper<T = unknown> {
  readonly name: string;
  readonly everyMs: number;
  /** Tasks under way at once. */
  readonly atOnce: number;
  /**
   * Maximum of these in one mailbox, so that a hanging mail server delays only its own tasks. Requires
   * `mailboxOf`.
   */
  readonly ofOneMailbox?: number;
  readonly pauses: Pauses;
  /**
   * A condition in SQL, `$1` is now, that holds whenever `find` would find something. Those of all rows are asked together
   * once a second, and `find` is called when it holds. Without one it is called every `everyMs`.
   */
  readonly probe?: string;
  /** Due tasks, the longest due first. May return more than `limit`. */
  find(room: Room): Promise<readonly T[]>;
  keyOf(task: NoInfer<T>): string;
  mailboxOf?(task: NoInfer<T>): string;
  /** May throw a failure: it is logged and counts as `later`. */
  settle(task: NoInfer<T>): Promise<Outcome>;
}

/** A row of the table; the compiler checks the type of its tasks. */
export const row = <T>(sweeper: Sweeper<T>): Sweeper => sweeper;

interface UnderWay {
  readonly mailboxId: string | undefined;
  readonly ended: Promise<void>;
}

interface SweeperParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Absent for tasks that judge no rights. */
  readonly directory?: Pick<Directory, 'untilCurrent'>;
  readonly metrics?: Pick<Metrics, 'taskSwept'>;
}

export class SweeperRun {
  readonly name: string;
  readonly #sweeper: Sweeper;
  readonly #parts: SweeperParts;
  readonly #backoff: KeyedBackoff;
  readonly #underWay = new Map<string, UnderWay>();
  readonly #wake = new WakeSignal();
  /** Ends what wakes the loop for retries; null outside of `run`. */
  #running: AbortSignal | null = null;
  /** Due tasks may remain for lack of room. */
  #hasMore = false;
  /** `find` may have left out tasks of a mailbox that has no room. */
  #isFull = false;
  #caughtUpAt: number;
  #toldAt = -Infinity;

  constructor(sweeper: Sweeper, parts: SweeperParts) {
    this.name = sweeper.name;
    this.#sweeper = sweeper;
    this.#parts = parts;
    this.#backoff = new KeyedBackoff(parts.clock, sweeper.pauses);
    this.#caughtUpAt = parts.clock.elapsedMs();
  }

  get probe(): string | undefined {
    return this.#sweeper.probe;
  }

  /** What the probe said: `find` is called soon when it holds, at most every `everyMs`. */
  probed(isDue: boolean): void {
    const now = this.#parts.clock.elapsedMs();
    if (!isDue) this.#caughtUpAt = now;
    else if (now - this.#toldAt >= this.#sweeper.everyMs - TIMER_EARLY_MS) {
      this.#toldAt = now;
      this.#wake.ring();
    }
  }

  /** Sweeps until the signal aborts, then waits for tasks under way. `everyMs`: at least so often. */
  async run(signal: AbortSignal, everyMs = this.#sweeper.everyMs): Promise<void> {
    const { name } = this.#sweeper;
    const { clock, log } = this.#parts;
    const wake = this.#wake;
    const stop = (): void => {
      wake.ring();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#running = signal;
    await repeat({ name, everyMs, clock, log, signal, wake }, () => this.pass());
    await this.end();
  }

  /** Finds due tasks and begins as many as there is room for. Throws what `find` throws. */
  async pass(): Promise<void> {
    const { clock } = this.#parts;
    const limit = this.#sweeper.atOnce - this.#underWay.size;
    this.#hasMore = limit <= 0;
    if (limit <= 0) return;
    const except = [...this.#underWay.keys(), ...this.#backoff.waiting()];
    const { ofOneMailbox = Infinity } = this.#sweeper;
    const busy = [...this.#underWay.values()].flatMap(({ mailboxId }) => mailboxId ?? []);
    const due = await this.#sweeper.find({ now: clock.now(), limit, except, ofOneMailbox, busy });
    const found = due.filter((task) => !except.includes(this.#sweeper.keyOf(task)));
    for (const task of found) if (this.#hasRoomFor(task)) this.#begin(task);
    this.#hasMore =
      found.length >= limit || found.some((task) => !this.#underWay.has(this.#sweeper.keyOf(task)));
    this.#isFull = found.some((task) => !this.#hasRoomInMailbox(task));
    if (!this.#hasMore) this.#caughtUpAt = clock.elapsedMs();
  }

  /** How long due tasks may have waited for room, or for a successful pass. */
  get lagSeconds(): number {
    const ms = this.#parts.clock.elapsedMs() - this.#caughtUpAt;
    return Math.max(0, ms - this.#sweeper.everyMs) / 1_000;
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0;
  }

  /** Waits for tasks under way, at most ten seconds. */
  async end(): Promise<void> {
    const over = new AbortController();
    const ended = Promise.all([...this.#underWay.values()].map((task) => task.ended)).then(() => {
      // A running timer would keep the process alive.
      over.abort();
    });
    await Promise.race([ended, this.#parts.clock.sleep(END_WITHIN_MS, over.signal)]);
  }

  #hasRoomFor(task: unknown): boolean {
    return this.#underWay.size < this.#sweeper.atOnce && this.#hasRoomInMailbox(task);
  }

  #hasRoomInMailbox(task: unknown): boolean {
    const { ofOneMailbox = Infinity } = this.#sweeper;
    const mailboxId = this.#sweeper.mailboxOf?.(task);
    if (mailboxId === undefined) return true;
    return (
      [...this.#underWay.values()].filter((other) => other.mailboxId === mailboxId).length < ofOneMailbox
    );
  }

  #begin(task: unknown): void {
    const key = this.#sweeper.keyOf(task);
    const ended = this.#settle(key, task).then((outcome) => {
      this.#underWay.delete(key);
      if (outcome === 'later' || outcome === 'failed') void this.#retryIn(this.#backoff.failed(key));
      else {
        if (outcome === 'settled') this.#backoff.clear(key);
        // The read model may show it as due for a moment.
        this.#backoff.postpone(key, this.#sweeper.everyMs / 2);
      }
      if (this.#hasMore || this.#isFull) this.#wake.ring();
    });
    this.#underWay.set(key, { mailboxId: this.#sweeper.mailboxOf?.(task), ended });
  }

  /** A pause shorter than that between passes would otherwise last until the next one. */
  async #retryIn(ms: number): Promise<void> {
    const signal = this.#running;
    if (signal === null || ms >= this.#sweeper.everyMs) return;
    await this.#parts.clock.sleep(ms + TIMER_EARLY_MS, signal);
    this.#wake.ring();
  }

  async #settle(key: string, task: unknown): Promise<Outcome | 'failed'> {
    const { name: sweeper } = this.#sweeper;
    const { log, metrics, directory } = this.#parts;
    const startedAt = performance.now();
    // The directory may be outdated after a silence. Where it stays so, the task refuses what it cannot judge.
    await directory?.untilCurrent();
    const outcome = await this.#sweeper.settle(task).catch((error: unknown) => {
      const code = error instanceof GatewayError ? error.code : 'internal_error';
      const fields = {
        sweeper,
        task: key,
        mailbox_id: this.#sweeper.mailboxOf?.(task),
        code,
        error: String(error),
      };
      log[code === 'internal_error' ? 'error' : 'warn']('background: retry scheduled', fields);
      return 'failed' as const;
    });
    metrics?.taskSwept({ sweeper, outcome, seconds: (performance.now() - startedAt) / 1_000 });
    return outcome;
  }
}
