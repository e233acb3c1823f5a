/** Postgres goes away under load: the node comes back by itself, and what became of every append is settled. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { startEmbeddedPostgres } from '../../../../infra/postgres/embedded/embedded-postgres.ts';
import { migrate } from '../../../../infra/postgres/migrate.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { figure, isLong, timesOf } from '../../../support/suite/long.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { Follower, expectWhole, startLoad } from './load.ts';
import type { Load } from './load.ts';
import { NodeChild } from './node-child.ts';

const WRITERS = 16;

/** Within this the node works again once Postgres does. The long form runs alone. */
const BACK_WITHIN_MS = timesOf(10_000, 2_000);

/** Milliseconds until the next append is acknowledged. */
async function untilAcknowledged(load: Load): Promise<number> {
  const before = load.acknowledged.length;
  const startedAt = performance.now();
  // Those under way may have been committed before the cut: only a full round of all writers shows that it works.
  await eventually(() => load.acknowledged.length > before + WRITERS, 20_000);
  return performance.now() - startedAt;
}

describe('the event node when Postgres goes away under load', function () {
  this.timeout(isLong ? 600_000 : 180_000);

  let opened: AsyncDisposableStack;

  beforeEach(() => {
    opened = new AsyncDisposableStack();
  });
  afterEach(() => opened.disposeAsync());

  /** A node on the database, and writers and a follower on the node. */
  const underLoad = async (databaseUrl: string) => {
    const node = await NodeChild.start({ databaseUrl });
    opened.defer(async () => {
      await node.end();
    });
    const store = openEventStore({ url: node.url, log: silentLog });
    opened.defer(() => store.close());
    const follower = new Follower(store);
    const load = startLoad(store, WRITERS);
    const expectAll = async (): Promise<void> => {
      await load.stop();
      await follower.until(load.acknowledged.length);
      await expectWhole(store, load, [follower]);
    };
    return { load, expectAll };
  };

  it('works again at once when every connection was closed, and loses and repeats nothing', async () => {
    const database = await testDatabase();
    opened.defer(() => database.drop());
    const { load, expectAll } = await underLoad(database.url);
    const admin = await openDirectConnection(database.url, 'postgres restart test');
    opened.defer(() => admin.end());
    for (let cut = 0; cut < timesOf(8, 60); cut += 1) {
      await delay(100 + 13 * (cut % 5));
      await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      expect(await untilAcknowledged(load)).to.be.below(BACK_WITHIN_MS);
    }
    await expectAll();
  });

  it('works again soon after Postgres when that was killed, and loses and repeats nothing', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-postgres-killed-'));
    opened.defer(() => rm(dataDir, { recursive: true, force: true }));
    // Run by root, Postgres works as another account, who must be able to enter.
    await chmod(dataDir, 0o755);
    const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog });
    opened.defer(() => postgres.stop());
    await migrate({ url: postgres.url });
    const { load, expectAll } = await underLoad(postgres.url);
    const waits: number[] = [];
    for (let kill = 0; kill < timesOf(2, 20); kill += 1) {
      await delay(300);
      const before = await postmaster(dataDir);
      process.kill(before, 'SIGKILL');
      await eventually(() => takesConnections(postgres.url), 30_000);
      waits.push(await untilAcknowledged(load));
      expect(await postmaster(dataDir)).not.to.equal(before);
    }
    expect(Math.max(...waits)).to.be.below(BACK_WITHIN_MS);
    await expectAll();
    figure(
      `Postgres killed ${String(waits.length)} times: ${String(load.acknowledged.length)} events, ` +
        `at most ${Math.max(...waits).toFixed(0)} ms from Postgres to the next round of appends`,
    );
  });
});

async function postmaster(dataDir: string): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8');
  return Number(file.split('\n')[0]);
}

const takesConnections = (url: string): Promise<boolean> =>
  openDirectConnection(url, 'postgres restart test').then(
    async (client) => {
      await client.end();
      return true;
    },
    () => false,
  );
