/** Connects to the configured Postgres and event store, or starts embedded ones. */
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Log } from '../../commands/ports/ports.ts';
import { openDataFolder, refuseUnfinishedRestore } from './data-folder.ts';
import type { Config } from './config.ts';
import { openNodeAccess } from '../event-store/node/node-access.ts';
import { type EventNode, startEventNode } from '../event-store/node/start-event-node.ts';
import { reachDatabase, reachEventStore, whenReached } from './reach-stores.ts';
import { freePort, portTaken, readPort, writePort } from '../platform/reserved-port.ts';
import { openDirectConnection, refuseTransactionPooler } from '../postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../postgres/embedded/embedded-postgres.ts';
import { migrate } from '../postgres/migrate.ts';
import { openPool } from '../postgres/pool.ts';

export interface StoresOptions {
  /** Stores without an address are embedded. */
  readonly config: Config;
  readonly log: Log;
  /** Called before each long step. */
  readonly progress?: (step: string) => void;
  /**
   * A start waits for an unreachable external store. When this aborts, it is given up at its next step and the
   * reason thrown. Absent = an unreachable store is an error at once.
   */
  readonly ending?: AbortSignal;
}

export interface Stores {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly directUrl: string;
  /** For this process. */
  readonly eventStoreUrl: string;
  /** For processes beside it. */
  readonly sharedEventStoreUrl: string;
}

/** Serves the reads of the embedded event node; each uses one for a page at a time. */
const NODE_CONNECTIONS = 8;

/** Announces a long step. Throws the reason to end instead of beginning it. */
function step({ ending, progress }: StoresOptions, name: string): void {
  ending?.throwIfAborted();
  progress?.(name);
}

/** Opens the stores in order and brings the schema up to date. The owner of the stack closes them. */
export async function openStores(options: StoresOptions, opened: AsyncDisposableStack): Promise<Stores> {
  const { config, log } = options;
  openDataFolder(config.dataDir);
  const { databaseUrl, directUrl } = await openDatabase(options, opened);
  step(options, 'Bringing the database schema up to date');
  await refuseTransactionPooler(directUrl);
  await migrate({ url: directUrl });
  const pool = openPool({ url: databaseUrl, log });
  opened.defer(() => pool.end());
  const places = { pool, databaseUrl, directUrl };
  const { eventStoreUrl: url } = config;
  if (url !== null) {
    await whenReached('event store', () => reachEventStore(url), options);
    return { ...places, eventStoreUrl: url, sharedEventStoreUrl: url };
  }
  const node = await openOwnNode(options, { databaseUrl, directUrl }, opened);
  return { ...places, eventStoreUrl: node.ownUrl, sharedEventStoreUrl: node.url };
}

async function openDatabase(
  options: StoresOptions,
  opened: AsyncDisposableStack,
): Promise<{ databaseUrl: string; directUrl: string }> {
  const { config, log, ending } = options;
  if (config.database) {
    const { url: databaseUrl, directUrl } = config.database;
    for (const url of new Set([directUrl, databaseUrl]))
      await whenReached('database', () => reachDatabase(url), options);
    return { databaseUrl, directUrl };
  }
  refuseUnfinishedRestore(config.dataDir);
  step(options, 'Starting the embedded Postgres');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log, ...(ending && { ending }) });
  opened.defer(() => postgres.stop());
  return { databaseUrl: postgres.url, directUrl: postgres.url };
}

async function openOwnNode(
  options: StoresOptions,
  { databaseUrl, directUrl }: { databaseUrl: string; directUrl: string },
  opened: AsyncDisposableStack,
): Promise<EventNode> {
  step(options, 'Starting the embedded event node');
  const { config, log } = options;
  const directConnection = () => openDirectConnection(directUrl, 'gateway event node');
  const portFile = join(config.dataDir, 'store-port');
  const port = config.storePort === 0 ? ((await readPort(portFile)) ?? (await freePort())) : config.storePort;
  const access = await openNodeAccess(join(config.dataDir, 'event-node'));
  // A separate pool: slow queries of the gateway do not delay reads of events.
  const pool = openPool({ url: databaseUrl, log, size: NODE_CONNECTIONS });
  opened.defer(() => pool.end());
  const database = { pool, isPoolDirect: databaseUrl === directUrl, directConnection };
  const place = { host: '127.0.0.1', port, access, batchAppend: true };
  const node = await startEventNode({ ...database, log, ...place }).catch((error: unknown) => {
    throw isInUse(error) ? nodePortTaken(config, port, portFile) : error;
  });
  opened.defer(() => node.stop());
  if (config.storePort === 0) await writePort(portFile, port);
  return node;
}

/** The gRPC server reports the reason only in its text. */
const isInUse = (error: unknown): boolean => error instanceof Error && error.message.includes('EADDRINUSE');

const nodePortTaken = ({ storePort }: Config, port: number, portFile: string): Error =>
  storePort === 0
    ? portTaken('the embedded event node', port, portFile)
    : new Error(
        `Port ${String(port)}, where the embedded event node should listen, is taken by another program: end that one or set STORE_PORT.`,
      );
