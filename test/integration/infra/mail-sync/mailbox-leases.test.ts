import { expect } from 'chai';
import type { Pool } from 'pg';
import type { Sql } from '../../../../commands/ports/ports.ts';
import { MailboxLeases } from '../../../../infra/mail-sync/mailbox-leases.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const IDS = ['mbx_1', 'mbx_2', 'mbx_3'];
const news = (...ids: string[]) => new Map(ids.map((id) => [id, { isCurrent: true, lastEventAt: null }]));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('mailbox leases', function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: Pool;
  let sql: Sql;
  const leases = (run: string, leaseMs = 30_000) => new MailboxLeases(sql, run, { leaseMs });

  before(async () => {
    database = await testDatabase();
    pool = openPool({ url: database.url, log: silentLog });
    sql = postgresSql(pool);
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });
  beforeEach(() => sql.query('delete from work.mailbox_lease'));

  it('go to one of several processes that ask at once', async () => {
    const runs = Array.from({ length: 8 }, (_, at) => leases(`run-${String(at)}`));
    const taken = (await Promise.all(runs.map((run) => run.take(IDS)))).flat();
    expect(taken.map(({ mailboxId }) => mailboxId).toSorted()).to.deep.equal(IDS);
    expect(taken.every((lease) => lease.isHeld())).to.equal(true);
    const alive = runs.map((_, at) => `run-${String(at)}`);
    const asked = await leases('late').unattended([...IDS, 'mbx_4'], alive);
    expect(asked).to.deep.equal([{ mailboxId: 'mbx_4', isFree: true }]);
  });

  it('get a higher fence each time, also for the same process', async () => {
    const [ours, theirs] = [leases('ours'), leases('theirs')];
    const fences: bigint[] = [];
    for (const run of [ours, theirs, theirs]) {
      const [lease] = await run.take(['mbx_1']);
      fences.push(lease?.fence ?? 0n);
      await run.release(['mbx_1']);
      expect(lease?.isHeld()).to.equal(false);
    }
    expect(fences).to.deep.equal([1n, 2n, 3n]);
  });

  it('are lost permanently when they run out, also when no process took them', async () => {
    const slow = leases('slow', 200);
    const [lease] = await slow.take(['mbx_1']);
    await slow.renew(news('mbx_1'));
    expect(lease?.isHeld()).to.equal(true);
    await pause(220);
    expect(lease?.isHeld(), 'by its own clock').to.equal(false);
    await slow.renew(news('mbx_1'));
    expect(lease?.isHeld(), 'not revived').to.equal(false);
    expect(await leases('next').take(['mbx_1'])).to.have.length(1);
    await slow.release(['mbx_1']);
    const asked = await leases('third').unattended(['mbx_1'], ['next']);
    expect(asked, 'not released by another').to.deep.equal([]);
  });

  it('name the process that is gone until another one has them', async () => {
    await leases('gone', 200).take(['mbx_1']);
    const asked = () => leases('next').unattended(['mbx_1'], ['another']);
    expect(await asked()).to.deep.equal([{ mailboxId: 'mbx_1', isFree: false }]);
    await pause(220);
    expect(await asked()).to.deep.equal([{ mailboxId: 'mbx_1', isFree: true }]);
    await leases('another').take(['mbx_1']);
    expect(await asked()).to.deep.equal([]);
  });

  it("keep the worker's notes with a renewal", async () => {
    const run = leases('run');
    const [first] = await run.take(['mbx_1']);
    expect(first?.currentAt).to.equal(null);
    await run.renew(news('mbx_1'));
    await run.release(['mbx_1']);
    const [second] = await run.take(['mbx_1']);
    expect(second?.currentAt).to.be.instanceOf(Date);
  });
});
