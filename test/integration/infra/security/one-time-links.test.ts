import { expect } from 'chai';
import { routeKey } from '../../../../commands/values/ids.ts';
import type { HashedPassword, OneTimeLinks } from '../../../../commands/ports/sign-in-port.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createOneTimeLinks } from '../../../../infra/security/one-time-links.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

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

  const hashed = 'a hash' as HashedPassword;
  const take = (token: string) => links.takeForPassword(token, hashed);

  it(`are valid once, also for many uses at the same time ${verifies('contract:18:one-time-links')}`, async () => {
    const token = await links.make('password', 'usr_1', 'org_1');
    const taken = await Promise.all(Array.from({ length: 8 }, () => take(token)));
    expect(taken.filter((one) => one !== null)).to.deep.equal([{ userId: 'usr_1' }]);
    expect(await take(token)).to.equal(null);
  });

  it(`begin with the route key of the organisation ${verifies('contract:2:route-key')}`, async () => {
    const [ours, nobodys] = [
      await links.make('password', 'usr_8', 'org_1'),
      await links.make('setup', null, null),
    ];
    expect(ours.slice(0, 4)).to.equal(routeKey('org_1'));
    expect([ours.length, nobodys.length]).to.deep.equal([47, 43]);
  });

  it('set a password for either purpose, and are invalid when another link of the same person was used', async () => {
    const [first, second, other, verify] = [
      await links.make('password', 'usr_4', 'org_1'),
      await links.make('reset', 'usr_4', 'org_1'),
      await links.make('password', 'usr_5', 'org_1'),
      await links.make('verify', 'usr_4', 'org_1'),
    ];
    expect(await take(verify)).to.equal(null);
    expect(await take(second)).to.deep.equal({ userId: 'usr_4' });
    expect(await take(first)).to.equal(null);
    expect(await take(other)).to.deep.equal({ userId: 'usr_5' });
    expect(await links.take('verify', verify)).to.deep.equal({ subject: 'usr_4' });
  });

  it(`replace the unused one of the same purpose and subject, also when many are made at once ${verifies('contract:18:newest-link')}`, async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => links.make('verify', 'usr_9', 'org_1')));
    const [reset, other] = [
      await links.make('reset', 'usr_9', 'org_1'),
      await links.make('verify', 'usr_10', 'org_1'),
    ];
    const found = await Promise.all(made.map((token) => links.find('verify', token)));
    expect(found.filter((one) => one !== null)).to.deep.equal([{ subject: 'usr_9' }]);
    expect(await links.find('reset', reset)).to.deep.equal({ subject: 'usr_9' });
    expect(await links.find('verify', other)).to.deep.equal({ subject: 'usr_10' });
    const setups = [await links.make('setup', null, null), await links.make('setup', null, null)];
    for (const token of setups) expect(await links.find('setup', token)).to.deep.equal({ subject: null });
  });

  it(`are valid as long as their purpose needs ${verifies('contract:18:one-time-links')}`, async () => {
    const now = clock.now().getTime();
    const lives = [
      ['reset', 30 * 60_000, undefined],
      ['verify', DAY_MS, undefined],
      ['invite', 5_000, new Date(now + 5_000)],
    ] as const;
    for (const [purpose, life, endsAt] of lives) {
      const token = await links.make(purpose, 'sub_1', 'org_1', endsAt);
      clock.advance(life - 1);
      expect(await links.find(purpose, token), purpose).to.deep.equal({ subject: 'sub_1' });
      clock.advance(1);
      expect(await links.take(purpose, token), purpose).to.equal(null);
      clock.advance(-life);
    }
  });

  it('are taken by one of many requests', async () => {
    const token = await links.make('invite', 'inv_1', 'org_1');
    const taken = await Promise.all(Array.from({ length: 8 }, () => links.take('invite', token)));
    expect(taken.filter((one) => one !== null)).to.deep.equal([{ subject: 'inv_1' }]);
  });

  it(`are valid for a day and for their purpose only ${verifies('contract:18:one-time-links')}`, async () => {
    const [setup, password] = [
      await links.make('setup', null, null),
      await links.make('password', 'usr_2', 'org_1'),
    ];
    expect(await take(setup)).to.equal(null);
    expect(await links.find('setup', `${setup}x`)).to.equal(null);
    clock.advance(DAY_MS - 1);
    expect(await links.find('setup', setup)).to.deep.equal({ subject: null });
    clock.advance(1);
    expect(await links.find('setup', setup)).to.equal(null);
    expect(await take(password)).to.equal(null);
  });

  it('are found without being used up while they are valid', async () => {
    const token = await links.make('password', 'usr_6', 'org_1');
    for (let n = 0; n < 2; n += 1) {
      expect(await links.find('password', token)).to.deep.equal({ subject: 'usr_6' });
    }
    expect(await links.find('setup', token)).to.equal(null);
    clock.advance(DAY_MS);
    expect(await links.find('password', token)).to.equal(null);
  });

  it(`take effect together with the password or not at all, also for two links at once ${verifies('contract:18:one-time-links')}`, async () => {
    const sql = postgresSql(pool);
    const both = [
      await links.make('password', 'usr_7', 'org_1'),
      await links.make('reset', 'usr_7', 'org_1'),
    ];
    await sql.query("alter table vault.password add constraint no_seventh check (user_id <> 'usr_7')");
    expect((await rejection(links.takeForPassword(both[0] ?? '', hashed))).message).to.match(/no_seventh/);
    await sql.query('alter table vault.password drop constraint no_seventh');
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, n) => links.takeForPassword(both[n % 2] ?? '', hashed)),
    );
    expect(taken.filter((one) => one !== null)).to.deep.equal([{ userId: 'usr_7' }]);
    const rows = await sql.query("select user_id, argon2id from vault.password where user_id = 'usr_7'");
    expect(rows).to.deep.equal([{ user_id: 'usr_7', argon2id: hashed }]);
  });

  it(`are stored as hashes only ${verifies('contract:18:one-time-links')}`, async () => {
    const token = await links.make('password', 'usr_3', 'org_1');
    const rows = await postgresSql(pool).query('select * from work.one_time_link');
    expect(rows.length).to.equal(1);
    expect(JSON.stringify(rows)).not.to.contain(token);
  });
});
