import { expect } from 'chai';
import type { OneTimeLinks } from '../../../../commands/kernel/sign-in-port.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createOneTimeLinks } from '../../../../infra/security/one-time-links.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/postgres.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { verifies } from '../../../support/verifies.ts';

const DAY_MS = 86_400_000;

describe('one-time links', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof openPool>;
  let clock: ManualClock;
  let links: OneTimeLinks;
  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    clock = new ManualClock('2026-01-01T00:00:00.000Z');
    links = createOneTimeLinks({ sql: postgresSql(pool), clock });
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  it(`count once, also of many who come at once ${verifies('contract:18:one-time-links')}`, async () => {
    const token = await links.make('password', 'usr_1');
    const taken = await Promise.all(Array.from({ length: 8 }, () => links.take('password', token)));
    expect(taken.filter((one) => one !== null)).to.deep.equal([{ subject: 'usr_1' }]);
    expect(await links.take('password', token)).to.equal(null);
  });

  it('count no more once another for the same person was used', async () => {
    const [first, second, other] = [
      await links.make('password', 'usr_4'),
      await links.make('password', 'usr_4'),
      await links.make('password', 'usr_5'),
    ];
    expect(await links.take('password', second)).to.deep.equal({ subject: 'usr_4' });
    expect(await links.take('password', first)).to.equal(null);
    expect(await links.take('password', other)).to.deep.equal({ subject: 'usr_5' });
  });

  it(`count for a day and only for what they were made for ${verifies('contract:18:one-time-links')}`, async () => {
    const [setup, password] = [await links.make('setup', null), await links.make('password', 'usr_2')];
    expect(await links.take('password', setup)).to.equal(null);
    expect(await links.take('setup', `${setup}x`)).to.equal(null);
    clock.advance(DAY_MS - 1);
    expect(await links.take('setup', setup)).to.deep.equal({ subject: null });
    clock.advance(1);
    expect(await links.take('password', password)).to.equal(null);
  });

  it(`are kept as hashes alone ${verifies('contract:18:one-time-links')}`, async () => {
    const token = await links.make('password', 'usr_3');
    const rows = await postgresSql(pool).query('select * from work.one_time_link');
    expect(rows.length).to.equal(1);
    expect(JSON.stringify(rows)).not.to.contain(token);
  });
});
