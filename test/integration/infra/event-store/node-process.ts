/** An event node as a process of its own. Tells its parent when it serves, and its memory when asked. */
import pg from 'pg';
import { startEventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import type { EventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

/** What the parent passes as the only argument. */
export interface NodeJob {
  readonly databaseUrl: string;
  /** 0 = any. */
  readonly port: number;
  readonly batchAppend: boolean;
  readonly keepAlive?: { readonly everyMs: number; readonly timeoutMs: number };
}

export interface NodeFacts {
  readonly port: number;
  readonly openCalls: number;
  /** After a collection of garbage, in bytes. */
  readonly rss: number;
  readonly heapUsed: number;
  /** Buffers, outside the heap. */
  readonly external: number;
}

const job = JSON.parse(process.argv[2] ?? '{}') as NodeJob;
const pool = new pg.Pool({ connectionString: job.databaseUrl, max: 8 });
pool.on('error', () => undefined); // cut on purpose by tests

const node = await startEventNode({
  pool,
  isPoolDirect: true,
  directConnection: () => openDirectConnection(job.databaseUrl, 'event node under test'),
  host: '127.0.0.1',
  access: null,
  port: job.port,
  batchAppend: job.batchAppend,
  log: silentLog,
  lockTimeoutMs: 20_000,
  ...(job.keepAlive ? { keepAlive: job.keepAlive } : {}),
});

function facts({ port, openCalls }: EventNode): NodeFacts {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { port, openCalls, rss, heapUsed, external };
}

async function stop(): Promise<void> {
  await node.stop();
  await pool.end();
  process.disconnect();
}

process.on('message', () => process.send?.(facts(node)));
process.on('SIGTERM', () => void stop());
// Without its parent nobody would end it.
process.on('disconnect', () => process.exit());
process.send?.(facts(node));
