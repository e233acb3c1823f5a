/** A projector on a real database and an event log in memory. */
import type { Log, PersonalData, Sql } from '../../../../commands/ports/ports.ts';
import { openDirectConnection } from '../../../../infra/postgres/direct-connection.ts';
import { openPool, postgresSql } from '../../../../infra/postgres/pool.ts';
import {
  type Projector,
  type ProjectorOptions,
  startProjector,
} from '../../../../infra/projector/projector.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { audit } from '../../../../projections/audit.ts';
import { directory } from '../../../../projections/directory-projection.ts';
import { operations } from '../../../../projections/operations.ts';
import type { Projection } from '../../../../projections/projection.ts';
import { samplePersonal } from '../../../support/samples/event-author.ts';
import { MemoryEventStore } from '../../../support/fakes/memory-event-store.ts';
import { testDatabase } from '../../../support/servers/postgres.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

export const personal: PersonalData = {
  seal: () => Promise.reject(new Error('nothing is sealed here')),
  ...samplePersonal,
  erase: () => Promise.reject(new Error('nothing is erased here')),
  isErased: () => Promise.resolve(false),
};

/** How often each event was applied: 1, or something is broken. */
export const counting: Projection = {
  name: 'counting',
  version: 1,
  tables: ['counted'],
  create: (tableOf) => [`create table ${tableOf('counted')} (id uuid primary key, times int not null)`],
  apply: async ({ events, sql, tableOf }) => {
    await sql.query(
      `insert into ${tableOf('counted')} as c select id, 1 from unnest($1::uuid[]) as id
       on conflict (id) do update set times = c.times + 1`,
      [events.map(({ id }) => id)],
    );
  },
};

export interface Rig extends AsyncDisposable {
  readonly events: MemoryEventStore;
  readonly sql: Sql;
  readonly url: string;
  /** One more projector on the same log and database. */
  start(changes?: Partial<ProjectorOptions>): Promise<Projector>;
  /** Waits until a projector holds everything in the log. Throws after three seconds. */
  settle(projector: Projector): Promise<void>;
}

export async function openRig(log: Log = silentLog): Promise<Rig> {
  const database = await testDatabase();
  const pool = openPool({ url: database.url, log: silentLog, size: 6 });
  const sql = postgresSql(pool);
  const events = new MemoryEventStore();
  const projectors: Projector[] = [];
  return {
    events,
    sql,
    url: database.url,
    start: async (changes = {}) => {
      const projector = await startProjector({
        sql,
        events,
        personal,
        clock: systemClock,
        log,
        projections: [directory, operations, audit],
        directConnection: () => openDirectConnection(database.url, 'projector under test'),
        ...changes,
      });
      projectors.push(projector);
      return projector;
    },
    settle: async (projector) => {
      const head = await events.headPosition();
      if (!(await projector.readModels.waitFor(head, 15_000)))
        throw new Error('the read models did not catch up');
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(projectors.map((projector) => projector.close()));
      await pool.end();
      await database.drop();
    },
  };
}

/** Rows of a table, oldest column first, as text that can be compared byte by byte. */
export async function rowsOf(sql: Sql, table: string): Promise<string> {
  const rows = await sql.query<{ line: string }>(`select t::text as line from ${table} t order by t::text`);
  return rows.map(({ line }) => line).join('\n');
}
