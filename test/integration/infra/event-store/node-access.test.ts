/** Who may talk to the embedded node: nobody without the password of its folder. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import pg from 'pg';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import type { ConnectedEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { openNodeAccess } from '../../../../infra/event-store/node/node-access.ts';
import { reachEventStore } from '../../../../infra/process/reach-stores.ts';
import { startEventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import type { EventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { freshStream, rejection } from '../../../contract/event-store/store-under-test.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const fact = () => ({ id: crypto.randomUUID(), type: 'AccessTested', data: {}, metadata: {} });

describe('access to the embedded event node', function () {
  this.timeout(60_000);
  let folder: string;
  let database: TestDatabase;
  let pool: pg.Pool;
  let node: EventNode;
  const opened: (ConnectedEventStore | EventStoreDBClient)[] = [];

  const gateway = (url: string, forceUnary = false): ConnectedEventStore => {
    const store = openEventStore({
      url,
      log: silentLog,
      forceUnary,
      appendTimeoutMs: 1_000,
      readTimeoutMs: 1_000,
    });
    opened.push(store);
    return store;
  };
  const stock = (url: string): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(url);
    opened.push(client);
    return client;
  };

  before(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'gateway-access ')), 'event-node');
    database = await testDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 4 });
    node = await startEventNode({
      pool,
      directConnection: () => openDirectConnection(database.url, 'event node under test'),
      host: '127.0.0.1',
      port: 0,
      access: await openNodeAccess(folder),
      batchAppend: true,
      log: silentLog,
    });
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => ('dispose' in one ? one.dispose() : one.close())));
  });

  after(async () => {
    await node.stop();
    await pool.end();
    await database.drop();
    await rm(join(folder, '..'), { recursive: true });
  });

  it(`is open to any client with the printed address over TLS ${verifies('contract:20:node-signs-in')}`, async () => {
    const client = stock(node.url);
    const stream = freshStream();
    await client.appendToStream(stream, jsonEvent({ type: 'AccessTested', data: { n: 1 } }));
    const seen = [];
    for await (const { event } of client.readStream(stream)) seen.push(event?.data);
    expect(seen).to.deep.equal([{ n: 1 }]);
  });

  for (const forceUnary of [false, true]) {
    it(`is open to a gateway by both addresses (${forceUnary ? 'unary' : 'batch'})`, async () => {
      for (const url of [node.url, node.ownUrl]) {
        const store = gateway(url, forceUnary);
        const stream = freshStream();
        await store.append(stream, 'no-stream', [fact()]);
        expect(await store.readStream(stream)).to.have.length(1);
        const end = new AbortController();
        for await (const item of store.subscribeToAll(null, end.signal)) if (item.kind === 'caught-up') break;
      }
    });
  }

  it(`is refused when the password is missing or wrong ${verifies('contract:20:node-signs-in')}`, async () => {
    const stream = freshStream();
    await gateway(node.ownUrl).append(stream, 'no-stream', [fact()]);
    const wrong = (url: string): string => url.replace(/gateway:[^@]*@/, 'gateway:wrong@');
    const none = (url: string): string => url.replace(/gateway:[^@]*@/, '');
    for (const url of [node.url, node.ownUrl].flatMap((given) => [wrong(given), none(given)])) {
      const client = stock(url);
      await rejection(client.appendToStream(stream, jsonEvent({ type: 'Intruded', data: {} })));
      await rejection(client.deleteStream(stream));
      await rejection(client.setStreamMetadata(stream, {}));
      for (const read of [client.readStream(stream), client.readAll(), client.subscribeToAll()]) {
        const seen: unknown[] = [];
        await rejection(
          (async () => {
            for await (const { event } of read) seen.push(event);
          })(),
        );
        expect(seen, url).to.deep.equal([]);
      }
      expect((await rejection(reachEventStore(url))).message).to.match(/denies the gateway access/);
      for (const unary of [false, true]) {
        const store = gateway(url, unary);
        expect(await rejection(store.append(stream, 0n, [fact()]))).to.include({ code: 'store_unavailable' });
        expect(await rejection(store.readAll(null, 1))).to.include({ code: 'store_unavailable' });
      }
    }
    expect(await gateway(node.ownUrl).readStream(stream)).to.have.length(1);
  });

  it('is not attempted when the server has another certificate', async () => {
    const other = join(folder, '..', 'other');
    await openNodeAccess(other);
    const url = node.url.replace(encodeURIComponent(folder), encodeURIComponent(other));
    expect(url).not.to.equal(node.url);
    expect(await rejection(gateway(url).readAll(null, 1))).to.include({ code: 'store_unavailable' });
  });

  it('ends at once when the node ends, also on a silent connection', async () => {
    const own = await testDatabase();
    const ownPool = new pg.Pool({ connectionString: own.url, max: 2 });
    const ending = await startEventNode({
      pool: ownPool,
      directConnection: () => openDirectConnection(own.url, 'event node under test'),
      host: '127.0.0.1',
      port: 0,
      access: await openNodeAccess(folder),
      batchAppend: true,
      log: silentLog,
    });
    const silent = connect(ending.port, '127.0.0.1').on('error', () => undefined);
    await once(silent, 'connect');
    const cut = once(silent, 'close');
    const startedAt = performance.now();
    await ending.stop();
    await cut;
    expect(performance.now() - startedAt).to.be.below(5_000);
    await ownPool.end();
    await own.drop();
  });

  it('is stored in files that no other account can read, and stays the same', async function () {
    const files = (await readdir(folder)).sort();
    expect(files).to.deep.equal(['access.json', 'ca.pem']);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777, file).to.equal(0o600);
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    const before = await readFile(join(folder, 'access.json'), 'utf8');
    expect((await openNodeAccess(folder)).urlAt(node.port)).to.equal(node.url);
    expect(await readFile(join(folder, 'access.json'), 'utf8')).to.equal(before);
    if (process.getuid?.() !== 0) return;
    const asNobody = { uid: 65534, gid: 65534, cwd: '/', stdio: 'pipe' } as const;
    for (const file of files) {
      expect(() => execFileSync('cat', [join(folder, file)], asNobody), file).to.throw(/Permission denied/);
    }
  });

  it('names the repair in one sentence when its file is broken', async () => {
    const broken = await mkdtemp(join(tmpdir(), 'gateway-access-'));
    await writeFile(join(broken, 'access.json'), '{"password": 1}');
    expect((await rejection(openNodeAccess(broken))).message).to.match(
      /access\.json does not hold .*delete it/,
    );
    await rm(broken, { recursive: true });
  });
});
