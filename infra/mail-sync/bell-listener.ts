/** Hears, on a connection of its own, which mailboxes somebody changed (`mailbox-bell.ts`). */
import type { Clock, Log } from '../../commands/kernel/ports.ts';
import { openDirectConnection } from '../postgres/direct-connection.ts';
import { MAILBOX_BELL, readRing } from './mailbox-bell.ts';

const AGAIN_AFTER_MS = 1_000;

export interface BellListenerOptions {
  /** Postgres itself: a transaction pooler forgets who listens. */
  readonly directUrl: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRing: (ring: { readonly mailboxId: string; readonly folders: readonly number[] }) => void;
}

/** Listens until the signal aborts. What is not heard while the database is away is found by the next round. */
export async function listenToBell(options: BellListenerOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await listenOnce(options, signal);
    } catch (error) {
      options.log.warn('the bell of the mailboxes is not heard', { error: String(error) });
    }
    await options.clock.sleep(AGAIN_AFTER_MS, signal);
  }
}

async function listenOnce({ directUrl, onRing }: BellListenerOptions, signal: AbortSignal): Promise<void> {
  const client = await openDirectConnection(directUrl, 'gateway mailbox bell');
  try {
    const ended = new Promise<void>((resolve) => {
      client.once('end', resolve);
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
      if (signal.aborted) resolve();
    });
    client.on('notification', ({ payload }) => {
      const ring = readRing(payload);
      if (ring) onRing(ring);
    });
    await client.query(`listen ${MAILBOX_BELL}`);
    await ended;
  } finally {
    await client.end();
  }
}
