import { createSecretKey, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Directory } from '../../../../commands/ports/directory.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import {
  type NewState,
  sha256,
  StateRows,
  sweepState,
} from '../../../../infra/authorization-server/state-rows.ts';
import { forgetEnded } from '../../../../infra/background/oauth-state-sweeper.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('the rows of the authorization server', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof openPool>;
  let sql: Sql;
  let clock: ManualClock;
  let rows: StateRows;
  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(async () => {
    await sql.query('delete from vault.oauth_state');
    clock = new ManualClock('2026-01-01T00:00:00.000Z');
    rows = new StateRows({ sql, masterKey: createSecretKey(randomBytes(32)), clock });
  });

  const inMinutes = (minutes: number): Date => new Date(clock.now().getTime() + minutes * MINUTE);
  const code = (id: string): NewState => ({
    model: 'AuthorizationCode', id, payload: { of: id }, expiresAt: inMinutes(1), grantId: 'oag_1',
  }); // prettier-ignore
  const refreshToken = (id: string, rotation: number) =>
    ({ model: 'RefreshToken', id, payload: { of: id }, expiresAt: inMinutes(100_000), grantId: 'oag_1', rotation }) as const; // prettier-ignore
  const consumedAt = async (id: string) =>
    (await rows.find('RefreshToken', id))?.consumedAt?.toISOString() ?? null;

  it('store neither id nor content in clear, and open a row with its id only', async () => {
    await rows.put({ ...code('the-code'), payload: { secret: 'of the code' } });
    const [row] = await sql.query<{ text: string }>(
      'select row_to_json(s)::text as text from vault.oauth_state s',
    );
    expect(row?.text)
      .not.to.include('the-code')
      .and.not.to.include(Buffer.from('of the code').toString('hex'));
    expect((await rows.find('AuthorizationCode', 'the-code'))?.payload).to.deep.equal({
      secret: 'of the code',
    });
    expect(await rows.find('RefreshToken', 'the-code')).to.equal(null);
    await sql.query('update vault.oauth_state set id_sha256 = $1', [sha256('another')]);
    expect(await rows.find('AuthorizationCode', 'another')).to.equal(null);
  });

  it('are over with their time', async () => {
    await rows.put(code('c'));
    clock.advance(MINUTE - 1);
    expect(await rows.find('AuthorizationCode', 'c')).not.to.equal(null);
    clock.advance(1);
    expect(await rows.find('AuthorizationCode', 'c')).to.equal(null);
  });

  it('give one token for a code, however many ask at once', async () => {
    await rows.put(code('c'));
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        rows.succeed({
          from: { model: 'AuthorizationCode', id: 'c' },
          next: refreshToken(`r${String(index)}`, 0),
        }),
      ),
    );
    expect(asked.filter((reuse) => reuse === null)).to.have.length(1);
    expect(asked.filter((reuse) => reuse === 'code_reused')).to.have.length(7);
    const stored = await sql.query("select 1 from vault.oauth_state where model = 'RefreshToken'");
    expect(stored).to.have.length(1);
    expect((await rows.find('AuthorizationCode', 'c'))?.consumedAt).not.to.equal(null);
  });

  it('consume a token when the next one is stored, and its siblings when one of the next generation is used', async () => {
    await rows.put(refreshToken('r0', 0));
    const follow = (from: string, next: string, rotation: number) =>
      rows.succeed({ from: { model: 'RefreshToken', id: from }, next: refreshToken(next, rotation) });
    expect(await follow('r0', 'r1', 1)).to.equal(null);
    const first = clock.now().toISOString();
    expect(await consumedAt('r0')).to.equal(first);
    clock.advance(10_000);
    // The answer was lost: the same token again.
    expect(await follow('r0', 'r1-again', 1)).to.equal(null);
    expect(await consumedAt('r0')).to.equal(first);
    expect(await consumedAt('r1')).to.equal(null);
    clock.advance(10_000);
    await follow('r1-again', 'r2', 2);
    expect(await consumedAt('r1')).to.equal(clock.now().toISOString());
    expect(await consumedAt('r1-again')).to.equal(clock.now().toISOString());
    expect(await consumedAt('r2')).to.equal(null);
  });

  it('follow no token whose successor was used, however soon and however many ask at once', async () => {
    await rows.put(refreshToken('r0', 0));
    const follow = (from: string, next: string, rotation: number) =>
      rows.succeed({ from: { model: 'RefreshToken', id: from }, next: refreshToken(next, rotation) });
    expect(await follow('r0', 'r1', 1)).to.equal(null);
    expect(await follow('r1', 'r2', 2)).to.equal(null);
    expect(await follow('r0', 'r1-again', 1)).to.equal('refresh_token_reused');
    expect(await rows.find('RefreshToken', 'r1-again')).to.equal(null);
    expect(await consumedAt('r2')).to.equal(null);
    const asked = await Promise.all([follow('r2', 'r3', 3), follow('r1', 'r2-again', 2)]);
    // Whichever is first: after the use of the second generation, none of it can be used beside the third.
    const again = await rows.find('RefreshToken', 'r2-again');
    if (asked[1] === null) expect(again?.consumedAt).not.to.equal(null);
    else expect([asked[1], again]).to.deep.equal(['refresh_token_reused', null]);
  });

  it('of a grant that has ended or never began are swept, when rights are known', async () => {
    await rows.put(code('c'));
    await rows.put(refreshToken('r', 0));
    await rows.put({ ...refreshToken('ended', 0), grantId: 'oag_2' });
    await rows.put({ ...refreshToken('absent', 0), grantId: 'oag_3' });
    await rows.put({ model: 'Client', id: 'oac_1', payload: {}, expiresAt: null });
    const count = async () => (await sql.query('select 1 from vault.oauth_state')).length;
    const oauthGrants = new Map([
      ['oag_1', { revokedAt: null }],
      ['oag_2', { revokedAt: clock.now().toISOString() }],
    ]);
    const directoryThat = (isCurrent: boolean) =>
      ({ state: { oauthGrants }, untilCurrent: () => Promise.resolve(isCurrent) }) as unknown as Directory;
    await forgetEnded({ sql, directory: directoryThat(false) });
    expect(await count()).to.equal(5);
    await forgetEnded({ sql, directory: directoryThat(true) });
    expect(await count()).to.equal(3);
    expect(await rows.find('RefreshToken', 'r')).not.to.equal(null);
    expect(await rows.find('AuthorizationCode', 'c')).not.to.equal(null);
  });

  it('are decided once, and keep the decision', async () => {
    await rows.put({ model: 'Interaction', id: 'uid', payload: { a: 1 }, expiresAt: inMinutes(10) });
    const [one, other] = await Promise.all([
      rows.decide('uid', { decided: 'one' }, sha256('one')),
      rows.decide('uid', { decided: 'other' }, sha256('other')),
    ]);
    expect([one, other].filter(Boolean)).to.have.length(1);
    const row = await rows.find('Interaction', 'uid');
    const winner = one ? 'one' : 'other';
    expect(row?.payload).to.deep.equal({ decided: winner });
    expect(row?.decidedHash).to.deep.equal(sha256(winner));
    const taken = await Promise.all([rows.take('Interaction', 'uid'), rows.take('Interaction', 'uid')]);
    expect(taken.filter(Boolean)).to.have.length(1);
    expect(await rows.decide('uid', {}, sha256('late'))).to.equal(false);
  });

  it('cannot be decided when their time is over', async () => {
    await rows.put({ model: 'Interaction', id: 'uid', payload: {}, expiresAt: inMinutes(10) });
    clock.advance(10 * MINUTE);
    expect(await rows.decide('uid', {}, sha256('late'))).to.equal(false);
  });

  it('of an ended grant are forgotten, those of others stay', async () => {
    await rows.put(code('c'));
    await rows.put(refreshToken('r', 0));
    await rows.put({ ...refreshToken('other', 0), grantId: 'oag_2' });
    await rows.forgetGrants(['oag_1']);
    expect(await rows.find('AuthorizationCode', 'c')).to.equal(null);
    expect(await rows.find('RefreshToken', 'r')).to.equal(null);
    expect(await rows.find('RefreshToken', 'other')).not.to.equal(null);
  });

  it('are swept when they are over, used tokens after a week, kept clients never', async () => {
    const count = async () => (await sql.query('select 1 from vault.oauth_state')).length;
    await rows.put(code('c'));
    await rows.put(refreshToken('r0', 0));
    await rows.succeed({ from: { model: 'RefreshToken', id: 'r0' }, next: refreshToken('r1', 1) });
    await rows.put({ model: 'Client', id: 'oac_1', payload: {}, expiresAt: inMinutes(1) });
    await rows.keep('Client', 'oac_1');
    await sweepState(sql, clock.now());
    expect(await count()).to.equal(4);
    clock.advance(MINUTE);
    await sweepState(sql, clock.now());
    expect(await count()).to.equal(3);
    clock.advance(7 * DAY);
    await sweepState(sql, clock.now());
    expect(await rows.find('RefreshToken', 'r0')).to.equal(null);
    expect(await rows.find('RefreshToken', 'r1')).not.to.equal(null);
    expect(await rows.find('Client', 'oac_1')).not.to.equal(null);
  });
});
