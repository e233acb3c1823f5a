/** A run of the gateway behind a crash line: the addresses of its stores, and the cleanup after its crash. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Sql } from '../../../commands/ports/ports.ts';
import type { CrashLine, Target } from './crash-line.ts';
import { eventually } from '../worlds/gateway.ts';
import type { RunHome } from '../worlds/gateway-run.ts';

/** The name under which Postgres lists connections of runs that will crash; each line has its own suffix. */
const APPLICATION = 'behind the crash line';

/** Host and port of a store's address, and its TLS settings. */
export function placeOf(url: string): Target {
  const { hostname, port, searchParams } = new URL(url);
  const place = { host: hostname, port: Number(port) };
  const caFile = searchParams.get('tlsCAFile');
  if (caFile === null) return place;
  const access: unknown = JSON.parse(readFileSync(join(dirname(caFile), 'access.json'), 'utf8'));
  const { private_key, certificate } = access as { private_key: string; certificate: string };
  return { ...place, tls: { key: private_key, cert: certificate } };
}

/** The same address at another port of this machine. */
export function atPort(url: string, port: number): string {
  const moved = new URL(url);
  moved.host = `127.0.0.1:${String(port)}`;
  return moved.href;
}

/** The same database through the line; Postgres can identify these connections. */
export function databaseBehind(line: CrashLine, url: string): string {
  const database = new URL(atPort(url, line.portOf('postgres')));
  database.searchParams.set('application_name', `${APPLICATION} ${database.port}`);
  return database.href;
}

/** The same stores, reached through the line. */
export function behindTheLine(home: RunHome, line: CrashLine): RunHome {
  return {
    ...home,
    databaseUrl: databaseBehind(line, home.databaseUrl),
    eventStoreUrl: atPort(home.eventStoreUrl, line.portOf('events')),
    imapPort: line.portOf('imap'),
  };
}

/** As if the crashed run's thirty seconds had passed: its leases are free. `databaseUrl`: that run's. */
export async function endLeasesOf(
  sql: Sql,
  { runId, databaseUrl }: { readonly runId: string; readonly databaseUrl: string },
): Promise<void> {
  const name = new URL(databaseUrl).searchParams.get('application_name') ?? '';
  await connectionsGone((statement) => sql.query(statement), `= '${name}'`);
  await sql.query('update work.lease set until = now() where run_id = $1', [runId]);
}

/** As if the thirty seconds of every crashed process behind the line had passed. */
export async function endAllLeases(query: Query): Promise<void> {
  await connectionsGone(query, `like '${APPLICATION}%'`);
  for (const leases of ['work.lease', 'work.mailbox_lease'])
    await query(`update ${leases} set until = now()`);
}

type Query = (statement: string) => Promise<readonly unknown[]>;

/** The server still commits what it has received from a dead connection: a lease taken late would survive. */
const connectionsGone = (query: Query, named: string): Promise<void> =>
  eventually(async () => {
    const left = await query(
      `select pid from pg_stat_activity where application_name ${named} and datname = current_database()`,
    );
    if (left.length > 0) throw new Error('Postgres still works for the dead run');
  });
