/** An embedded home without a gateway over it: Postgres in its own folder, a vault, an event node that may write. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EventStoreDBClient } from '@eventstore/db-client';
import { startEventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../../../../infra/postgres/embedded/embedded-postgres.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { loadMasterKey } from '../../../../infra/security/key-file.ts';
import { openVault } from '../../../../infra/security/vault.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';

export interface Home extends AsyncDisposable {
  readonly dataDir: string;
  readonly keyFile: string;
  readonly url: string;
  readonly sql: Sql;
  readonly events: EventStoreDBClient;
}

export interface HomeOptions {
  /** The key is made there when there is none. */
  readonly keyFile?: string;
  /** So many events fill the empty log before the node starts. */
  readonly bulk?: number;
}

/** Opens the home in `dataDir`, making it when there is none. */
export async function openHome(
  dataDir: string,
  { keyFile = join(dataDir, 'master.key'), bulk = 0 }: HomeOptions = {},
): Promise<Home> {
  await using opened = new AsyncDisposableStack();
  await mkdir(dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog, settings: { fsync: 'off' } });
  opened.defer(() => postgres.stop());
  const { url } = postgres;
  await migrate({ url });
  const pool = openPool({ url, log: silentLog });
  opened.defer(() => pool.end());
  const sql = postgresSql(pool);
  await openVault(sql, await loadMasterKey(keyFile, { mayMake: true }));
  if (bulk > 0) await fillLog(sql, bulk);
  const directConnection = () => openDirectConnection(url, 'event node under test');
  const place = { host: '127.0.0.1', port: 0, access: null, batchAppend: true };
  const node = await startEventNode({ pool, directConnection, log: silentLog, ...place });
  opened.defer(() => node.stop());
  const events = EventStoreDBClient.connectionString(node.url);
  opened.defer(() => events.dispose());
  const stack = opened.move();
  return { dataDir, keyFile, url, sql, events, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Longer than the events, whose data has 384 bytes: only the order of positions means anything. */
const SPACING = 500;

/** As if a node had written so many events. */
async function fillLog(sql: Sql, count: number): Promise<void> {
  await sql.query(
    `insert into log.event (position, stream, revision, id, type, is_json, data, metadata, created)
     select 64 + (n - 1) * $2::bigint, 'bulk-' || n % 1000, (n - 1) / 1000, gen_random_uuid(), 'BulkHappened', true,
            convert_to(repeat(md5(n::text), 12), 'UTF8'), '', 17000000000000000 + n
     from generate_series(1, $1::bigint) as n`,
    [count, SPACING],
  );
  await sql.query('update log.node_epoch set log_end = 64 + $1::bigint * $2::bigint', [count, SPACING]);
}
