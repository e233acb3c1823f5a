/** Reaching the external stores: a process that starts while one is unreachable waits for it instead of ending. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { Backoff } from '../concurrency/backoff.ts';
import { DatabaseError } from 'pg';
import { endConnection, openDirectConnection } from '../postgres/direct-connection.ts';
import { DENIAL, isDenial } from '../event-store/store-errors.ts';
import { StreamReader } from '../event-store/stream-reader.ts';

const REPORT_EVERY_MS = 60_000;

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
  let reportedAt = -Infinity;
  for (;;) {
    try {
      await beforeAbort(reach, ending);
      break;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') throw error;
      if (performance.now() - reportedAt >= REPORT_EVERY_MS) {
        reportedAt = performance.now();
        log.warn('startup: waiting for a store', { store, error: String(error.cause) });
      }
    }
    await backoff.pause(ending);
  }
  if (reportedAt > 0) log.info('startup: store available', { store });
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

/** SQLSTATE classes of a login that waiting cannot fix: invalid authorization, unknown database. */
const REFUSED = /^(?:28...|3D...)$/;

/**
 * Resolves when a connection is made. Throws `store_unavailable` while the database is unreachable, and an
 * `Error` with one sentence when it refuses user, password or database.
 */
export async function reachDatabase(url: string): Promise<void> {
  try {
    const client = await openDirectConnection(url, 'gateway start');
    await endConnection(client);
  } catch (error) {
    const cause = error instanceof GatewayError ? error.cause : error;
    if (!(cause instanceof DatabaseError) || !REFUSED.test(cause.code ?? '')) throw error;
    throw new Error(`The database refuses the gateway (${cause.message}): check DATABASE_URL.`, { cause });
  }
}

const REACHED_WITHIN_MS = 2_000;

const ignore = (): void => undefined;

/** For a reader whose failures the caller reports. */
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
