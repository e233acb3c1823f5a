/** An event node as the gateway starts it, on a given database. */
import { startEventNode } from '../../infra/event-store/node/start-event-node.ts';
import type { EventNode } from '../../infra/event-store/node/start-event-node.ts';
import { createJsonLog } from '../../infra/observability/json-log.ts';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { openPool } from '../../infra/postgres/pool.ts';

export async function startBenchNode(databaseUrl: string): Promise<EventNode> {
  const log = createJsonLog('error');
  const pool = openPool({ url: databaseUrl, log });
  return startEventNode({
    pool,
    isPoolDirect: true,
    directConnection: () => openDirectConnection(databaseUrl, 'event node, measured'),
    host: '127.0.0.1',
    access: null, // the official client is measured, and a gateway talks to its own node without TLS, too
    port: 0,
    batchAppend: true,
    log,
  });
}
