import { expect } from 'chai';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { audit } from '../../../../projections/audit.ts';
import { directory } from '../../../../projections/directory-projection.ts';
import { operations } from '../../../../projections/operations.ts';
import type { Projection } from '../../../../projections/projection.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { MAILBOX, sampleHistory } from '../../../support/samples/sample-history.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { openRig, type Rig, rowsOf } from './projector-rig.ts';

const MODELS = ['read.directory', 'read.operation', 'read.audit'];
const AUDIT = `audit_v${String(audit.version)}`;
const OPERATIONS = `operations_v${String(operations.version)}`;

describe('projector', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const allRows = async (): Promise<string[]> => Promise.all(MODELS.map((table) => rowsOf(rig.sql, table)));
  const checkpoints = async (): Promise<unknown[]> =>
    rig.sql.query('select projection, position from read.checkpoint order by projection');

  it('fills every read model and follows new events', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    for (const rows of await allRows()) expect(rows).not.to.equal('');
    const before = await rowsOf(rig.sql, 'read.audit');
    await happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);
    await rig.settle(projector);
    expect((await rowsOf(rig.sql, 'read.audit')).split('\n')).to.have.length(before.split('\n').length + 1);
    expect(projector.status()).to.deep.include({ leader: true, lagEvents: 0, lagSeconds: 0 });
  });

  it('builds the same rows byte for byte when the schema was dropped', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await rig.settle(first);
    const [rows, at] = [await allRows(), await checkpoints()];
    await first.close();
    await rig.sql.query('drop schema read cascade');
    const second = await rig.start();
    await rig.settle(second);
    expect(await allRows()).to.deep.equal(rows);
    expect(await checkpoints()).to.deep.equal(at);
  });

  it('rebuilds automatically when the schema is dropped while it runs', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const rows = await rowsOf(rig.sql, 'read.operation');
    await rig.sql.query('drop schema read cascade');
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await rig.settle(projector);
    const other = await rig.start();
    await rig.settle(other);
    expect(await rowsOf(rig.sql, 'read.operation')).to.equal(rows);
  });

  it('starts from the lowest checkpoint and skips events that a projection has applied', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await rig.settle(first);
    const rows = await allRows();
    await first.close();
    await rig.sql.query('delete from read.checkpoint where projection = $1', [OPERATIONS]);
    const second = await rig.start();
    await rig.settle(second);
    expect(await allRows()).to.deep.equal(rows);
  });

  it('refuses a checkpoint ahead of the log in one sentence with the remedy', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await rig.settle(first);
    await first.close();
    const restored = new MemoryEventStore();
    const { message } = await rejection(rig.start({ events: restored }));
    expect(message)
      .to.match(/ahead|ends at -1/)
      .and.to.match(/npm run rebuild -- all/);
  });

  it('takes over within seconds when the leader dies, and counts nothing twice', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await eventually(() => first.status().leader);
    const second = await rig.start();
    expect(second.status().leader).to.equal(false);
    await first.close();
    await happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);
    await rig.settle(second);
    expect(second.status().leader).to.equal(true);
    const [gaps] = await rig.sql.query(
      `select count(*) = max(seq) as whole from read.audit where trail = 'org_a'`,
    );
    expect(gaps).to.deep.equal({ whole: true });
  });

  it('stays leader when its lock connection is closed', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    await rig.sql.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'projector under test' and datname = current_database()`,
    );
    await happened(rig.events, `mailbox-${MAILBOX}`, [{ type: 'MailboxPaused', data: {} }]);
    await rig.settle(projector);
    const [gaps] = await rig.sql.query(
      `select count(*) = max(seq) as whole from read.audit where trail = 'org_a'`,
    );
    expect(gaps).to.deep.equal({ whole: true });
  });

  it('applies every event once while two processes consider themselves leader', async () => {
    const elsewhere = await testDatabase();
    try {
      const first = await rig.start();
      // Its locks lie in another database, so nothing but the checkpoints keeps the two apart.
      const second = await rig.start({
        directConnection: () => openDirectConnection(elsewhere.url, 'projector that believes'),
      });
      for (let round = 0; round < 20; round += 1) {
        await happened(rig.events, `organisation-org_${String(round)}`, [
          { type: 'OrganisationCreated', data: { name: 'Many' } },
          { type: 'MemberAdded', data: { user_id: 'usr_x', role: 'owner' } },
        ]);
      }
      await Promise.all([rig.settle(first), rig.settle(second)]);
      const [lines] = await rig.sql.query(
        `select count(*)::int as lines, count(distinct event_id)::int as events, bool_and(count = last) as whole
         from read.audit, lateral (select count(*) as count, max(seq) as last from read.audit where trail = 'org_a')`,
      );
      expect(lines).to.deep.equal({ lines: 40, events: 40, whole: true });
      await Promise.all([first.close(), second.close()]);
    } finally {
      await elsewhere.drop();
    }
  });

  it('waits for the leader in a process that does not lead', async () => {
    const leader = await rig.start();
    await eventually(() => leader.status().leader);
    const follower = await rig.start();
    await sampleHistory(rig.events);
    await rig.settle(follower);
    expect([leader.status().leader, follower.status().leader]).to.deep.equal([true, false]);
    expect(await follower.readModels.waitFor((await rig.events.headPosition()) + 1n, 30)).to.equal(false);
  });

  it('parks the one event that a projection cannot apply, and logs it', async () => {
    const parked: string[] = [];
    const metrics = { eventParked: (projection: string) => parked.push(projection) };
    await sampleHistory(rig.events);
    // A grant that names no terms: no version of the schema ever allowed it.
    const stream = `mailbox-${MAILBOX}`;
    const last = await rig.events.readLast(stream);
    await rig.events.append(stream, last?.revision ?? 'no-stream', [
      {
        id: '00000000-0000-4000-8000-000000000001',
        type: 'GrantChanged',
        data: { grant_id: 'grt_00000000000000000000000002', scopes: 'all' },
        metadata: last?.metadata ?? {},
      },
    ]);
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    const projector = await rig.start({ metrics });
    await rig.settle(projector);
    expect(parked.toSorted()).to.deep.equal(['directory', 'operations']);
    expect(await rig.sql.query('select distinct type, attempts from work.parked_event')).to.deep.equal([
      { type: 'GrantChanged', attempts: 1 },
    ]);
    // The grant it names, and the mailbox of its stream, give nobody access any more; the rest went on.
    const left = await rig.sql.query<{ id: string }>('select id from read.directory order by id');
    const ids = left.map(({ id }) => id);
    expect(ids).not.to.include(MAILBOX);
    expect(ids).not.to.include('grt_00000000000000000000000002');
    expect(ids).to.include.members(['grt_00000000000000000000000001', 'org_b']);
  });

  it('skips only the event whose rows the database refuses', async () => {
    await sampleHistory(rig.events);
    await happened(rig.events, 'operation-opn_1', [
      {
        type: 'ActionsReconciled',
        data: { results: [] },
      },
    ]);
    const picky: Projection = {
      ...operations,
      name: 'picky',
      version: 1,
      tables: ['picky'],
      indexes: () => [],
      create: (tableOf) => [`create table ${tableOf('picky')} (id text primary key)`],
      apply: async ({ events, sql, tableOf }) => {
        const ids = events.map(({ streamName }) => streamName);
        await sql.query(`insert into ${tableOf('picky')} select * from unnest($1::text[])`, [ids]);
      },
    };
    const projector = await rig.start({ projections: [picky, audit] });
    await rig.settle(projector);
    const streams = new Set(rig.events.all.map(({ streamName }) => streamName)).size;
    const [{ parked } = { parked: 0 }] = await rig.sql.query<{ parked: number }>(
      `select count(*)::int as parked from work.parked_event where projection = 'picky_v1'`,
    );
    expect(parked).to.equal(rig.events.all.length - streams);
    expect((await rowsOf(rig.sql, 'read.picky')).split('\n')).to.have.length(streams);
    const [{ lines } = { lines: 0 }] = await rig.sql.query<{ lines: number }>(
      'select count(*)::int as lines from read.audit',
    );
    expect(lines).to.equal(rig.events.all.length);
  });

  it('stops when another process moved a checkpoint, and resumes there', async () => {
    const warned: string[] = [];
    const log = {
      ...silentLog,
      warn: (_message: string, fields?: object) => warned.push(JSON.stringify(fields)),
    };
    await sampleHistory(rig.events);
    const projector = await rig.start({ log });
    await rig.settle(projector);
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await rig.settle(projector);
    // Another believer, further than this one knows.
    await rig.sql.query(`update read.checkpoint set position = position - 1 where projection = '${AUDIT}'`);
    await happened(rig.events, 'organisation-org_c', [{ type: 'OrganisationCreated', data: { name: 'C' } }]);
    await rig.settle(projector);
    expect(warned.join()).to.contain('another process moved the checkpoint of');
    const [{ position } = { position: '' }] = await rig.sql.query<{ position: string }>(
      `select position from read.checkpoint where projection = '${AUDIT}'`,
    );
    expect(BigInt(position)).to.equal(await rig.events.headPosition());
  });

  it('builds a new version beside the old one and swaps the view when it has caught up', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await rig.settle(first);
    await first.close();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const next: Projection = {
      ...operations,
      version: operations.version + 1,
      apply: async (batch) => {
        await held;
        await operations.apply(batch);
      },
    };
    const rows = await rowsOf(rig.sql, 'read.operation');
    const second = await rig.start({ projections: [directory, next, audit] });
    // The others go on meanwhile, and queries read the old table.
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await eventually(async () => (await rowsOf(rig.sql, 'read.directory')).includes('org_b'));
    expect(await rowsOf(rig.sql, 'read.operation')).to.equal(rows);
    release();
    await rig.settle(second);
    const viewVersion = async (): Promise<boolean> => {
      const [view] = await rig.sql.query<{ definition: string }>(
        `select definition from pg_views where schemaname = 'read' and viewname = 'operation'`,
      );
      return view?.definition.includes(`operation_v${String(operations.version + 1)}`) === true;
    };
    await eventually(viewVersion);
    expect(await rowsOf(rig.sql, 'read.operation')).to.equal(rows);
    await eventually(async () => {
      const old = await rig.sql.query(`select from read.checkpoint where projection = '${OPERATIONS}'`);
      return old.length === 0;
    });
  });

  it('swaps a view whose columns changed', async () => {
    const streams = (version: number, column: string): Projection => ({
      name: 'streams',
      version,
      tables: ['stream'],
      create: (tableOf) => [`create table ${tableOf('stream')} (${column} text primary key)`],
      apply: async ({ events, sql, tableOf }) => {
        const names = events.map(({ streamName }) => streamName);
        await sql.query(
          `insert into ${tableOf('stream')} select * from unnest($1::text[]) on conflict do nothing`,
          [names],
        );
      },
    });
    await sampleHistory(rig.events);
    const first = await rig.start({ projections: [streams(1, 'stream_name')] });
    await rig.settle(first);
    const rows = await rowsOf(rig.sql, 'read.stream');
    await first.close();
    await rig.settle(await rig.start({ projections: [streams(2, 'name')] }));
    await eventually(async () => {
      const [row] = await rig.sql.query('select * from read.stream');
      return row !== undefined && 'name' in row;
    });
    expect(await rowsOf(rig.sql, 'read.stream')).to.equal(rows);
  });

  it('waits for an unreachable database and loses nothing', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    await rig.sql.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await rig.settle(projector);
    expect(await rowsOf(rig.sql, 'read.directory')).to.contain('org_b');
  });

  it('applies events without an organisation', async () => {
    await happened(
      rig.events,
      'account-usr_x',
      [{ type: 'AccountRegistered', data: { email: 'sealed:e' as never, name: 'sealed:n' as never } }],
      sampleAuthor(null),
    );
    const projector = await rig.start();
    await rig.settle(projector);
    expect(await rowsOf(rig.sql, 'read.directory')).to.contain('usr_x');
    const lines = await rig.sql.query('select trail, seq, action from read.audit');
    expect(lines).to.deep.equal([{ trail: 'usr_x', seq: '1', action: 'account.register' }]);
  });
});
