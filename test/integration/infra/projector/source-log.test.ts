import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../../../infra/process/config.ts';
import { openCore } from '../../../../infra/process/composition.ts';
import {
  claimReadModels,
  forgetSourceLog,
  ReadModelsOfAnotherLog,
} from '../../../../infra/projector/source-log.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('the source log of the read models', () => {
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

  it(`is recorded once, and another log is refused with the remedy ${verifies('contract:0:log-id')}`, async () => {
    const sql = postgresSql(pool);
    await Promise.all(Array.from({ length: 4 }, () => claimReadModels(sql, 'aaaaaaaa')));
    await claimReadModels(sql, 'aaaaaaaa');
    const refused = await rejection(claimReadModels(sql, 'bbbbbbbb'));
    expect(refused).to.be.instanceOf(ReadModelsOfAnotherLog);
    expect(String(refused))
      .to.include('aaaaaaaa')
      .and.include('bbbbbbbb')
      .and.include('npm run rebuild -- all');
  });

  it('may be another log when everything was rebuilt', async () => {
    const sql = postgresSql(pool);
    await forgetSourceLog(sql);
    await claimReadModels(sql, 'bbbbbbbb');
    expect(await rejection(claimReadModels(sql, 'aaaaaaaa'))).to.be.instanceOf(ReadModelsOfAnotherLog);
  });

  it(`is compared at every start ${verifies('contract:0:log-id')}`, async () => {
    const sql = postgresSql(pool);
    await forgetSourceLog(sql);
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-source-log-'));
    const config = loadConfig({
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      ROLES: 'embedded,api',
      STORE_PORT: '0',
    });
    const open = () => openCore({ config, log: silentLog, baseUrl: 'http://gateway.example' });
    try {
      const core = await open();
      const { logId } = core.ports.server;
      await core[Symbol.asyncDispose]();
      expect(await sql.query('select log_id from read.source_log')).to.deep.equal([{ log_id: logId }]);
      await sql.query(`update read.source_log set log_id = 'ffffffff'`);
      expect(await rejection(open())).to.be.instanceOf(ReadModelsOfAnotherLog);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  it('is unknown when the schema was dropped', async () => {
    const sql = postgresSql(pool);
    await sql.query('drop schema read cascade');
    await forgetSourceLog(sql);
    await claimReadModels(sql, 'cccccccc');
  });
});
