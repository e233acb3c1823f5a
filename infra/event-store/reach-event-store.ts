/** Tests whether an event store answers, before anything depends on it. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { DENIAL, isDenial } from './store-errors.ts';
import { StreamReader } from './stream-reader.ts';

const REACHED_WITHIN_MS = 2_000;

const ignore = (): void => undefined;

/** The caller reports the result. */
const noLog: Log = { info: ignore, warn: ignore, error: ignore };

/**
 * Resolves when the leader returns the end of the log. Throws `store_unavailable` after two seconds without
 * an answer, and an `Error` with one sentence when the store denies access or the address is invalid.
 */
export async function reachEventStore(url: string): Promise<void> {
  const reader = new StreamReader({
    url,
    log: noLog,
    timeoutMs: REACHED_WITHIN_MS,
    silenceMs: REACHED_WITHIN_MS,
  });
  try {
    await reader.endPosition();
  } catch (error) {
    if (error instanceof GatewayError && isDenial(error.cause))
      throw new Error(DENIAL, { cause: error.cause });
    throw error;
  } finally {
    await reader.close();
  }
}
