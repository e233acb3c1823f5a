import { expect } from 'chai';
import { MAILBOX_NUMBER, openIndex, WHOLE } from '../../../support/worlds/filled-mirror.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import type { Filter } from '../../../../commands/mail/mail-filter.ts';
import type { MailQuery } from '../../../../commands/mail/query.ts';
import { PageReader, queryIndex } from '../../../../infra/mail-index/read-page.ts';
import { queryOf } from '../../../support/worlds/mail-gateway.ts';
import { pageStatement } from '../../../../infra/mail-index/page-sql.ts';

const MESSAGES = 5_000;
const LIMIT = 50;
const UIDS = Array.from({ length: MESSAGES }, (_, at) => MESSAGES - at);
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
      `insert into mirror.message_text
       select $1, 1, uid, E'\\nWORD ' || uid || case when uid % 32 = 0 then ' SOME' when uid % 60 = 0 then ' FEW' else '' end ||
         case when uid between 3_000 and 4_200 then ' LATER' when uid <= 1_200 then ' EARLY' when uid > 4_990 then ' FRESH' else '' end || case when uid % 12 = 0 or (uid <= 4_400 and uid % 3 = 0) then ' MIXED' else '' end || repeat(E'\\x1e', 6), '{}'
       from generate_series(1, $2::int) as uid`,
      [MAILBOX_NUMBER, MESSAGES],
    );
  });
  after(() => world.close());

  const MARKED: Readonly<Record<string, (uid: number) => boolean>> = {
    some: (uid) => uid % 32 === 0,
    few: (uid) => uid % 60 === 0 && uid % 32 > 0,
    later: (uid) => uid >= 3_000 && uid <= 4_200,
    early: (uid) => uid <= 1_200,
    fresh: (uid) => uid > 4_990,
    mixed: (uid) => uid % 12 === 0 || (uid <= 4_400 && uid % 3 === 0),
  };

  /** The UIDs of a page of a word. */
  const newestWith = (words: string): readonly number[] => {
    const has = MARKED[words] ?? ((uid) => `word ${String(uid)}`.includes(words));
    return UIDS.filter(has).slice(0, LIMIT);
  };

  /** The messages of a query, and how many statements were asked for it. */
  const counted = async (fields: Pick<MailQuery, 'limit' | 'filter'>) => {
    let asked = 0;
    const counting: Sql = {
      ...world.sql,
      query: (text, values) => {
        asked += 1;
        return world.sql.query(text, values);
      },
    };
    const query = queryOf({ depth: 'envelope', ...fields });
    const { messages } = await queryIndex(new PageReader(counting, WHOLE, query, null), query);
    return { messages, asked };
  };

  const sizeKnown = async (): Promise<number> => {
    const [row] = await world.sql.query<{ known: number }>(
      `select reltuples::int as known from pg_class where oid = 'mirror.message'::regclass`,
    );
    return row?.known ?? Number.NaN;
  };

  const pageAfter = (uid: number, filter: Filter = {}) =>
    pageStatement(
      {
        mailbox: WHOLE,
        folderNumbers: [1],
        filter,
        order: 'received_desc',
        after: { value: uid, folderNumber: 1, uid },
        limit: LIMIT,
        threadKeys: null,
        contactsIn: null,
        withEnvelope: true,
      },
      { kind: 'walk' },
    );

  /** Buffers that a page in the middle of the folder touches. */
  const buffersOfPage = async (): Promise<number> => {
    const { text, values } = pageAfter(MESSAGES / 2);
    const [row] = await world.sql.query<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    );
    const plan = row?.['QUERY PLAN'][0].Plan ?? {};
    expect(plan['Actual Rows'], 'the messages, and the state of the folder').to.equal(LIMIT + 1);
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

  for (const [name, title, filterAt] of [
    ['plain_page', 'without a filter', () => ({})],
    ['page_before', 'before a time', (at: number) => ({ received_before: new Date(at).toISOString() })],
  ] as const)
    it(`uses one plan for all values after five executions: ${title}`, async () => {
      await world.index.analyze();
      await world.sql.transaction(async (sql) => {
        for (let at = MESSAGES; at > MESSAGES - 10 * LIMIT; at -= LIMIT) {
          const { text, values } = pageAfter(at, filterAt(at));
          const rows = await sql.query({ name, text }, values);
          expect(Number(rows.find(({ uid }) => uid !== null)?.['uid'])).to.equal(at - 1);
        }
        const [plans] = await sql.query<{ generic: number; own: number }>(
          `select generic_plans::int as generic, custom_plans::int as own
           from pg_prepared_statements where name = $1`,
          [name],
        );
        // The planner compares five plans for given values with the one for all.
        expect(plans).to.deep.equal({ generic: 5, own: 5 });
      });
    });

  for (const [isNamed, name, query] of [
    [true, 'a list', {}],
    [true, 'unseen messages of a sender', { filter: { seen: false, from_contains: 'ann' } }],
    [true, 'messages before a time', { filter: { received_before: '2026-01-01T00:00:00Z' } }],
    [
      false,
      'the largest of a time',
      { order: 'size_desc', filter: { received_after: '1970-01-01T00:00:00Z' } },
    ],
    [false, 'several folders', { folders: [1, 2].map((number) => ({ number, path: String(number) })) }],
  ] as const)
    it(`${isNamed ? 'is' : 'is not'} prepared once it is asked for often: ${name}`, async () => {
      await world.sql.query(
        `insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, indexed, checked_at)
         values ($1, 2, 9, 1, 1, 0, 0, now()) on conflict do nothing`,
        [MAILBOX_NUMBER],
      );
      const prepared = await world.sql.transaction(async (sql) => {
        const names = 'select count(*)::int as count from pg_prepared_statements';
        const [before] = await sql.query<{ count: number }>(names);
        for (const limit of [20, 21, 22, 23, 24, 25]) {
          const asked = queryOf({ depth: 'envelope', limit, ...query });
          const { messages } = await queryIndex(new PageReader(sql, WHOLE, asked, null), asked);
          if (name === 'a list') expect(messages).to.have.length(limit);
        }
        const [after] = await sql.query<{ count: number }>(names);
        return (after?.count ?? 0) - (before?.count ?? 0);
      });
      expect(prepared).to.equal(isNamed ? 1 : 0);
    });

  for (const [statements, words, title] of [
    [1, 'word', 'a word of most messages'],
    [1, 'some', 'a word of every thirtieth message'],
    [1, 'few', 'a word of every sixtieth message'],
    [1, `word ${String(MESSAGES / 2)}`, 'a rare word'],
    [1, 'nowhere', 'a word of no message'],
    [1, 'fresh', 'a word of few messages, all of them new'],
    [2, 'later', 'a word of many messages that are not the newest, as more are looked at'],
    [3, 'early', 'a word of many messages that are all old'],
  ] as const)
    it(`takes ${statements === 1 ? 'one statement' : `${String(statements)} statements`} for ${title}`, async () => {
      const { messages, asked } = await counted({ limit: LIMIT, filter: { subject_contains: words } });
      const uids = messages.map(({ ref }) => ref.uid);
      expect(uids).to.deep.equal(newestWith(words));
      expect(asked).to.equal(statements);
    });

  it('takes one statement for a page of a size that is rounded up', async () => {
    // 42 of the newest 512 have the word, and more than 1,024 of all.
    const { messages, asked } = await counted({ limit: 30, filter: { subject_contains: 'mixed' } });
    expect(messages.map(({ ref }) => ref.uid)).to.deep.equal(newestWith('mixed').slice(0, 30));
    expect(asked).to.equal(1);
  });

  for (const [words, order] of [
    ['some', 'received_desc'],
    ['some', 'size_asc'],
    ['few', 'sent_asc'],
    ['later', 'received_desc'],
    ['early', 'size_desc'],
  ] as const)
    it(`is followed by the next ones until all were shown: ${words}, ${order}`, async () => {
      const shown: number[] = [];
      const query = queryOf({ depth: 'envelope', limit: 40, order, filter: { subject_contains: words } });
      let after: MailQuery['after'] = null;
      do {
        const asked: MailQuery = { ...query, after };
        const page = await queryIndex(new PageReader(world.sql, WHOLE, asked, null), asked);
        shown.push(...page.messages.map(({ ref }) => ref.uid));
        after = page.next;
      } while (after !== null);
      const all = UIDS.filter(MARKED[words] ?? (() => false));
      expect(shown).to.deep.equal(order.endsWith('_asc') ? all.reverse() : all);
    });

  it('is in order when one folder has newer matches farther down than another', async () => {
    const { sql } = world;
    await sql.transaction(async (inside) => {
      await inside.query(
        `insert into mirror.folder (mailbox_number, folder_number, uid_validity, uid_next, indexed_from, total, indexed, checked_at)
         values ($1, 3, 9, 101, 1, 100, 100, now())`,
        [MAILBOX_NUMBER],
      );
      // All of them are older than the first match of the large folder, which is the 600th message from its end.
      await inside.query(
        `insert into mirror.message (mailbox_number, folder_number, uid, received_at, size, seen, flagged, answered, draft, deleted, has_attachment)
         select $1, 3, uid, uid, uid, false, false, false, false, false, false from generate_series(1, 100) as uid`,
        [MAILBOX_NUMBER],
      );
      await inside.query(
        `insert into mirror.message_text select $1, 3, uid, E'\\nRARE' || repeat(E'\\x1e', 6), '{}' from generate_series(1, 100) as uid`,
        [MAILBOX_NUMBER],
      );
      await inside.query(
        `update mirror.message_text set words = E'\\nRARE' || repeat(E'\\x1e', 6) where mailbox_number = $1 and folder_number = 1 and uid = $2`,
        [MAILBOX_NUMBER, MESSAGES - 600],
      );
      const folders = [1, 3].map((number) => ({ number, path: String(number) }));
      for (const order of ['received_desc', 'subject_asc'] as const) {
        const asked = queryOf({
          depth: 'envelope',
          limit: 10,
          folders,
          order,
          filter: { subject_contains: 'rare' },
        });
        const { messages } = await queryIndex(new PageReader(inside, WHOLE, asked, null), asked);
        const places = messages.map(({ ref }) => [ref.folder.number, ref.uid]);
        const others = Array.from({ length: 9 }, (_, at) => [3, order === 'subject_asc' ? at + 1 : 100 - at]);
        expect(places, order).to.deep.equal([[1, MESSAGES - 600], ...others]);
      }
      await inside.query('delete from mirror.message_text where folder_number = 3');
      await inside.query('delete from mirror.message where folder_number = 3');
      await inside.query('delete from mirror.folder where folder_number = 3');
    });
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
