/** Tests whether a database answers, before anything depends on it. */
import { DatabaseError } from 'pg';
import { GatewayError } from '../../commands/values/errors.ts';
import { endConnection, openDirectConnection } from './direct-connection.ts';

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
