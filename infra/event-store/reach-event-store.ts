/** Whether an event store answers, asked before anything stands on it. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { DENIAL, isDenial } from './store-errors.ts';
import { StreamReader } from './stream-reader.ts';

const REACHED_WITHIN_MS = 2_000;

const ignore = (): void => undefined;

/** Whoever asks says what came of it. */
const noLog: Log = { info: ignore, warn: ignore, error: ignore };

/**
 * Resolves when the leader tells where the log ends. Throws `store_unavailable` when it does not within two seconds, and an
 * `Error` with one sentence when it denies access or the address makes no sense.
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
