import { expect } from 'chai';
import type { Pool } from 'pg';
import type { McpTask, NewTask, TaskEnd } from '../../../../commands/ports/mcp.ts';
import type { Sql } from '../../../../commands/ports/ports.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import { type RunningLeases, startLeases } from '../../../../infra/postgres/leases.ts';
import { PostgresMcpTasks } from '../../../../infra/postgres/mcp-tasks.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const OWNER = { orgId: 'org_1', principalId: 'agt_1' };
const OTHERS = [
  { orgId: 'org_1', principalId: 'agt_2' },
  { orgId: 'org_2', principalId: 'agt_1' },
];
const sealed = (text: string): Sealed => text as Sealed;
const newTask = (id: string, change: Partial<NewTask> = {}): NewTask => ({
  ...OWNER,
  id,
  tool: 'email_await',
  ttlMs: 60_000,
  input: sealed('input'),
  ...change,
});
const DONE: TaskEnd = { status: 'completed', statusMessage: null, outcome: sealed('outcome') };
const numbered = (most: number) => Array.from({ length: most }, (_, index) => `tsk_${String(index)}`);
const ids = (tasks: readonly McpTask[]) => tasks.map(({ id }) => id);

describe('MCP tasks in Postgres', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  /** Two processes. */
  let leases: [RunningLeases, RunningLeases];
  let here: PostgresMcpTasks;
  let there: PostgresMcpTasks;

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
    await sql.query('truncate work.mcp_task, work.lease');
    leases = [startLeases(sql, silentLog), startLeases(sql, silentLog)];
    here = new PostgresMcpTasks(sql, leases[0], silentLog);
    there = new PostgresMcpTasks(sql, leases[1], silentLog);
  });
  afterEach(async () => {
    here.close();
    there.close();
    for (const each of leases) await each.close();
  });

  it(`are the same for every process and end once ${verifies('contract:16:tasks-any-replica')}`, async () => {
    const made = await here.create(newTask('tsk_1'));
    expect(made).to.include({ id: 'tsk_1', status: 'working', ttlMs: 60_000, statusMessage: null });
    expect(await there.find(OWNER, 'tsk_1')).to.deep.equal(made);
    expect(await here.end(OWNER, 'tsk_1', DONE)).to.include({ status: 'completed' });
    const cancelled = { status: 'cancelled', statusMessage: 'no', outcome: null } as const;
    expect(await there.end(OWNER, 'tsk_1', cancelled)).to.equal(null);
    expect(await there.find(OWNER, 'tsk_1')).to.include({ status: 'completed', statusMessage: null });
    expect(await there.contents(OWNER, 'tsk_1')).to.deep.equal({ input: 'input', outcome: 'outcome' });
  });

  it(`are hidden from other principals ${verifies('contract:16:tasks-of-principal')}`, async () => {
    await here.create(newTask('tsk_1'));
    for (const other of OTHERS) {
      expect(await here.find(other, 'tsk_1')).to.equal(null);
      expect(await here.list(other, null, 10)).to.deep.equal([]);
      expect(await here.contents(other, 'tsk_1')).to.equal(null);
      expect(await here.end(other, 'tsk_1', DONE)).to.equal(null);
    }
    expect(await here.find(OWNER, 'tsk_1')).to.include({ status: 'working' });
  });

  it(`are limited to 20 running per principal, also when all start at once ${verifies('contract:16:tasks-live')}`, async () => {
    const tries = await Promise.allSettled(numbered(30).map((id) => here.create(newTask(id))));
    expect(tries.filter(({ status }) => status === 'fulfilled')).to.have.length(20);
    expect(await rejection(there.create(newTask('tsk_more')))).to.include({ code: 'rate_limited' });
    expect(await here.create(newTask('tsk_other', { principalId: 'agt_2' }))).to.include({
      status: 'working',
    });
    const [first] = await here.list(OWNER, null, 1);
    await here.end(OWNER, first?.id ?? '', DONE);
    expect(await there.create(newTask('tsk_more'))).to.include({ status: 'working' });
    expect(await leases[0].holder('tsk_more')).to.include({ runId: leases[1].runId });
  });

  it('leave no lease when they are refused', async () => {
    for (const id of numbered(20)) await here.create(newTask(id));
    await rejection(here.create(newTask('tsk_more')));
    expect(await here.list(OWNER, null, 100)).to.have.length(20);
    expect(await leases[0].holder('tsk_more')).to.equal(null);
  });

  it(`fail permanently when the process that ran them is gone ${verifies('contract:16:tasks-any-replica')}`, async () => {
    await here.create(newTask('tsk_1'));
    await leases[0].close();
    const failed = await there.find(OWNER, 'tsk_1');
    expect(failed).to.include({ status: 'failed' });
    expect(failed?.statusMessage).to.match(/ended before the outcome was known/);
    // A process that was only paused comes too late.
    expect(await here.end(OWNER, 'tsk_1', DONE)).to.equal(null);
    expect(await here.list(OWNER, null, 10)).to.deep.equal([failed]);
  });

  it(`are deleted when their time is over ${verifies('contract:16:tasks-ttl')}`, async () => {
    await here.create(newTask('tsk_1'));
    await here.create(newTask('tsk_2'));
    await here.end(OWNER, 'tsk_1', DONE);
    await sql.query("update work.mcp_task set expires_at = now() where task_id = 'tsk_1'");
    expect(await here.find(OWNER, 'tsk_1')).to.equal(null);
    expect(await here.contents(OWNER, 'tsk_1')).to.equal(null);
    expect(ids(await here.list(OWNER, null, 10))).to.deep.equal(['tsk_2']);
    expect(await here.deleteExpired()).to.equal(1);
    expect(await sql.query('select 1 from work.mcp_task')).to.have.length(1);
  });

  it('are listed page by page, oldest first', async () => {
    for (const id of numbered(7)) await here.create(newTask(id));
    const first = await there.list(OWNER, null, 3);
    const second = await there.list(OWNER, first.at(-1) ?? null, 3);
    const third = await there.list(OWNER, second.at(-1) ?? null, 3);
    expect(ids([...first, ...second, ...third])).to.deep.equal(numbered(7));
  });
});
