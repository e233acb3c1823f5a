/** A writer whose lock went to another while its connection lives: only the epoch keeps it from writing. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Client } from 'pg';
import {
  WriterFenced,
  WriterLockHeld,
  WriterSession,
} from '../../../../infra/event-store/node/writer-session.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../contract/event-store/store-under-test.ts';

const record = (session: WriterSession) => ({
  position: session.logEnd,
  stream: `fenced-${randomUUID()}`,
  revision: 0,
  id: randomUUID(),
  type: 'FenceTested',
  isJson: true,
  data: Buffer.from('{}'),
  metadata: Buffer.alloc(0),
  createdMs: Date.now(),
});

describe('a writer session', () => {
  let database: TestDatabase;
  let opened: AsyncDisposableStack;

  beforeEach(async () => {
    opened = new AsyncDisposableStack();
    database = await testDatabase();
    opened.defer(() => database.drop());
  });
  afterEach(() => opened.disposeAsync());

  const open = async (): Promise<{ session: WriterSession; client: Client }> => {
    const client = await openDirectConnection(database.url, 'writer session test');
    const session = await WriterSession.open(client, () => undefined);
    opened.defer(() => session.close());
    return { session, client };
  };

  it('is the only one while it holds its lock', async () => {
    const { session } = await open();
    expect((await rejection(open(), WriterLockHeld)).epoch).to.equal(session.epoch);
  });

  it('commits nothing and detects it when another session has the epoch, although its connection is alive', async () => {
    const { session: first, client } = await open();
    await first.commit([record(first)], first.logEnd + 100);
    await client.query('SELECT pg_advisory_unlock_all()');
    const { session: second } = await open();
    expect([second.logEnd, second.epoch]).to.deep.equal([first.logEnd, first.epoch + 1]);
    await rejection(first.commit([record(first)], first.logEnd + 100), WriterFenced);
    await rejection(first.confirm(), WriterFenced);
    await second.commit([record(second)], second.logEnd + 100);
    await second.confirm();
    const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM log.event');
    expect(rows[0]?.count).to.equal('2');
  });

  it('writes nothing to a stream that it assumed to be empty', async () => {
    const { session } = await open();
    const first = record(session);
    expect(await session.commit([first], session.logEnd + 100, [first.stream])).to.equal(true);
    const again = { ...record(session), stream: first.stream };
    expect(await session.commit([again], session.logEnd + 100, [first.stream])).to.equal(false);
    const described = { ...record(session), stream: '$$described' };
    expect(await session.commit([described], session.logEnd + 100)).to.equal(true);
    expect(await session.commit([again], session.logEnd + 100, ['described'])).to.equal(false);
  });

  it('never reads the whole log when the first plan was made for an empty one', async () => {
    const { session } = await open();
    for (let n = 0; n < 60; n += 1) {
      const one = record(session);
      await session.commit([one], session.logEnd + 100, [one.stream]);
    }
    await session.close();
    const watcher = await openDirectConnection(database.url, 'writer session test');
    opened.defer(() => watcher.end());
    // What a session read is counted by the time its connection has gone.
    const { rows } = await watcher.query<{ read: string; looked_up: string }>(
      `SELECT seq_tup_read AS read, idx_scan AS looked_up FROM pg_stat_all_tables
       WHERE relid = 'log.event'::regclass`,
    );
    expect(Number(rows[0]?.looked_up)).to.be.above(50);
    expect(Number(rows[0]?.read)).to.be.below(60);
  });
});
