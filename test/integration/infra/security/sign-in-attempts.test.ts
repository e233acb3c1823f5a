import { expect } from 'chai';
import type { GatewayError } from '../../../../commands/kernel/errors.ts';
import type { AttemptLimits } from '../../../../commands/kernel/sign-in-port.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createSignInAttempts } from '../../../../infra/security/sign-in-attempts.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/postgres.ts';
import { rejection } from '../../../support/rejection.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { verifies } from '../../../support/verifies.ts';

describe('tries of passwords', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof openPool>;
  let clock: ManualClock;
  let attempts: AttemptLimits;
  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
  });
  beforeEach(async () => {
    clock = new ManualClock('2026-01-01T00:00:00.000Z');
    const sql = postgresSql(pool);
    await sql.query('delete from work.sign_in_attempt');
    attempts = createSignInAttempts({ sql, clock, perMinute: 10 });
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const admit = (account: string, source: string | null = 'here') => attempts.admit({ account, source });
  const fail = async (account: string, source: string | null = 'here') =>
    (await admit(account, source)).failed();
  /** Seconds until the next try; 0 = it is let in. */
  const pause = async (account: string, source: string | null = 'here'): Promise<number> => {
    try {
      await admit(account, source);
      return 0;
    } catch (error) {
      return (error as GatewayError).retryAfterSeconds ?? NaN;
    }
  };

  it(`are ten a minute from an address, whatever the accounts ${verifies('contract:15:sign-in-limit')}`, async () => {
    for (let n = 0; n < 10; n += 1) await admit(`account-${String(n)}`);
    const refusal = await rejection(admit('another'));
    expect(refusal).to.include({ code: 'rate_limited', retryAfterSeconds: 60 });
    expect(await pause('another', 'elsewhere')).to.equal(0);
    clock.advance(60_000);
    expect(await pause('another')).to.equal(0);
  });

  it(`are ten a minute on an account, whatever the addresses ${verifies('contract:15:sign-in-limit')}`, async () => {
    for (let n = 0; n < 10; n += 1) await admit('anna', `address-${String(n)}`);
    expect(await pause('anna', 'another')).to.equal(60);
    expect(await pause('ben', 'another')).to.equal(0);
  });

  it(`wait twice as long after each failure, up to a quarter of an hour, and are let in again then ${verifies('contract:18:delays')}`, async () => {
    const pauses: number[] = [];
    for (let n = 0; n < 15; n += 1) {
      await fail('anna', `address-${String(n)}`);
      const waitSeconds = await pause('anna', 'other');
      pauses.push(waitSeconds);
      clock.advance(Math.max(waitSeconds * 1_000, 60_000));
    }
    expect(pauses).to.deep.equal([0, 0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  it('are free again after one that was right', async () => {
    for (let n = 0; n < 4; n += 1) await fail('anna');
    clock.advance(10_000);
    await (await admit('anna')).succeeded();
    for (const source of ['here', 'elsewhere']) {
      await fail('anna', source);
      expect(await pause('anna', source), source).to.equal(0);
    }
  });

  it('forget failures of more than an hour ago', async () => {
    for (let n = 0; n < 3; n += 1) await fail('anna');
    clock.advance(3_600_001);
    await fail('anna');
    expect(await pause('anna')).to.equal(0);
  });

  it(`of others do not keep a person out where that person has signed in before ${verifies('contract:18:delays')}`, async () => {
    await (await admit('anna', 'home')).succeeded();
    for (let n = 0; n < 8; n += 1) {
      await fail('anna', `attacker-${String(n)}`);
      clock.advance(200_000);
    }
    await fail('anna', 'attacker');
    expect(await pause('anna', 'attacker-2')).to.be.above(0);
    expect(await pause('anna', 'home')).to.equal(0);
  });

  it('from an address go on being counted when one of them was right', async () => {
    for (let n = 0; n < 10; n += 1) await fail(`account-${String(n)}`);
    clock.advance(60_000);
    await (await admit('own')).succeeded();
    await fail('another');
    expect(await pause('third')).to.equal(2);
  });

  it('within a session are counted by the person alone', async () => {
    for (let n = 0; n < 4; n += 1) await fail('usr_1', null);
    expect(await pause('usr_1', null)).to.equal(2);
    expect(await pause('usr_2', null)).to.equal(0);
  });

  it('leave nothing behind after a month', async () => {
    const sql = postgresSql(pool);
    await fail('anna');
    await (await admit('ben', 'home')).succeeded();
    clock.advance(31 * 86_400_000);
    await (await admit('cleo', 'away')).succeeded();
    const rows = await sql.query<{ key: string }>('select key from work.sign_in_attempt order by key');
    expect(rows.map(({ key }) => key)).to.deep.equal(['account cleo', 'known cleo away', 'source away']);
  });
});
