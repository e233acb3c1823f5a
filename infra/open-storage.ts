/** Database, keys and event store: what everything else is kept in. */
import type { KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { Log, Sql } from '../commands/kernel/ports.ts';
import type { Config } from './config.ts';
import { type ConnectedEventStore, openEventStore } from './event-store/event-store-client.ts';
import { startEventNode } from './event-store/node/start-event-node.ts';
import { openDirectConnection, refuseTransactionPooler } from './postgres/direct-connection.ts';
import { startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
import { migrate } from './postgres/migrate.ts';
import { openPool, postgresSql } from './postgres/pool.ts';
import { loadMasterKey } from './security/key-file.ts';
import { openVault, type Vault } from './security/vault.ts';

export interface StorageOptions {
  readonly config: Config;
  readonly log: Log;
  /** Parts that run already (beside a running gateway), instead of our own. */
  readonly eventStoreUrl?: string;
  readonly databaseUrl?: string;
  /** Told before each long step. */
  readonly progress?: (step: string) => void;
}

export interface Storage {
  readonly sql: Sql;
  readonly vault: Vault;
  readonly masterKey: KeyObject;
  readonly events: ConnectedEventStore;
  readonly databaseUrl: string;
  readonly directUrl: string;
  readonly eventStoreUrl: string;
}

/** Opens them in order; what was opened is put on the stack for its owner to close. */
export async function openStorage(options: StorageOptions, opened: AsyncDisposableStack): Promise<Storage> {
  const { config, log } = options;
  const masterKey = await loadMasterKey(config.keyFile, { mayMake: true });
  const { databaseUrl, directUrl } = await openDatabase(options, opened);
  options.progress?.('Bringing the database schema up to date');
  await refuseTransactionPooler(directUrl);
  await migrate({ url: directUrl });
  const pool = openPool({ url: databaseUrl, log });
  opened.defer(() => pool.end());
  const sql = postgresSql(pool);
  const vault = await openVault(sql, masterKey);
  const given = options.eventStoreUrl ?? config.eventStoreUrl;
  const eventStoreUrl =
    given ??
    (await openOwnNode(options, { pool, directUrl, isPoolDirect: databaseUrl === directUrl }, opened));
  const events = openEventStore({ url: eventStoreUrl, log });
  opened.defer(() => events.close());
  return { sql, vault, masterKey, events, databaseUrl, directUrl, eventStoreUrl };
}

async function openDatabase(
  { config, databaseUrl, log, progress }: StorageOptions,
  opened: AsyncDisposableStack,
): Promise<{ databaseUrl: string; directUrl: string }> {
  if (databaseUrl !== undefined) return { databaseUrl, directUrl: databaseUrl };
  if (config.database) return { databaseUrl: config.database.url, directUrl: config.database.directUrl };
  progress?.('Starting the embedded Postgres');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  opened.defer(() => postgres.stop());
  return { databaseUrl: postgres.url, directUrl: postgres.url };
}

async function openOwnNode(
  { log, progress }: StorageOptions,
  { pool, directUrl, isPoolDirect }: { pool: Pool; directUrl: string; isPoolDirect: boolean },
  opened: AsyncDisposableStack,
): Promise<string> {
  progress?.('Starting the embedded event node');
  const directConnection = () => openDirectConnection(directUrl, 'gateway event node');
  const place = { host: '127.0.0.1', port: 0, batchAppend: true };
  const node = await startEventNode({ pool, isPoolDirect, directConnection, log, ...place });
  opened.defer(() => node.stop());
  return node.url;
}
