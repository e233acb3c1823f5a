import { expect } from 'chai';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { LeaderLocks } from '../../../../infra/projector/leadership.ts';
import {
  type Rebuilt,
  type RebuildOptions,
  rebuildModels,
} from '../../../../infra/projector/rebuild-read-models.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { audit } from '../../../../projections/audit.ts';
import { directory } from '../../../../projections/directory-projection.ts';
import { operations } from '../../../../projections/operations.ts';
import type { Projection } from '../../../../projections/projection.ts';
import { happened } from '../../../support/samples/event-author.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { MAILBOX, operated, peopleHistory, sampleHistory } from '../../../support/samples/sample-history.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { openRig, personal, type Rig, rowsOf } from './projector-rig.ts';

const MODELS = [directory, operations, audit];
const AUDIT = `audit_v${String(audit.version)}`;
const VERSION = String(operations.version);
const VIEWS = ['read.directory', 'read.operation', 'read.audit'];

describe('rebuild', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const rebuild = (changes: Partial<RebuildOptions> = {}): Promise<Rebuilt> =>
    rebuildModels({
      sql: rig.sql,
      events: rig.events,
      personal,
      clock: systemClock,
      log: silentLog,
      projections: MODELS,
      directConnection: () => openDirectConnection(rig.url, 'rebuild under test'),
      signal: new AbortController().signal,
      ...changes,
    });
  const allRows = (): Promise<string[]> => Promise.all(VIEWS.map((view) => rowsOf(rig.sql, view)));
  /** Every table, index, constraint, view and sequence of the read models with its definition. */
  const catalogue = async (): Promise<unknown[]> =>
    rig.sql.query(
      `select n.nspname, c.relname, pg_get_indexdef(c.oid) as index,
         (select string_agg(conname || ' ' || pg_get_constraintdef(o.oid), ', ' order by conname)
          from pg_constraint o where o.conrelid = c.oid) as constraints,
         case when c.relkind = 'v' then pg_get_viewdef(c.oid) end as view
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('read', 'rebuild') order by 1, 2`,
    );
  const leftovers = async (): Promise<unknown[]> =>
    rig.sql.query(
      `select nspname as left from pg_namespace where nspname = 'rebuild'
       union all select projection from read.checkpoint where projection like 'rebuild%'
       union all select projection from work.parked_event where projection like 'rebuild%'`,
    );

  it('creates the same rows and tables and leaves nothing else', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const [rows, tables] = [await allRows(), await catalogue()];
    // Rows that only a rebuild mends.
    await rig.sql.query(`delete from read.${AUDIT}`);
    await rig.sql.query(`update read.operation_v${VERSION} set capability = 'damaged'`);
    const { events } = await rebuild();
    expect(events).to.equal(rig.events.all.length);
    expect(await allRows()).to.deep.equal(rows);
    expect(await catalogue()).to.deep.equal(tables);
    expect(await leftovers()).to.deep.equal([]);
  });

  it(`gives the same people, byte for byte, whatever happened to them ${verifies('contract:2:departures')}`, async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    const settled: string[] = [];
    for (const part of ['first', 'second'] as const) {
      await peopleHistory(rig.events, part);
      await rig.settle(projector);
      settled.push(await rowsOf(rig.sql, 'read.directory'));
    }
    const [before = '', after = ''] = settled;
    expect(before).to.contain('(agent,agt_mia').and.to.contain('usr_mia');
    expect(after).not.to.contain('(agent,agt_mia');
    expect(after, 'for legal holds').to.contain('(agentOwners,agt_mia');
    expect(after)
      .to.contain('Renamed')
      .and.to.match(/isErased"+:true/);
    await rig.sql.query(`delete from read.directory_v${String(directory.version)}`);
    await rebuild();
    expect(await rowsOf(rig.sql, 'read.directory')).to.equal(after);
  });

  it('serves whole models at every moment during writes, and the live leader continues afterwards', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const stop = new AbortController();
    let written = 0;
    const writing = (async () => {
      while (!stop.signal.aborted) {
        written += 1;
        await systemClock.sleep(4); // a busy log, not one that nothing can follow
        await operated(rig.events, `opn_w${String(written)}`, { done: 1, unknown: written % 2 });
        await happened(rig.events, `mailbox-${MAILBOX}`, [
          { type: written % 2 === 0 ? 'MailboxResumed' : 'MailboxPaused', data: {} },
        ]);
      }
    })();
    let seen = 0;
    const reading = (async () => {
      while (!stop.signal.aborted) {
        const [row] = await rig.sql.query<{ lines: number; last: number }>(
          `select count(*)::int as lines, coalesce(max(seq), 0)::int as last from read.audit where trail = 'org_a'`,
        );
        if (!row || row.lines !== row.last) throw new Error('an audit trail with gaps was read');
        if (row.lines < seen)
          throw new Error(`an older trail was read: ${String(row.lines)} < ${String(seen)}`);
        seen = row.lines;
        const head = await rig.events.headPosition();
        if (!(await projector.readModels.waitFor(head, 3_000))) throw new Error('a reader waited in vain');
      }
    })();
    for (let round = 0; round < 3; round += 1) await rebuild();
    await rebuild({ projections: [audit] });
    stop.abort();
    await Promise.all([writing, reading]);
    await rig.settle(projector);
    expect(written).to.be.greaterThan(10);
    const rows = await allRows();
    await projector.close();
    await rig.sql.query('drop schema read cascade');
    await rig.settle(await rig.start());
    expect(await allRows()).to.deep.equal(rows);
  });

  it('works without a projector and on an empty schema', async () => {
    await sampleHistory(rig.events);
    await rebuild();
    const rows = await allRows();
    expect(rows[2]).not.to.equal('');
    await rig.sql.query('drop schema read cascade');
    await rig.settle(await rig.start());
    expect(await allRows()).to.deep.equal(rows);
  });

  it('refuses a second rebuild in a sentence', async () => {
    const locks = await LeaderLocks.open(() => openDirectConnection(rig.url, 'the first rebuild'));
    try {
      await locks.take(['rebuild']);
      expect((await rejection(rebuild())).message).to.contain('Another rebuild is running');
    } finally {
      await locks.close();
    }
  });

  it('starts over after a killed rebuild and ignores its tables', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const rows = await allRows();
    // What a kill leaves: half a copy with a checkpoint of its own.
    await rig.sql.query('create schema rebuild');
    await rig.sql.query(`create table rebuild.${AUDIT} (half text)`);
    await rig.sql.query(`insert into read.checkpoint values ('rebuild.${AUDIT}', 1, 64)`);
    await happened(rig.events, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await rig.settle(projector);
    await rebuild();
    expect(await leftovers()).to.deep.equal([]);
    expect(await rowsOf(rig.sql, 'read.operation')).to.equal(rows[1]);
  });

  it('stops by its signal, leaves nothing behind and keeps the live models', async () => {
    await sampleHistory(rig.events);
    const projector = await rig.start();
    await rig.settle(projector);
    const rows = await allRows();
    const stopping = new AbortController();
    const stopped = rebuild({
      signal: stopping.signal,
      report: () => {
        stopping.abort(new Error('Stopped.'));
      },
    });
    expect((await rejection(stopped)).message).to.equal('Stopped.');
    expect(await leftovers()).to.deep.equal([]);
    expect(await allRows()).to.deep.equal(rows);
  });

  it('waits for a long reader and swaps when it is done', async () => {
    await sampleHistory(rig.events);
    await rig.settle(await rig.start());
    const release = Promise.withResolvers<undefined>();
    const reader = rig.sql.transaction(async (sql) => {
      await sql.query('select * from read.audit');
      await release.promise;
    });
    let isDone = false;
    const rebuilding = rebuild().then(() => {
      isDone = true;
    });
    await eventually(async () => {
      const [row] = await rig.sql.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return row !== undefined;
    });
    expect(isDone).to.equal(false);
    release.resolve(undefined);
    await Promise.all([reader, rebuilding]);
  });

  it('replaces models of another log, which no gateway accepts', async () => {
    await sampleHistory(rig.events);
    const first = await rig.start();
    await rig.settle(first);
    await first.close();
    const restored = new MemoryEventStore();
    await happened(restored, 'organisation-org_b', [{ type: 'OrganisationCreated', data: { name: 'B' } }]);
    await rejection(rig.start({ events: restored }));
    await rebuild({ events: restored });
    const second = await rig.start({ events: restored });
    expect(await second.readModels.waitFor(await restored.headPosition(), 3_000)).to.equal(true);
    expect(await rowsOf(rig.sql, 'read.directory')).to.match(/^\(organisation,org_b,.*\)$/);
  });

  it('leaves a model alone that a newer gateway serves', async () => {
    await sampleHistory(rig.events);
    const newer: Projection = { ...audit, version: audit.version + 1 };
    await rebuild({ projections: [newer] });
    expect((await rejection(rebuild({ projections: [audit] }))).message).to.contain('newer gateway');
  });

  it('retries parked events in place and keeps their first time and attempts', async () => {
    await sampleHistory(rig.events);
    const broken: Projection = {
      ...operations,
      apply: async (batch) => {
        if (batch.events.some(({ streamName }) => streamName === 'operation-opn_1'))
          throw new Error('broken');
        await operations.apply(batch);
      },
    };
    const projector = await rig.start({ projections: [directory, broken, audit] });
    await rig.settle(projector);
    await projector.close();
    const parked = () =>
      rig.sql.query<{ attempts: number; parked_at: Date }>(
        `select attempts, parked_at from work.parked_event where projection = 'operations_v${VERSION}' order by position`,
      );
    const before = await parked();
    expect(before.length).to.be.greaterThan(1);
    const still = await rebuild({ projections: [broken] });
    expect(still.parked).to.deep.equal(new Map([['operations', before.length]]));
    expect(await parked()).to.deep.equal(before.map((row) => ({ ...row, attempts: 2 })));
    expect((await rebuild()).parked).to.deep.equal(new Map());
    expect(await parked()).to.deep.equal([]);
    expect(await rowsOf(rig.sql, 'read.operation')).to.contain('opn_1');
  });
});
