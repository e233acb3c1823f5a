import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { createSessionUse, startTokenUse } from '../../../../infra/security/postgres-token-use.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const START = '2026-01-01T00:00:00.000Z';
const MINUTE_MS = 60_000;

describe('the last use of sessions', () => {
  let database: TestDatabase;
  let pool: ReturnType<typeof openPool>;
  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  it(`ends them after half an hour, on every process ${verifies('contract:2:session-ends')}`, async () => {
    const sql = postgresSql(pool);
    const clock = new ManualClock(START);
    const session = { id: 'ses_1', startedAt: START };
    const [here, elsewhere] = [createSessionUse(sql, clock), createSessionUse(sql, clock)];
    const notes = startTokenUse(sql, clock, silentLog);
    clock.advance(30 * MINUTE_MS - 1);
    expect(await here.isIdle(session)).to.equal(false);
    notes.note(session.id);
    await notes.write();
    clock.advance(30 * MINUTE_MS - 1);
    expect(await elsewhere.isIdle(session)).to.equal(false);
    clock.advance(1);
    expect(await here.isIdle(session)).to.equal(true);
    expect(await elsewhere.isIdle(session)).to.equal(false);
    clock.advance(30 * MINUTE_MS);
    expect(await elsewhere.isIdle(session)).to.equal(true);
    await notes.close();
  });

  it('is deleted after a day, while that of tokens stays', async () => {
    const sql = postgresSql(pool);
    const clock = new ManualClock('2026-02-01T00:00:00.000Z');
    const notes = startTokenUse(sql, clock, silentLog);
    notes.note('ses_2');
    notes.note('tok_2');
    await notes.write();
    clock.advance(25 * 60 * MINUTE_MS);
    notes.note('ses_3');
    await notes.close();
    const rows = await sql.query<{ token_id: string }>(
      'select token_id from work.token_use order by token_id',
    );
    expect(rows.map(({ token_id }) => token_id)).to.deep.equal(['ses_3', 'tok_2']);
  });
});
