/** The stores of a process, opened in order: Postgres, the vault's keys, the event store. */
import type { KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import type { Sql } from '../../commands/ports/ports.ts';
import { type ConnectedEventStore, openEventStore } from '../event-store/event-store-client.ts';
import { openPool, postgresSql } from '../postgres/pool.ts';
import { loadMasterKey, loadSharedKeys } from '../security/key-file.ts';
import { openVault, type Vault, vaultExists } from '../security/vault.ts';
import { openStores, type StoresOptions } from './start-stores.ts';
import { StoreSpace } from './store-space.ts';

export interface Storage {
  /** The port of `space`, which observes its failures. */
  readonly sql: Sql;
  readonly space: StoreSpace;
  /** Separate connections for reads with a short deadline, independent of the load on `sql`. */
  readonly epochSql: Sql;
  /** The pool behind `sql`. */
  readonly pool: Pool;
  readonly vault: Vault;
  readonly masterKey: KeyObject;
  readonly events: ConnectedEventStore;
  readonly databaseUrl: string;
  readonly directUrl: string;
  readonly eventStoreUrl: string;
  readonly sharedEventStoreUrl: string;
}

const EPOCH_TIMEOUT_MS = 1_000;

/** Opens the stores in order. The owner of the stack closes them. */
export async function openStorage(options: StoresOptions, opened: AsyncDisposableStack): Promise<Storage> {
  const { config, log } = options;
  const { pool, ...places } = await openStores(options, opened);
  // The direct address was found to lead to no transaction pooler.
  const isDirect = places.databaseUrl === places.directUrl;
  const space = new StoreSpace({ sql: postgresSql(pool, { isDirect }), log });
  const { sql } = space;
  // When a vault exists, another process or an earlier run made its key.
  const masterKey = await loadMasterKey(config.keyFile, { mayMake: !(await vaultExists(sql)) });
  const shared = config.sharedKeysFile === null ? null : await loadSharedKeys(config.sharedKeysFile);
  const vault = await openVault(sql, masterKey, shared);
  const epochPool = openPool({ url: places.databaseUrl, log, size: 2, statementTimeoutMs: EPOCH_TIMEOUT_MS });
  opened.defer(() => epochPool.end());
  const events = openEventStore({ url: places.eventStoreUrl, log, onNoSpace: space.noteFull });
  opened.defer(() => events.close());
  return {
    sql,
    space,
    pool,
    epochSql: postgresSql(epochPool, { isDirect }),
    vault,
    masterKey,
    events,
    ...places,
  };
}
