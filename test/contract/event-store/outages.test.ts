/** The store goes away, falls silent or loses its lock: nothing acknowledged is lost, nothing is written twice. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import type { NewEvent } from '../../../commands/values/event.ts';
import { openEventStore } from '../../../infra/event-store/event-store-client.ts';
import type {
  ConnectedEventStore,
  EventStoreOptions,
} from '../../../infra/event-store/event-store-client.ts';
import { startEventNode } from '../../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { silentLog } from '../../support/fakes/silent-log.ts';
import { freezableProxy } from './freezable-proxy.ts';
import type { FreezableProxy } from './freezable-proxy.ts';
import { embeddedStore, freshStream, rejection } from './store-under-test.ts';
import type { EmbeddedStore } from './store-under-test.ts';

const fact = (n: number): NewEvent => ({ id: randomUUID(), type: 'OutageTested', data: { n }, metadata: {} });

for (const batchAppend of [true, false]) {
  describe(`outages of the embedded node (${batchAppend ? 'batch' : 'unary'})`, function () {
    this.timeout(60_000);
    let embedded: EmbeddedStore;
    let proxy: FreezableProxy;
    const opened: ConnectedEventStore[] = [];

    const open = (options: Partial<EventStoreOptions> = {}): ConnectedEventStore => {
      const store = openEventStore({ url: embedded.url, log: silentLog, ...options });
      opened.push(store);
      return store;
    };

    const throughProxy = (options: Partial<EventStoreOptions>): ConnectedEventStore =>
      open({ url: `esdb://127.0.0.1:${String(proxy.port)}?tls=false`, ...options });

    before(async function () {
      this.timeout(120_000);
      embedded = await embeddedStore({ batchAppend });
      proxy = await freezableProxy(Number(new URL(embedded.url).port));
    });

    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
    });

    after(async () => {
      await proxy.close();
      await embedded.remove();
    });

    it('resume subscriptions behind the last item without loss or repeat when the node restarts', async () => {
      const store = open();
      const end = new AbortController();
      const stream = freshStream();
      const { position } = await store.append(stream, 'no-stream', [fact(0)]);
      const seen: unknown[] = [];
      const following = (async () => {
        for await (const item of store.subscribeToAll(position, end.signal)) {
          if (item.kind === 'event') seen.push(item.event.data['n']);
          if (seen.length === 299) return;
        }
      })();
      for (let n = 1; n < 300; n += 1) {
        if (n % 100 === 50) {
          await embedded.stopNode();
          await embedded.startNode();
        }
        await store.append(stream, BigInt(n - 1), [fact(n)]);
      }
      await following;
      end.abort();
      expect(seen).to.deep.equal(Array.from({ length: 299 }, (_unused, n) => n + 1));
    });

    it('settle every append in flight exactly once when the node stops', async () => {
      const store = open();
      const streams = Array.from({ length: 200 }, () => freshStream());
      const appends = streams.map((stream, n) => store.append(stream, 'no-stream', [fact(n)]));
      const settled = Promise.all(appends);
      await appends[20];
      await embedded.stopNode();
      await embedded.startNode();
      for (const { revision } of await settled) expect(revision).to.equal(0n);
      for (const stream of streams) expect(await store.readStream(stream)).to.have.length(1);
    });

    it('answer store_unavailable within the deadline and recover automatically when the node is unreachable', async () => {
      const store = open({ appendTimeoutMs: 500, readTimeoutMs: 500 });
      const stream = freshStream();
      await store.append(stream, 'no-stream', [fact(0)]);
      await embedded.stopNode();
      const startedAt = performance.now();
      const errors = await Promise.all([
        rejection(store.append(stream, 0n, [fact(1)])),
        rejection(store.readStream(stream)),
      ]);
      for (const error of errors) expect(error).to.have.property('code', 'store_unavailable');
      expect(performance.now() - startedAt).to.be.below(8_000);
      await embedded.startNode();
      const recovered = open();
      expect((await recovered.append(stream, 0n, [fact(1)])).revision).to.equal(1n);
      expect((await store.append(stream, 1n, [fact(2)])).revision).to.equal(2n);
      expect(await store.readStream(stream)).to.have.length(3);
    });

    it('read a whole log page by page while the node restarts', async () => {
      const store = open();
      const stream = freshStream();
      const { position: from } = await store.append(stream, 'no-stream', [fact(-1)]);
      const numbers = Array.from({ length: 300 }, (_unused, n) => n);
      await store.append(stream, 0n, numbers.map(fact));
      const seen: unknown[] = [];
      let restarts = 0;
      let restarting = Promise.resolve();
      let after = from;
      for (
        let page = await store.readAll(after, 10);
        page.length > 0;
        page = await store.readAll(after, 10)
      ) {
        seen.push(...page.map(({ data }) => data['n']));
        after = page.at(-1)?.position ?? after;
        if (seen.length % 100 !== 50) continue;
        restarts += 1;
        restarting = restarting.then(() => embedded.stopNode()).then(() => embedded.startNode());
      }
      await restarting;
      expect(restarts).to.equal(3);
      expect(seen).to.deep.equal(numbers);
    });

    it('write an append once and report it once when the answer is lost', async () => {
      const store = throughProxy({ appendTryTimeoutMs: 300 });
      const stream = freshStream();
      await store.append(stream, 'no-stream', [fact(0)]);
      proxy.freeze('answers');
      const append = store.append(stream, 0n, [fact(1)]);
      const direct = open();
      while ((await direct.readStream(stream)).length < 2) await new Promise(setImmediate);
      proxy.cut();
      proxy.thaw();
      expect((await append).revision).to.equal(1n);
      expect(await direct.readStream(stream)).to.have.length(2);
    });

    it('end the wait for a silent node and write the append at most once', async () => {
      const store = throughProxy({ appendTimeoutMs: 700, appendTryTimeoutMs: 250, readTimeoutMs: 400 });
      const stream = freshStream();
      await store.append(stream, 'no-stream', [fact(0)]);
      proxy.freeze('all');
      const startedAt = performance.now();
      expect(await rejection(store.append(stream, 0n, [fact(1)]))).to.have.property(
        'code',
        'store_unavailable',
      );
      expect(await rejection(store.readStream(stream))).to.have.property('code', 'store_unavailable');
      expect(performance.now() - startedAt).to.be.within(900, 9_000);
      proxy.thaw();
      expect((await store.append(freshStream(), 'no-stream', [fact(2)])).revision).to.equal(0n);
      expect((await store.readStream(stream)).map(({ data }) => data['n'])).to.satisfy((seen: unknown[]) =>
        ['0', '0,1'].includes(seen.join()),
      );
    });

    it('write again when the database disconnected the writer, and fence other writers', async () => {
      const store = open();
      const stream = freshStream();
      await store.append(stream, 'no-stream', [fact(0)]);
      const database = await openDirectConnection(embedded.databaseUrl, 'outage test');
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      expect((await store.append(stream, 0n, [fact(1)])).revision).to.equal(1n);
      await database.query('UPDATE log.node_epoch SET epoch = epoch + 1');
      expect((await store.append(stream, 1n, [fact(2)])).revision).to.equal(2n);
      expect(await store.readStream(stream)).to.have.length(3);
      await database.end();
    });

    it('refuse a second node on the same log', async () => {
      const pool = new pg.Pool({ connectionString: embedded.databaseUrl, max: 1 });
      const second = startEventNode({
        pool,
        directConnection: () => openDirectConnection(embedded.databaseUrl, 'second node'),
        host: '127.0.0.1',
        access: null,
        port: 0,
        batchAppend,
        log: silentLog,
        lockTimeoutMs: 100,
      });
      expect(await rejection(second)).to.have.property('name', 'WriterLockHeld');
      const { rows } = await pool.query<{ left: string }>(
        `SELECT count(*) AS left FROM pg_stat_activity WHERE application_name = 'second node'`,
      );
      expect(rows).to.deep.equal([{ left: '0' }]);
      await pool.end();
    });
  });
}
