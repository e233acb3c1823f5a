import { expect } from 'chai';
import { startLeases } from '../../../../infra/postgres/leases.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { RunningLeases } from '../../../../infra/postgres/leases.ts';
import type { TestDatabase } from '../../../support/servers/postgres.ts';

describe('leases', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  let ours: RunningLeases;
  let theirs: RunningLeases;

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(() => {
    ours = startLeases(sql, silentLog);
    theirs = startLeases(sql, silentLog);
  });
  afterEach(async () => {
    await ours.close();
    await theirs.close();
  });

  const expire = (name: string) =>
    sql.query("update work.lease set until = now() - interval '1 second' where name = $1", [name]);
  const secondsLeft = async (name: string): Promise<number> => {
    const [row] = await sql.query<{ left: number }>(
      'select extract(epoch from until - now())::float as left from work.lease where name = $1',
      [name],
    );
    return row?.left ?? -1;
  };

  it('are held by one run at a time, for 30 seconds', async () => {
    expect(await ours.acquire('a')).to.equal(true);
    expect(await theirs.acquire('a')).to.equal(false);
    expect(await ours.acquire('a'), 'kept by its holder').to.equal(true);
    expect((await theirs.holder('a'))?.runId).to.equal(ours.runId);
    expect(await secondsLeft('a')).to.be.within(20, 30);
  });

  it('go to exactly one of many that ask at once', async () => {
    const runs = Array.from({ length: 12 }, () => startLeases(sql, silentLog));
    const won = await Promise.all(runs.map((run) => run.acquire('b')));
    expect(won.filter(Boolean)).to.have.length(1);
    await Promise.all(runs.map((run) => run.close()));
  });

  it('are free when released', async () => {
    await ours.acquire('c');
    await theirs.release('c');
    expect((await ours.holder('c'))?.runId, 'not released by another').to.equal(ours.runId);
    await ours.release('c');
    expect(await ours.holder('c')).to.equal(null);
    expect(await theirs.acquire('c')).to.equal(true);
  });

  it('run out', async () => {
    await ours.acquire('d');
    await expire('d');
    expect(await ours.holder('d')).to.equal(null);
    expect(await theirs.acquire('d')).to.equal(true);
  });

  it('are lost when a run could not renew them in time', async () => {
    const slow = startLeases(sql, silentLog, { leaseMs: 1_500, renewEveryMs: 60_000 });
    await slow.acquire('g');
    expect(slow.isHeld('g')).to.equal(true);
    expect(slow.isHeld('h'), 'never taken').to.equal(false);
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(slow.isHeld('g'), 'by its own clock, whatever the database says').to.equal(false);
    expect(await theirs.acquire('g')).to.equal(true);
    await slow.close();
  });

  it('are extended by a renewal, all of a run in one statement', async () => {
    await ours.acquire('e');
    await ours.acquire('f');
    await sql.query("update work.lease set until = now() + interval '5 seconds' where run_id = $1", [
      ours.runId,
    ]);
    await ours.renew();
    expect(await secondsLeft('e')).to.be.above(20);
    expect(await secondsLeft('f')).to.be.above(20);
  });

  it('stay lost when the run renews late', async () => {
    await ours.acquire('g');
    await expire('g');
    await theirs.acquire('g');
    await ours.renew();
    expect((await ours.holder('g'))?.runId).to.equal(theirs.runId);
    await theirs.release('g');
    await ours.renew();
    expect(await ours.holder('g')).to.equal(null);
  });

  it('are released at the end of a run', async () => {
    await ours.acquire('h');
    await ours.close();
    expect(await theirs.acquire('h')).to.equal(true);
  });
});
