/** A background loop that survives failures and ends with its signal. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import type { WakeSignal } from './wake-signal.ts';

interface Loop {
  readonly name: string;
  /** A function is asked after each run. */
  readonly everyMs: number | (() => number);
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Ends a pause early; the caller rings it when the signal aborts. */
  readonly wake?: WakeSignal;
}

/** Runs `work`, pauses, and runs it again. A failure is logged and retried after the pause. */
export async function repeat(
  { name, everyMs, clock, log, signal, wake }: Loop,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      log.warn('background: pass failed', { loop: name, error: String(error) });
    }
    const ms = typeof everyMs === 'number' ? everyMs : everyMs();
    if (wake) await wake.sleep(ms);
    else await clock.sleep(ms, signal);
  }
}
