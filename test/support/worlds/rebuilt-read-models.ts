/** The live read models, and those of a build from nothing: both as text for a comparison byte by byte. */
import { randomUUID } from 'node:crypto';
import type { Sql } from '../../../commands/ports/ports.ts';
import type { EventStore } from '../../../commands/ports/event-store.ts';
import { openDirectConnection } from '../../../infra/postgres/direct-connection.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPool, postgresSql } from '../../../infra/postgres/pool.ts';
import { startProjector } from '../../../infra/projector/projector.ts';
import { READ_MODELS } from '../../../infra/projector/read-models.ts';
import { loadMasterKey } from '../../../infra/security/key-file.ts';
import { createPersonalData } from '../../../infra/security/personal-data.ts';
import { systemClock } from '../../../infra/platform/system-clock.ts';
import { eventually } from './gateway.ts';
import { silentLog } from '../fakes/silent-log.ts';

export interface ReadModelTexts {
  /** Per view of `read`, its rows ordered. */
  readonly live: Readonly<Record<string, string>>;
  readonly rebuilt: Readonly<Record<string, string>>;
  /** Events that a read model could not apply. */
  readonly parked: number;
}

const WITHIN_MS = 60_000;

/** Builds them in a separate database, and compares where both have applied the whole log. */
export async function rebuiltReadModels(home: {
  readonly databaseUrl: string;
  readonly keyFile: string;
  readonly events: EventStore;
}): Promise<ReadModelTexts> {
  const { databaseUrl, keyFile, events } = home;
  await using opened = new AsyncDisposableStack();
  const live = open(databaseUrl, opened);
  const name = `rebuilt_${randomUUID().replaceAll('-', '')}`;
  await live.query(`create database ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  await migrate({ url: url.href });
  const fresh = open(url.href, opened);
  const masterKey = await loadMasterKey(keyFile, { mayMake: false });
  const projector = await startProjector({
    sql: fresh,
    directConnection: () => openDirectConnection(url.href, 'rebuild under test'),
    events,
    personal: createPersonalData({ sql: live, clock: systemClock, masterKey }),
    clock: systemClock,
    projections: READ_MODELS,
    log: silentLog,
  });
  opened.defer(() => projector.close());
  return await eventually(async () => {
    const head = await events.headPosition();
    for (const sql of [live, fresh])
      if ((await appliedBy(sql)) !== head) throw new Error('the read models are not at the end of the log');
    const [row] = await live.query('select count(*)::int as parked from work.parked_event');
    const texts = { live: await textOf(live), rebuilt: await textOf(fresh), parked: Number(row?.['parked']) };
    // What a worker appends meanwhile reaches one of the two first.
    if ((await events.headPosition()) !== head) throw new Error('the log grew');
    return texts;
  }, WITHIN_MS);
}

async function appliedBy(sql: Sql): Promise<bigint> {
  const [row] = await sql.query('select min(position) as position from read.checkpoint');
  return BigInt(String(row?.['position']));
}

function open(url: string, opened: AsyncDisposableStack): Sql {
  const pool = openPool({ url, log: silentLog, size: 4 });
  opened.defer(() => pool.end());
  return postgresSql(pool);
}

async function textOf(sql: Sql): Promise<Record<string, string>> {
  const views = await sql.query<{ name: string }>(
    "select viewname as name from pg_views where schemaname = 'read' order by viewname",
  );
  const texts: Record<string, string> = {};
  for (const { name } of views) {
    const rows = await sql.query<{ line: string }>(
      `select t::text as line from read."${name}" t order by t::text`,
    );
    texts[name] = rows.map(({ line }) => line).join('\n');
  }
  return texts;
}
