/** Restarts the server on the same port when it ends unexpectedly: clients only meet an outage. */
import type { Log } from '../../../commands/ports/ports.ts';
import { Backoff } from '../../concurrency/backoff.ts';
import type { PostgresProcess } from './postgres-process.ts';

const PAUSES = { firstMs: 100, mostMs: 10_000 };

export interface KeptPostgres {
  readonly port: number;
  /** Ends the server and the watch over it. */
  stop(): Promise<void>;
}

/**
 * The first start must succeed. Later ones are retried with growing pauses until one succeeds; the signal they
 * get gives a start up when the server is to stop.
 */
export async function keepRunning(
  launch: (port?: number, signal?: AbortSignal) => Promise<PostgresProcess>,
  log: Log,
): Promise<KeptPostgres> {
  let server = await launch();
  const { port } = server;
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;

  const again = async (): Promise<void> => {
    const backoff = new Backoff(PAUSES);
    while (!isStopping()) {
      try {
        server = await launch(port, stopping.signal);
        return;
      } catch (error) {
        if (isStopping()) return;
        log.error('embedded postgres: restart failed', { error: String(error) });
        await backoff.pause(stopping.signal);
      }
    }
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      await server.gone;
      if (isStopping()) return;
      log.error('embedded postgres: ended unexpectedly, restarting', { port });
      await again();
      // `stop` ends a server that started meanwhile.
      if (isStopping()) return;
    }
  };
  const watching = watch();
  return {
    port,
    stop: async () => {
      stopping.abort();
      await server.stop();
      await watching;
      // Ends a server whose start was under way when the stop came.
      await server.stop();
    },
  };
}
