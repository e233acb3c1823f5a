/** Starts the server again on the same port when it ends by itself: clients then only meet an outage. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../commands/ports/ports.ts';
import type { PostgresProcess } from './postgres-process.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

export interface KeptPostgres {
  readonly port: number;
  /** Ends it, and the watch over it. */
  stop(): Promise<void>;
}

/** The first start must succeed; later ones are tried until one does, with growing pauses. */
export async function keepRunning(
  launch: (port?: number) => Promise<PostgresProcess>,
  log: Log,
): Promise<KeptPostgres> {
  let server = await launch();
  const { port } = server;
  const stopping = new AbortController();

  const again = async (): Promise<void> => {
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !stopping.signal.aborted;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    ) {
      try {
        server = await launch(port);
        return;
      } catch (error) {
        log.error('the embedded Postgres does not start again', { error: String(error) });
        await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      await server.gone;
      if (stopping.signal.aborted) return;
      log.error('the embedded Postgres ended by itself and is started again', { port });
      await again();
    }
  };
  const watching = watch();
  return {
    port,
    stop: async () => {
      stopping.abort();
      await server.stop();
      await watching;
      // A start that was under way when the stop came.
      await server.stop();
    },
  };
}
