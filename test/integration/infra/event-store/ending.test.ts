/** How a node ends, and how it parts with callers that have vanished. */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, NO_STREAM, jsonEvent } from '@eventstore/db-client';
import { expect } from 'chai';
import { openEventStore } from '../../../../infra/event-store/event-store-client.ts';
import { freezableProxy } from '../../../contract/event-store/freezable-proxy.ts';
import { SubscriptionWatch } from '../../../contract/event-store/subscription-watch.ts';
import { eventually } from '../../../support/eventually.ts';
import { testDatabase } from '../../../support/postgres.ts';
import type { TestDatabase } from '../../../support/postgres.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { Follower, expectWhole, startLoad } from './load.ts';
import { NodeChild } from './node-child.ts';

describe('an event node', function () {
  this.timeout(30_000);
  let database: TestDatabase;

  beforeEach(async () => {
    database = await testDatabase();
  });
  afterEach(() => database.drop());

  it('told to end under load finishes its commit, tells its callers and leaves the log whole', async () => {
    let node = await NodeChild.start({ databaseUrl: database.url });
    const { port } = node;
    const store = openEventStore({ url: node.url, log: silentLog });
    const client = EventStoreDBClient.connectionString(node.url);
    const watch = new SubscriptionWatch(client.subscribeToAll());
    await watch.until('caught-up');
    const follower = new Follower(store);
    const load = startLoad(store, 16);
    await eventually(() => load.acknowledged.length > 100);
    const startedAt = performance.now();
    expect(await node.end('SIGTERM')).to.equal(0);
    expect(performance.now() - startedAt).to.be.below(3_000);
    expect((await watch.until('error:unavailable')).at(-1)).to.equal('error:unavailable');
    node = await NodeChild.start({ databaseUrl: database.url, port });
    const before = load.acknowledged.length;
    await eventually(() => load.acknowledged.length > before + 16, 10_000);
    await load.stop();
    await follower.until(load.acknowledged.length);
    await expectWhole(store, load, [follower]);
    await client.dispose();
    await store.close();
    await node.end();
  });

  it('frees what a caller that vanished without a word had open', async () => {
    const node = await NodeChild.start({
      databaseUrl: database.url,
      keepAlive: { everyMs: 300, timeoutMs: 300 },
    });
    const proxy = await freezableProxy(node.port);
    const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${String(proxy.port)}?tls=false`);
    const stream = `vanished-${randomUUID()}`;
    const event = jsonEvent({ type: 'Happened', data: {} });
    await client.appendToStream(stream, event, { expectedRevision: NO_STREAM });
    const watches = [client.subscribeToAll(), client.subscribeToStream(stream)].map(
      (subscription) => new SubscriptionWatch(subscription),
    );
    for (const watch of watches) await watch.until('caught-up');
    // Two subscriptions and the call that batches appends; pings are answered, so they stay.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await node.facts()).openCalls).to.equal(3);
    proxy.freeze('all');
    await eventually(async () => (await node.facts()).openCalls === 0);
    await proxy.close();
    await client.dispose();
    await node.end();
  });
});
