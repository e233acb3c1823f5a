import { expect } from 'chai';
import { MAILBOX_NUMBER, openIndex, WHOLE } from '../../../support/worlds/filled-mirror.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { pageStatement } from '../../../../infra/mail-index/page-sql.ts';

const MESSAGES = 5_000;
const LIMIT = 50;
/** Pages of tables and indexes for each message of a page: a few lookups by key. */
const MOST_BUFFERS_EACH = 10;

describe('a page of a mailbox just after its first pass', function () {
  this.timeout(60_000);
  let world: Awaited<ReturnType<typeof openIndex>>;

  before(async () => {
    world = await openIndex();
    const { sql } = world;
    // Statistics change only as this test says.
    for (const table of ['message', 'message_text'])
      await sql.query(`alter table mirror.${table} set (autovacuum_enabled = false)`);
    await sql.query(
      `insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, indexed, checked_at)
       values ($1, 1, 9, $2 + 1, 1, $2, $2, now())`,
      [MAILBOX_NUMBER, MESSAGES],
    );
    await sql.query(
      `insert into mirror.message (mailbox_number, folder_number, uid, received_at, size, seen, flagged, answered, draft,
         deleted, has_attachment)
       select $1, 1, uid, uid, uid, false, false, false, false, false, false from generate_series(1, $2::int) as uid`,
      [MAILBOX_NUMBER, MESSAGES],
    );
    await sql.query(
      `insert into mirror.message_text select $1, 1, uid, 'word ' || uid, '{}' from generate_series(1, $2::int) as uid`,
      [MAILBOX_NUMBER, MESSAGES],
    );
  });
  after(() => world.close());

  const sizeKnown = async (): Promise<number> => {
    const [row] = await world.sql.query<{ known: number }>(
      `select reltuples::int as known from pg_class where oid = 'mirror.message'::regclass`,
    );
    return row?.known ?? Number.NaN;
  };

  /** Buffers that a page in the middle of the folder touches. */
  const buffersOfPage = async (): Promise<number> => {
    const { text, values } = pageStatement(
      {
        mailbox: WHOLE,
        folderNumbers: [1],
        filter: {},
        order: 'received_desc',
        after: { value: MESSAGES / 2, folderNumber: 1, uid: MESSAGES / 2 },
        limit: LIMIT,
        threadKeys: null,
        withEnvelope: true,
      },
      { kind: 'walk' },
    );
    const [row] = await world.sql.query<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    );
    const plan = row?.['QUERY PLAN'][0].Plan ?? {};
    expect(plan['Actual Rows']).to.equal(LIMIT);
    return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
  };

  it('does not wait for whoever holds the tables', async () => {
    await world.sql.transaction(async (sql) => {
      await sql.query('lock table mirror.message, mirror.message_text in share update exclusive mode');
      const from = performance.now();
      expect(await rejection(world.index.analyze())).to.have.property('code', '55P03');
      expect(performance.now() - from).to.be.below(10_000);
    });
    expect(await sizeKnown()).to.be.below(1);
  });

  it('looks each message up by its key once the planner knows the size of the mailbox', async () => {
    expect(await sizeKnown()).to.be.below(1);
    await world.index.analyze();
    expect(await sizeKnown()).to.equal(MESSAGES);
    expect(await buffersOfPage()).to.be.below(LIMIT * MOST_BUFFERS_EACH);
  });

  it('is not analyzed again before it has grown', async () => {
    await world.sql.query('update mirror.message set flagged = true where uid = 1');
    const analyzed = () =>
      world.sql.query(
        `select relname, analyze_count from pg_stat_user_tables where schemaname = 'mirror' order by relname`,
      );
    const before = await analyzed();
    await world.index.analyze();
    expect(await analyzed()).to.deep.equal(before);
  });
});
