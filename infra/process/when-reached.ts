/** A process that starts while an external store is unreachable waits for it instead of ending. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { Backoff } from '../concurrency/backoff.ts';

const TOLD_EVERY_MS = 60_000;

/**
 * Retries until the store answers, with growing pauses. Without a signal the first failure is thrown. With
 * one, errors other than `store_unavailable` are thrown, as waiting cannot fix them, and the signal's reason
 * when it aborts.
 */
export async function whenReached(
  store: string,
  reach: () => Promise<void>,
  { log, ending }: { readonly log: Log; readonly ending?: AbortSignal },
): Promise<void> {
  if (ending === undefined) {
    await reach();
    return;
  }
  const backoff = new Backoff();
  let toldAt = -Infinity;
  for (;;) {
    try {
      await beforeAbort(reach, ending);
      break;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
      if (performance.now() - toldAt >= TOLD_EVERY_MS) {
        toldAt = performance.now();
        log.warn('startup: waiting for a store', { store, error: String(error.cause) });
      }
    }
    await backoff.pause(ending);
  }
  if (toldAt > 0) log.info('startup: store available', { store });
}

/** Does the work, or throws the signal's reason as soon as it aborts. */
async function beforeAbort(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    reject(signal.reason as Error);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
