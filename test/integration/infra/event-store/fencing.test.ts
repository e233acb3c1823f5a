/** Two nodes on one log: the one that lost its place commits nothing, says that it is not ready, and comes back in its turn. */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, NO_STREAM, START, jsonEvent } from '@eventstore/db-client';
import type { AppendResult } from '@eventstore/db-client';
import { expect } from 'chai';
import pg from 'pg';
import { startEventNode } from '../../../../infra/event-store/node/start-event-node.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { freezableProxy } from '../../../contract/event-store/freezable-proxy.ts';
import { SubscriptionWatch } from '../../../contract/event-store/subscription-watch.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { NodeChild } from './node-child.ts';

const NOT_READY = /Not Ready|UNAVAILABLE|ECONNREFUSED|Connection dropped/;

/** An append to a stream of its own, that can be sent twice. */
function newAppend(): (client: EventStoreDBClient) => Promise<AppendResult> {
  const stream = `fenced-${randomUUID()}`;
  const event = jsonEvent({ id: randomUUID(), type: 'FenceTested', data: { stream } });
  return (client) => client.appendToStream(stream, event, { expectedRevision: NO_STREAM });
}

async function streamsOf(client: EventStoreDBClient): Promise<string[]> {
  const seen: string[] = [];
  for await (const { event } of client.readAll({ fromPosition: START })) if (event) seen.push(event.streamId);
  return seen;
}

const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it succeeded',
    (error: unknown) => String(error),
  );

/** Ends the session that holds the writer's lock, as a failed machine's is ended. */
async function cutWriter(databaseUrl: string): Promise<void> {
  const client = await openDirectConnection(databaseUrl, 'fencing test');
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  await client.end();
}

describe('an event node that lost its fence', function () {
  this.timeout(120_000);
  let database: TestDatabase;
  const clients: EventStoreDBClient[] = [];
  const children: NodeChild[] = [];

  const start = async (): Promise<NodeChild> => {
    const child = await NodeChild.start({ databaseUrl: database.url });
    children.push(child);
    return child;
  };
  const connect = (url: string): EventStoreDBClient => {
    const client = EventStoreDBClient.connectionString(url);
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    database = await testDatabase();
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.dispose()));
    await Promise.all(children.splice(0).map((child) => child.end()));
    await database.drop();
  });

  it('writes nothing it was sent and loses nothing when it had been paused', async () => {
    const first = await start();
    const client = connect(first.url);
    const watch = new SubscriptionWatch(connect(first.url).subscribeToAll());
    const acknowledged = Array.from({ length: 20 }, newAppend);
    for (const append of acknowledged) expect((await append(client)).success).to.equal(true);
    await watch.until('caught-up');

    first.freeze();
    const stuck = Array.from({ length: 20 }, newAppend);
    const answers = Promise.all(stuck.map((append) => reasonOf(append(client))));
    await cutWriter(database.url);
    const second = await start();
    const other = connect(second.url);
    // Half of what is stuck is sent to the other node too, as the identical append.
    for (const append of stuck.slice(0, 10)) expect((await append(other)).nextExpectedRevision).to.equal(0n);

    first.thaw();
    for (const reason of await answers) expect(reason).to.match(NOT_READY);
    expect(await reasonOf(newAppend()(client))).to.match(NOT_READY);
    expect(await reasonOf(streamsOf(client))).to.match(NOT_READY);
    await watch.until('error:unavailable');
    const written = await streamsOf(other);
    expect(written).to.have.length(30);
    expect(new Set(written).size).to.equal(30);

    // The way back: when the second goes, the first takes over by itself and has everything.
    expect(await second.end('SIGTERM')).to.equal(0);
    await eventually(async () => (await reasonOf(streamsOf(client))) === 'it succeeded');
    expect(await streamsOf(client)).to.deep.equal(written);
    for (const append of stuck) expect((await append(client)).nextExpectedRevision).to.equal(0n);
    expect(await streamsOf(client)).to.have.length(40);
  });

  it('detects the loss without any write when its connection froze', async () => {
    await using opened = new AsyncDisposableStack();
    const proxy = await freezableProxy(Number(new URL(database.url).port));
    opened.defer(() => proxy.close());
    const throughProxy = new URL(database.url);
    throughProxy.port = String(proxy.port);
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    // The database is dropped right after the test, which may reach a connection that is still closing.
    pool.on('connect', (pooled) => pooled.on('error', () => undefined));
    opened.defer(() => pool.end());
    const node = await startEventNode({
      pool,
      directConnection: () => openDirectConnection(throughProxy.href, 'event node behind a proxy'),
      host: '127.0.0.1',
      access: null,
      port: 0,
      batchAppend: true,
      log: silentLog,
    });
    opened.defer(() => node.stop());
    const client = connect(node.url);
    await newAppend()(client);
    proxy.freeze('all');
    await cutWriter(database.url);
    const second = await start();
    await newAppend()(connect(second.url));
    await eventually(async () => NOT_READY.test(await reasonOf(streamsOf(client))));
    proxy.thaw();
    expect(await reasonOf(newAppend()(client))).to.match(NOT_READY);
  });
});
