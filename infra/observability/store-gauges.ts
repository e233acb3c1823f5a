/** Gauges of the stores, read when Prometheus scrapes: space, connections, and waiting work. */
import { statfs } from 'node:fs/promises';
import type { Pool } from 'pg';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Clock, Sql } from '../../commands/ports/ports.ts';
import { countOpenWork, type OpenWork } from '../../projections/open-work.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import type { Metrics } from './metrics.ts';

export interface WatchedStores {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly pool: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>;
  readonly space: { isFull(): Promise<boolean> };
  readonly dataDir: string;
}

/** Call once per process: a name can be watched only once. */
export function watchStores(metrics: Pick<Metrics, 'watch' | 'watchEach'>, stores: WatchedStores): void {
  const { pool, space, dataDir } = stores;
  metrics.watch('gateway_store_full', '1 while writes fail because there is no space left.', () =>
    orUnknown(async () => Number(await space.isFull())),
  );
  metrics.watch(
    'gateway_disk_free_bytes',
    'Space left for the gateway on the file system of DATA_DIR.',
    async () => {
      const { bavail, bsize } = await statfs(dataDir);
      return bavail * bsize;
    },
  );
  metrics.watch('gateway_disk_size_bytes', 'Size of the file system of DATA_DIR.', async () => {
    const { blocks, bsize } = await statfs(dataDir);
    return blocks * bsize;
  });
  const connections = {
    name: 'gateway_postgres_connections',
    help: 'Connections of this process to Postgres by state.',
    label: 'state',
  };
  metrics.watchEach(connections, () => {
    const { totalCount, idleCount } = pool;
    return new Map([
      ['idle', idleCount],
      ['busy', totalCount - idleCount],
    ]);
  });
  metrics.watch(
    'gateway_postgres_waiting',
    'Queries of this process that wait for a connection to Postgres.',
    () => pool.waitingCount,
  );
  watchWork(metrics, stores);
}

function watchWork(metrics: Pick<Metrics, 'watch'>, { sql, clock }: WatchedStores): void {
  const counts = new SingleFlight<OpenWork>();
  // All gauges of one scrape are read at once and share one query.
  const number = (name: string, help: string, read: (work: OpenWork) => number): void => {
    metrics.watch(name, help, () =>
      orUnknown(async () => read(await counts.join('work', () => countOpenWork(sql, clock.now())))),
    );
  };
  number('gateway_approvals_waiting', 'Approvals that wait for people.', (work) => work.approvalsWaiting);
  number(
    'gateway_approvals_oldest_waiting_seconds',
    'Age of the oldest waiting approval; 0 = none waits.',
    (work) => work.oldestApprovalSeconds,
  );
  number(
    'gateway_approvals_expired_undecided',
    'Approvals of the last 24 hours that expired before enough people had decided.',
    (work) => work.approvalsExpired,
  );
  number(
    'gateway_operations_unknown',
    'Operations with an unknown outcome; each one needs a person.',
    (work) => work.operationsUnknown,
  );
  number(
    'gateway_sends_waiting',
    'Sends that the mail server deferred and that are retried.',
    (work) => work.sendsWaiting,
  );
  number(
    'gateway_system_mails_retried',
    'Mails of the gateway itself that were not taken and are tried again.',
    (work) => work.systemMailsRetried,
  );
  number(
    'gateway_system_mails_failed',
    'Mails of the gateway itself that were given up in the last 24 hours.',
    (work) => work.systemMailsFailed,
  );
}

/** Returns null, which omits the gauge, while the database is unreachable: other gauges report that. */
async function orUnknown(read: () => Promise<number>): Promise<number | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'store_unavailable') return null;
    throw error;
  }
}
