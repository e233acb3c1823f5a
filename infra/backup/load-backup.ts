/** Loads a checked backup into an empty database, in one transaction. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { from as copyFrom } from 'pg-copy-streams';
import { endConnection, openDirectConnection } from '../postgres/direct-connection.ts';
import { migrate } from '../postgres/migrate.ts';
import { type Manifest, MANIFEST, type StoredFile } from './backup-manifest.ts';
import { COPY_SETTINGS, copyTarget, type Report, RowTally, storedTables } from './table-copy.ts';
import type { Client } from 'pg';

export interface LoadOptions {
  readonly source: string;
  readonly manifest: Manifest;
  readonly migrations: URL;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/**
 * Creates the schema as it was when the backup was written, loads every table, and applies the later migrations, which then
 * migrate the data as in any upgrade. Throws a one-sentence error that names the bad file.
 */
export async function loadBackup(url: string, options: LoadOptions): Promise<void> {
  const { manifest, migrations } = options;
  await migrate({ url, folder: migrations, upTo: manifest.schema });
  const client = await openDirectConnection(url, 'gateway restore');
  try {
    await client.query(COPY_SETTINGS);
    await client.query('begin');
    await refuseOtherTables(client, options);
    // Migrations insert first rows into some tables; the backup has its own.
    await client.query(`truncate ${manifest.files.map(({ table }) => table).join(', ')}`);
    for (const file of manifest.files) await loadTable(client, file, options);
    await takeUpLog(client, options);
    await client.query('commit');
  } finally {
    // Also cancels a COPY that was abandoned half-way.
    await endConnection(client);
  }
  await migrate({ url, folder: migrations });
  await markRestored(url);
}

/**
 * The next round of sealing begins a new epoch, also after a backup that has no seals: what was signed later may be outside. Such
 * a row has no name yet.
 */
async function markRestored(url: string): Promise<void> {
  const client = await openDirectConnection(url, 'gateway restore');
  try {
    await client.query(
      `insert into vault.audit_watch (version, name, epoch, position, events, restored, mac)
       values (0, '', 1, -1, 0, true, '') on conflict (only_row) do update set restored = true`,
    );
  } finally {
    await endConnection(client);
  }
}

/** A manifest that omits a table would restore a home without it. */
async function refuseOtherTables(client: Client, { source, manifest }: LoadOptions): Promise<void> {
  const listed = manifest.files.map(({ table }) => table);
  const tables = (await storedTables(client)).map(({ name }) => name);
  const wrong = tables
    .filter((name) => !listed.includes(name))
    .concat(listed.filter((name) => !tables.includes(name)));
  if (wrong.length === 0 && new Set(listed).size === listed.length) return;
  throw new Error(
    `${join(source, MANIFEST)} is damaged: its files are not the tables of ${manifest.schema} (${wrong.join(', ')}).`,
  );
}

async function loadTable(
  client: Client,
  file: StoredFile,
  { source, report, signal }: LoadOptions,
): Promise<void> {
  const path = join(source, file.file);
  const tally = new RowTally(file.table, report);
  // Frozen: the rows are as old as the transaction that emptied the table, so no later vacuum rewrites them.
  const rows = client.query(
    copyFrom(`COPY ${copyTarget(file.table, file.columns)} FROM STDIN WITH (FREEZE)`),
  );
  try {
    await pipeline(createReadStream(path), createGunzip(), (chunks) => tally.pass(chunks), rows, { signal });
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${path} is damaged: it cannot be loaded (${reason}).`, { cause });
  }
  if (rows.rowCount === file.rows) return;
  throw new Error(
    `${path} is damaged: it has ${String(rows.rowCount)} rows, ${String(file.rows)} were written.`,
  );
}

/** A new epoch: a node still running on the saved home could not commit here, should it ever reach this database. */
async function takeUpLog(client: Client, { source, manifest }: LoadOptions): Promise<void> {
  const { end, epoch } = manifest.log;
  const { rowCount } = await client.query(
    `update log.node_epoch set epoch = epoch + 1
     where log_end = $1 and epoch = $2 and not exists (select from log.event where position >= $1)`,
    [end, epoch],
  );
  if (rowCount === 1) return;
  throw new Error(`${join(source, MANIFEST)} is damaged: it and the log do not agree on where the log ends.`);
}
