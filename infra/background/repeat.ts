/** A loop in the background: it outlives failures, and ends with its signal. */
import type { Clock, Log } from '../../commands/ports/ports.ts';

export interface Loop {
  readonly name: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Runs `work`, pauses, and runs it again. A failure is logged and tried again after the pause. */
export async function repeat(
  { name, everyMs, clock, log, signal }: Loop,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      log.warn('background: pass failed', { loop: name, error: String(error) });
    }
    await clock.sleep(everyMs, signal);
  }
}

/** Waits for work that is under way, at most so long: another process resumes what takes longer. */
export async function endOf(
  works: readonly Promise<void>[],
  withinMs: number,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const over = new AbortController();
  const ended = Promise.all(works).then(() => {
    // A timer that runs on would keep the process alive.
    over.abort();
  });
  await Promise.race([ended, clock.sleep(withinMs, over.signal)]);
}
