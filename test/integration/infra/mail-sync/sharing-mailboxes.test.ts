import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { type SyncRig, startSyncRig } from '../../../support/worlds/mail-sync-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { textOf } from '../../../../commands/ports/statement.ts';

const RULE = 'contract:20:mailboxes-shared';
/** Nothing but what is told brings a mailbox to its worker. */
const NO_SWEEP = { sweepEveryMs: 3_600_000 };

const LISTENING = `select from pg_stat_activity where datname = current_database()
  and application_name = 'gateway mailbox_changed' and state = 'idle' and query like 'listen %'`;

describe('mailboxes shared by processes', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let rig: SyncRig;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());
  beforeEach(async () => {
    rig = await startSyncRig(dovecot.imap(), 'sharing');
  });
  afterEach(() => rig.close());

  const held = async (): Promise<readonly string[]> => (await rig.leases()).toSorted();
  /** Mailboxes by the process that holds them. */
  const perProcess = async (): Promise<readonly number[]> => {
    const rows = await rig.ports.sql.query<{ count: number }>(
      'select count(*)::int as count from work.mailbox_lease where until > now() group by run_id order by count',
    );
    return rows.map(({ count }) => count);
  };

  it(`keep their process while nothing changes ${verifies(RULE)}`, async () => {
    const lookEveryMs = 20;
    const beatEveryMs = lookEveryMs;
    rig.work({ lookEveryMs, beatEveryMs, leaseMs: 60_000, renewEveryMs: 20_000, roundEveryMs: 60_000 });
    await eventually(() => rig.entry().state === 'connected');
    // It checks all mailboxes once it listens.
    await eventually(async () => (await rig.ports.sql.query(LISTENING)).length === 1);
    await rig.ports.clock.sleep(200);
    const seen = watch(rig);
    await rig.ports.clock.sleep(50 * lookEveryMs);
    await eventually(() => seen.looks > 10);
    expect(seen.leases, 'queries on leases of mailboxes').to.equal(0);
    expect(seen.rounds, 'rounds over the directory').to.equal(0);
  });

  it(`get a process before the next sweep when they are new ${verifies(RULE)}`, async () => {
    rig.work({ ...NO_SWEEP, lookEveryMs: 250 });
    await eventually(() => rig.entry().state === 'connected');
    const added = await rig.addMailbox();
    await eventually(async () => (await held()).includes(added));
  });

  it(`get another process when the leases of a dead one run out ${verifies(RULE)}`, async () => {
    const { sql } = rig.ports;
    const since = performance.now();
    const insert = 'insert into work.lease (name, run_id, until) values ($1, $2, now() + $3::interval)';
    await sql.query(insert, ['mail-worker/dead', 'dead', '500 milliseconds']);
    const own = `insert into work.mailbox_lease (mailbox_id, run_id, fence, until)
      values ($1, 'dead', 1, now() + interval '1200 milliseconds')`;
    await sql.query(own, [rig.mailboxId]);
    rig.work({ ...NO_SWEEP, leaseMs: 30_000, renewEveryMs: 10_000 });
    await eventually(async () => {
      const rows = await sql.query("select from work.mailbox_lease where run_id <> 'dead'");
      return rows.length === 1;
    }, 8_000);
    expect(performance.now() - since).to.be.greaterThan(1_000);
  });

  it(`have a process each when one is added while a process restarts ${verifies(RULE)}`, async () => {
    await rig.addMailbox();
    rig.work(NO_SWEEP);
    const end = rig.work(NO_SWEEP);
    await eventually(async () => (await perProcess()).join() === '1,1');
    const ended = end();
    const added = await rig.addMailbox();
    await ended;
    await eventually(async () => (await held()).length === 3);
    expect(await held()).to.include(added);
    expect(await perProcess(), 'the other one has them all').to.deep.equal([3]);
    const last = rig.addMailbox();
    rig.work(NO_SWEEP);
    await last;
    await eventually(async () => (await perProcess()).join() === '2,2');
  });

  it('are released again soon where that failed once', async () => {
    rig.work({ ...NO_SWEEP, leaseMs: 120_000, renewEveryMs: 40_000 });
    await eventually(() => rig.entry().state === 'connected');
    const { sql } = rig.ports;
    const query = sql.query.bind(sql);
    let failures = 0;
    const failing: typeof sql.query = (text, parameters) => {
      const fails = failures === 0 && textOf(text).includes('update work.mailbox_lease set until = now()');
      if (!fails) return query(text, parameters);
      failures += 1;
      return Promise.reject(new Error('away'));
    };
    Object.assign(sql, { query: failing });
    await rig.pauseMailbox();
    await eventually(async () => (await held()).length === 0);
    expect(failures).to.equal(1);
  });
});

/** Counts from now on what the processes do. */
function watch({ ports }: SyncRig): { looks: number; leases: number; rounds: number } {
  const seen = { looks: 0, leases: 0, rounds: 0 };
  const { sql, directory } = ports;
  const query = sql.query.bind(sql);
  const counting: typeof sql.query = (text, parameters) => {
    if (textOf(text).includes('work.lease ')) seen.looks += 1;
    if (textOf(text).includes('work.mailbox_lease')) seen.leases += 1;
    return query(text, parameters);
  };
  Object.assign(sql, { query: counting });
  const { mailboxes } = directory.state;
  for (const walk of ['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const) {
    const original = mailboxes[walk].bind(mailboxes) as (...given: unknown[]) => unknown;
    Object.assign(mailboxes, {
      [walk]: (...given: unknown[]) => {
        seen.rounds += 1;
        return original(...given);
      },
    });
  }
  return seen;
}
