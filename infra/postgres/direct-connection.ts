/** Separate connections for state held by a session: advisory locks and LISTEN. */
import pg from 'pg';
import { asGatewayError } from './connection-errors.ts';

/** How long a connection may take to end before its socket is destroyed. */
const END_TIMEOUT_MS = 1_000;

/**
 * Connects to `url` directly. The caller ends the client with `endConnection`. A caller that holds state in the session listens to
 * the client's `error` or `end` event to detect its loss. Throws `store_unavailable`.
 */
export async function openDirectConnection(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // Without a listener a lost connection would end the process. The next statement reports the loss.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw asGatewayError(error);
  }
  return client;
}

/** Ends the connection, also a broken one or that of a server that does not answer. Never throws. */
export async function endConnection(client: pg.Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), END_TIMEOUT_MS);
  await client.end().catch(() => undefined);
  clearTimeout(late);
}

/**
 * Throws one sentence when `url` leads to a pooler in transaction mode: locks taken there would belong to
 * another client. Detected by two open clients that get the same backend.
 */
export async function refuseTransactionPooler(url: string): Promise<void> {
  const clients: pg.Client[] = [];
  try {
    const backends = new Set<unknown>();
    for (const name of ['first', 'second']) {
      const client = await openDirectConnection(url, `gateway pooler check, ${name}`);
      clients.push(client);
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      backends.add(rows[0]?.pid);
    }
    if (backends.size === clients.length) return;
  } finally {
    await Promise.all(clients.map(endConnection));
  }
  throw new Error(
    'The database address for locks leads to a transaction pooler: set DATABASE_DIRECT_URL to the Postgres server itself.',
  );
}
