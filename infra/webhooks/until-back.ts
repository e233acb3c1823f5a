/** Work that is tried again while a store is away. */
import type { Clock } from '../../commands/ports/ports.ts';
import { ERROR_TABLE, GatewayError } from '../../commands/values/errors.ts';

const AGAIN_AFTER_MS = 1_000;

/** Tries until it succeeds; throws what is no matter of time, and everything once `isEnding`. */
export async function untilBack<T>(
  work: () => Promise<T>,
  clock: Pick<Clock, 'sleep'>,
  isEnding: () => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof GatewayError && ERROR_TABLE[error.code].retryable;
      if (!isAway || isEnding()) throw error;
      await clock.sleep(AGAIN_AFTER_MS);
    }
  }
}
