import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { AttemptLimits } from '../../../../commands/ports/sign-in-port.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createSignInAttempts } from '../../../../infra/security/postgres-sign-in-attempts.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('password attempts', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof openPool>;
  let clock: ManualClock;
  let attempts: AttemptLimits;
  let sql: Sql;
  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
  });
  beforeEach(async () => {
    clock = new ManualClock('2026-01-01T00:00:00.000Z');
    sql = postgresSql(pool);
    await sql.query('delete from work.sign_in_attempt');
    attempts = createSignInAttempts({ sql, clock, perMinute: 10, refusedAfterMs: 0 });
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const attempt = (account: string, source: string | null, result: object | null) =>
    attempts.attempt({ account, source }, () => Promise.resolve(result));
  const succeed = (account: string, source: string | null = 'here') => attempt(account, source, {});
  const fail = (account: string, source: string | null = 'here') => attempt(account, source, null);
  /** One that is let in and ends as neither. */
  const admit = async (account: string, source: string | null = 'here'): Promise<void> => {
    const cutOff = new Error('cut off');
    const check = () => Promise.reject(cutOff);
    await attempts.attempt({ account, source }, check).catch((error: unknown) => {
      if (error !== cutOff) throw error;
    });
  };
  /** Seconds until the next try; 0 = it is let in. */
  const pause = async (account: string, source: string | null = 'here'): Promise<number> => {
    try {
      await admit(account, source);
      return 0;
    } catch (error) {
      return (error as GatewayError).retryAfterSeconds ?? NaN;
    }
  };
  const keys = async (): Promise<string[]> => {
    const rows = await sql.query<{ key: string }>('select key from work.sign_in_attempt order by key');
    return rows.map(({ key }) => key);
  };
  /** What somebody without the password is told. */
  const answerOf = async (account: string, source = 'here'): Promise<string> => {
    try {
      await fail(account, source);
      return 'wrong';
    } catch (error) {
      return `wait ${String((error as GatewayError).retryAfterSeconds)}`;
    }
  };

  it(`are limited to ten a minute per address, over all accounts ${verifies('contract:15:sign-in-limit')}`, async () => {
    for (let n = 0; n < 10; n += 1) await admit(`account-${String(n)}`);
    const refusal = await rejection(admit('another'));
    expect(refusal).to.include({
      code: 'rate_limited',
      retryAfterSeconds: 60,
      message: 'Too many attempts from here; wait before the next one.',
    });
    expect(await pause('another', 'elsewhere')).to.equal(0);
    clock.advance(60_000);
    expect(await pause('another')).to.equal(0);
  });

  it(`are delayed no longer when the clock was set back ${verifies('contract:15:monotonic')}`, async () => {
    for (let n = 0; n < 10; n += 1) await admit(`account-${String(n)}`);
    for (let n = 0; n < 5; n += 1) await fail('anna', `address-${String(n)}`).catch(() => undefined);
    expect(await pause('another')).to.be.within(1, 60);
    expect(await pause('anna', 'elsewhere')).to.be.within(1, 60);
    clock.step(-7_200_000);
    expect(await pause('another')).to.equal(0);
    expect(await pause('anna', 'elsewhere')).to.equal(0);
    expect(await fail('anna', 'elsewhere')).to.equal(null);
    expect(await pause('anna', 'elsewhere'), 'counted on by the time that is').to.be.within(1, 900);
  });

  it(`are limited to ten a minute per account, over all addresses ${verifies('contract:15:sign-in-limit')}`, async () => {
    for (let n = 0; n < 10; n += 1) await admit('anna', `address-${String(n)}`);
    expect(await pause('anna', 'another')).to.equal(60);
    expect(await pause('ben', 'another')).to.equal(0);
  });

  it(`are delayed twice as long after each failure, up to a quarter of an hour, and are then allowed ${verifies('contract:18:delays')}`, async () => {
    const pauses: number[] = [];
    for (let n = 0; n < 15; n += 1) {
      await fail('anna', `address-${String(n)}`);
      const waitSeconds = await pause('anna', 'other');
      pauses.push(waitSeconds);
      clock.advance(Math.max(waitSeconds * 1_000, 60_000));
    }
    expect(pauses).to.deep.equal([0, 0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  it('are free again after a successful one', async () => {
    for (let n = 0; n < 4; n += 1) await fail('anna');
    clock.advance(10_000);
    await succeed('anna');
    for (const source of ['here', 'elsewhere']) {
      await fail('anna', source);
      expect(await pause('anna', source), source).to.equal(0);
    }
  });

  it('drop failures older than an hour', async () => {
    for (let n = 0; n < 3; n += 1) await fail('anna');
    clock.advance(3_600_001);
    await fail('anna');
    expect(await pause('anna')).to.equal(0);
  });

  it(`delay no person at the address of an earlier sign-in when others fail ${verifies('contract:18:delays')}`, async () => {
    await succeed('anna', 'home');
    for (let n = 0; n < 8; n += 1) {
      await fail('anna', `attacker-${String(n)}`);
      clock.advance(200_000);
    }
    await fail('anna', 'attacker');
    expect(await pause('anna', 'attacker-2')).to.be.above(0);
    expect(await succeed('anna', 'home')).to.deep.equal({});
  });

  it('keep counting for an address when one of them succeeded', async () => {
    for (let n = 0; n < 10; n += 1) await fail(`account-${String(n)}`);
    clock.advance(60_000);
    await succeed('own');
    await fail('another');
    expect(await pause('third')).to.equal(2);
  });

  it('count for the person only when made within a session', async () => {
    for (let n = 0; n < 4; n += 1) await fail('usr_1', null);
    expect(await pause('usr_1', null)).to.equal(2);
    expect(await pause('usr_2', null)).to.equal(0);
  });

  it(`reveal no account without the password, in any order ${verifies('contract:18:no-enumeration')}`, async () => {
    const ends = new Map<string, string[]>();
    for (const account of ['anna', 'nobody']) {
      await sql.query('delete from work.sign_in_attempt');
      await succeed('anna');
      await sql.query("delete from work.sign_in_attempt where key not like 'known %'");
      const told = [];
      for (let n = 0; n < 40; n += 1) {
        told.push(await answerOf(account), await answerOf(`made-up-${String(n % 5)}`));
        if (n % 9 === 8) told.push(await answerOf(account, 'elsewhere'));
        clock.advance(n % 8 === 7 ? 61_000 : 700);
      }
      ends.set(account, told);
    }
    expect(ends.get('anna')).to.deep.equal(ends.get('nobody'));
    expect(ends.get('anna')).to.include.members(['wrong', 'wait 2', 'wait 57']);
  });

  it(`admit the right password when others have used up the limit ${verifies('contract:18:delays')}`, async () => {
    await succeed('anna');
    for (let n = 0; n < 12; n += 1) await answerOf(`made-up-${String(n)}`);
    expect(await answerOf('stranger')).to.match(/^wait/);
    expect(await answerOf('anna')).to.match(/^wait/);
    expect(await succeed('anna')).to.deep.equal({});
    const full = new GatewayError('overloaded', 'Too many.');
    const refused = attempts.attempt({ account: 'anna', source: 'here' }, () => Promise.reject(full));
    expect(await rejection(refused)).to.include({ code: 'rate_limited' });
  });

  it(`are refused after the same time whether the person is known or not ${verifies('contract:18:no-enumeration')}`, async () => {
    const refusedAfterMs = 150;
    attempts = createSignInAttempts({ sql, clock, perMinute: 10, refusedAfterMs });
    await succeed('anna');
    for (let n = 0; n < 10; n += 1) await fail(`made-up-${String(n)}`).catch(() => null);
    for (const account of ['anna', 'nobody']) {
      const askedAt = performance.now();
      expect(await answerOf(account), account).to.match(/^wait/);
      expect(performance.now() - askedAt, account).to.be.at.least(refusedAfterMs - 1);
    }
  });

  it('cost no account anything and store no row when the address is refused', async () => {
    for (let n = 0; n < 10; n += 1) await admit('own');
    const before = await keys();
    for (let n = 0; n < 20; n += 1) expect(await pause(`made-up-${String(n)}`)).to.equal(60);
    expect(await keys()).to.deep.equal(before);
    for (let n = 0; n < 20; n += 1) await pause('anna');
    expect(await pause('anna', 'elsewhere')).to.equal(0);
  });

  it('are deleted although none succeeds', async () => {
    for (let n = 0; n < 40; n += 1) await fail(`made-up-${String(n)}`, `address-${String(n)}`);
    clock.advance(7_200_001);
    for (let n = 0; n < 20; n += 1) await fail('anna', `other-${String(n)}`).catch(() => null);
    expect((await keys()).filter((key) => key.includes('made-up'))).to.deep.equal([]);
  });

  it('leave no row after a month', async () => {
    await fail('anna');
    await succeed('ben', 'home');
    clock.advance(31 * 86_400_000);
    attempts = createSignInAttempts({ sql, clock, perMinute: 10 });
    await succeed('cleo', 'away');
    expect(await keys()).to.deep.equal(['account cleo', 'known cleo away', 'source away']);
  });
});
