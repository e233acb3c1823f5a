/** When a process looks for deliveries that are due: as soon as they are told on a channel, and at intervals. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import { DUE_CHANNEL } from '../../projections/webhooks.ts';
import { repeat } from '../concurrency/repeat.ts';
import type { WakeSignal } from '../concurrency/wake-signal.ts';
import { listen } from '../postgres/listen.ts';

/** This finds what became due by time, or was told while nobody listened. */
const LOOK_EVERY_MS = 500;
/** While nothing is due until the next look. A run that died is found by then. */
const LOOK_IDLE_EVERY_MS = 5_000;
/** Under load: fewer passes take more at once. What is told as due does not wait: the projector tells of many at once. */
const BETWEEN_PASSES_MS = 40;

interface Looks {
  readonly clock: Clock;
  readonly log: Log;
  /** Postgres itself, for LISTEN. */
  readonly directUrl: string;
  /** Ends a pause early. */
  readonly wake: WakeSignal;
  /** Nothing is to be done, nor will be within this time. */
  readonly isIdle: (withinMs: number) => Promise<boolean>;
  /** False while what is told may wait for the next pass. */
  readonly mayHurry: () => boolean;
  readonly pass: () => Promise<void>;
  /** Called when no pass follows any more. */
  readonly end: () => Promise<void>;
}

/** Makes passes until the signal aborts, and resolves when the last work has ended. */
export async function runLooks(looks: Looks, signal: AbortSignal): Promise<void> {
  const { clock, log, directUrl, wake } = looks;
  // Aborted when something due was told since the last pass began, or when the work ends.
  let told = new AbortController();
  let passedAt = -Infinity;
  let isIdle = false;
  const tell = (): void => {
    told.abort();
    wake.ring();
  };
  signal.addEventListener('abort', tell, { once: true });
  const channel = { channel: DUE_CHANNEL, onNotification: tell, onListening: tell };
  const listening = listen({ directUrl, clock, log, ...channel }, signal);
  const everyMs = (): number => (isIdle ? LOOK_IDLE_EVERY_MS : LOOK_EVERY_MS);
  await repeat({ name: 'webhooks', everyMs, clock, log, signal, wake }, async () => {
    isIdle = false;
    isIdle = !told.signal.aborted && (await looks.isIdle(LOOK_IDLE_EVERY_MS));
    if (isIdle) return;
    const restMs = passedAt + BETWEEN_PASSES_MS - clock.elapsedMs();
    if (restMs > 0) await clock.sleep(restMs, looks.mayHurry() ? told.signal : signal);
    told = new AbortController();
    await looks.pass().finally(() => {
      passedAt = clock.elapsedMs();
    });
  });
  await looks.end();
  await listening;
}
