/** How a node ends, and how it parts with callers that have vanished. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { EventStoreDBClient, NO_STREAM, jsonEvent } from '@eventstore/db-client';
import { Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { freezableProxy } from '../../../contract/event-store/freezable-proxy.ts';
import { embeddedStore } from '../../../contract/event-store/store-under-test.ts';
import { SubscriptionWatch } from '../../../contract/event-store/subscription-watch.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { Follower, expectWhole, startLoad } from './load.ts';
import { NodeChild } from './node-child.ts';
import type { NodeJob } from './node-process.ts';

/** Its grace is a fifth of a second; the rest is room for a busy machine. */
const ENDED_WITHIN_MS = 8_000;

describe('the end of an event node', function () {
  this.timeout(90_000);
  let opened: AsyncDisposableStack;
  let database: TestDatabase;

  const start = async (job: Partial<NodeJob> = {}): Promise<NodeChild> => {
    const node = await NodeChild.start({ databaseUrl: database.url, ...job });
    opened.defer(async () => {
      await node.end();
    });
    return node;
  };
  const connect = (url: string): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(url);
    opened.defer(() => client.dispose());
    return client;
  };

  beforeEach(async () => {
    opened = new AsyncDisposableStack();
    database = await testDatabase();
    opened.defer(() => database.drop());
  });
  afterEach(() => opened.disposeAsync());

  it('finishes its commit, answers its callers and leaves the log whole when it ends under load', async () => {
    const node = await start();
    const store = openEventStore({ url: node.url, log: silentLog });
    opened.defer(() => store.close());
    const watch = new SubscriptionWatch(connect(node.url).subscribeToAll());
    await watch.until('caught-up');
    const follower = new Follower(store);
    const load = startLoad(store, 16);
    await eventually(() => load.acknowledged.length > 100);
    const startedAt = performance.now();
    expect(await node.end('SIGTERM')).to.equal(0);
    expect(performance.now() - startedAt).to.be.below(ENDED_WITHIN_MS);
    expect((await watch.until('error:unavailable')).at(-1)).to.equal('error:unavailable');
    await start({ port: node.port });
    const before = load.acknowledged.length;
    await eventually(() => load.acknowledged.length > before + 16);
    await load.stop();
    await follower.until(load.acknowledged.length);
    await expectWhole(store, load, [follower]);
  });

  it('ends when its connections break at the moment its shutdown begins', async () => {
    const store = await embeddedStore();
    opened.defer(() => store.remove());
    const watch = new SubscriptionWatch(connect(store.url).subscribeToAll());
    await watch.until('caught-up');
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its receiver below
    const { tryShutdown } = Server.prototype;
    opened.defer(() => {
      Server.prototype.tryShutdown = tryShutdown;
    });
    let broken = 0;
    Server.prototype.tryShutdown = function (this: Server, callback) {
      const { sessions } = this as unknown as { sessions: ReadonlyMap<{ destroy(): void }, unknown> };
      for (const session of sessions.keys()) {
        session.destroy();
        broken += 1;
      }
      tryShutdown.call(this, callback);
    };
    const startedAt = performance.now();
    await store.stopNode();
    expect(broken).to.be.above(0);
    expect(performance.now() - startedAt).to.be.below(ENDED_WITHIN_MS);
  });

  it('frees the calls of a client that disappeared', async () => {
    const node = await start({ keepAlive: { everyMs: 300, timeoutMs: 300 } });
    const proxy = await freezableProxy(node.port);
    opened.defer(() => proxy.close());
    const client = connect(`esdb://127.0.0.1:${String(proxy.port)}?tls=false`);
    const stream = `vanished-${randomUUID()}`;
    const event = jsonEvent({ type: 'Happened', data: {} });
    await client.appendToStream(stream, event, { expectedRevision: NO_STREAM });
    const watches = [client.subscribeToAll(), client.subscribeToStream(stream)].map(
      (subscription) => new SubscriptionWatch(subscription),
    );
    for (const watch of watches) await watch.until('caught-up');
    // Two subscriptions and the call that batches appends; for three rounds of pings, which are answered, they stay.
    await delay(1_000);
    expect((await node.facts()).openCalls).to.equal(3);
    proxy.freeze('all');
    await eventually(async () => (await node.facts()).openCalls === 0);
  });
});
