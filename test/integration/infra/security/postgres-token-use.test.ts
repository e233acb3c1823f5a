import { expect } from 'chai';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { startTokenUse } from '../../../../infra/security/postgres-token-use.ts';
import { listTokenUses } from '../../../../projections/token-use.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

describe('the last use of tokens', () => {
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

  it('is stored at most once a minute and never decreases', async () => {
    const sql = postgresSql(pool);
    const clock = new ManualClock('2026-01-01T00:00:00.000Z');
    const use = startTokenUse(sql, clock, silentLog);
    const lastUse = async (): Promise<string | undefined> => {
      await use.write();
      return (await listTokenUses(sql, ['tok_1', 'tok_2'])).get('tok_1')?.toISOString();
    };
    expect(await lastUse()).to.equal(undefined);
    use.note('tok_1');
    clock.advance(59_000);
    use.note('tok_1');
    expect(await lastUse()).to.equal('2026-01-01T00:00:00.000Z');
    clock.advance(1_000);
    use.note('tok_1');
    await use.close();
    expect(await lastUse()).to.equal('2026-01-01T00:01:00.000Z');
    const behind = startTokenUse(sql, new ManualClock('2025-01-01T00:00:00.000Z'), silentLog);
    behind.note('tok_1');
    await behind.close();
    expect(await lastUse()).to.equal('2026-01-01T00:01:00.000Z');
  });
});
