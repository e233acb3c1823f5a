/** LISTEN on a separate connection, reopened whenever it is lost. */
import type { Clock, Log } from '../../commands/ports/ports.ts';
import { endConnection, openDirectConnection } from './direct-connection.ts';

const AGAIN_AFTER_MS = 1_000;

export interface ListenOptions {
  /** Postgres itself: a transaction pooler loses the LISTEN. */
  readonly directUrl: string;
  readonly channel: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onNotification: (payload: string) => void;
  /** Called whenever listening begins: what was sent before did not arrive. */
  readonly onListening?: () => void;
}

/** Listens until the signal aborts. Notifications sent while the database is unreachable are lost. */
export async function listen(options: ListenOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, channel } = options;
  while (!signal.aborted) {
    try {
      await listenOnce(options, signal);
    } catch (error) {
      log.warn('postgres listen: failed, retrying', { channel, error: String(error) });
    }
    await clock.sleep(AGAIN_AFTER_MS, signal);
  }
}

async function listenOnce(
  { directUrl, channel, onNotification, onListening }: ListenOptions,
  signal: AbortSignal,
): Promise<void> {
  const client = await openDirectConnection(directUrl, `gateway ${channel}`);
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
      onNotification(payload ?? '');
    });
    await client.query(`listen ${channel}`);
    onListening?.();
    await ended;
  } finally {
    await endConnection(client);
  }
}
