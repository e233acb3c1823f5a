import { expect } from 'chai';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { WorkerHeartbeat } from '../../../../infra/mail-sync/worker-heartbeat.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

describe('the heartbeat of a worker process', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  const alive = async (): Promise<readonly unknown[]> => {
    const rows = await sql.query('select run_id from work.worker_heartbeat where until > now() order by 1');
    return rows.map(({ run_id }) => run_id);
  };

  it('has one life while it beats in time, and another after every pause', async () => {
    const [ours, theirs] = [
      new WorkerHeartbeat(sql, 'ours', 60_000),
      new WorkerHeartbeat(sql, 'theirs', 60_000),
    ];
    expect(ours.life).to.equal(null);
    await Promise.all([ours.beat(), ours.beat(), theirs.beat()]);
    const first = ours.life;
    await ours.beat();
    expect([ours.life, first === theirs.life]).to.deep.equal([first, false]);
    await sql.query(`update work.worker_heartbeat set until = now() where run_id = 'ours'`);
    expect(await alive()).to.deep.equal(['theirs']);
    await ours.beat();
    expect(ours.life).to.not.be.oneOf([null, first]);
    expect(await alive()).to.deep.equal(['ours', 'theirs']);
    await ours.end();
    expect([ours.life, await alive()]).to.deep.equal([null, ['theirs']]);
  });

  it('lives no longer than its last beat by the clock of the database', async () => {
    const brief = new WorkerHeartbeat(sql, 'brief', 150);
    await brief.beat();
    const [{ leftMs } = { leftMs: null }] = await sql.query<{ leftMs: number }>(
      `select extract(epoch from until - now())::float8 * 1000 as "leftMs" from work.worker_heartbeat where run_id = 'brief'`,
    );
    expect(leftMs).to.be.at.most(150);
    await sql.query('select pg_sleep(0.2)');
    expect(await alive()).to.not.include('brief');
  });
});
