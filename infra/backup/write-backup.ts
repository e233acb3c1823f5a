/** Writes a backup: `vault` and `log` as of one moment, in a folder that exists completely or not at all. */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endConnection, openDirectConnection } from '../postgres/direct-connection.ts';
import { version } from '../platform/version.ts';
import {
  fileOf,
  flushFolder,
  FORMAT,
  type Manifest,
  type StoredFile,
  writeManifest,
} from './backup-manifest.ts';
import {
  COPY_SETTINGS,
  copyTarget,
  type Report,
  RowTally,
  type StoredTable,
  storedTables,
} from './table-copy.ts';
import type { Client } from 'pg';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { to as copyTo } from 'pg-copy-streams';

export interface BackupOptions extends Omit<TableWriting, 'folder'> {
  /** A direct address of the database. */
  readonly url: string;
  /** Absolute; does not exist yet, or is empty. */
  readonly target: string;
}

/** Writes the backup and returns its manifest. On an error it throws one sentence and leaves nothing behind. */
export async function writeBackup({ url, target, report, signal }: BackupOptions): Promise<Manifest> {
  await refuseFilled(target);
  await mkdir(dirname(target), { recursive: true });
  const unfinished = await mkdtemp(`${target}.unfinished-`);
  try {
    const manifest = await saveSnapshot(url, { folder: unfinished, report, signal });
    await writeManifest(unfinished, manifest);
    await flushFolder(unfinished);
    await rename(unfinished, target).catch((cause: unknown) => {
      throw new Error(`The backup cannot be renamed to ${target}: ${String(cause)}`, { cause });
    });
    await flushFolder(dirname(target));
    return manifest;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function refuseFilled(target: string): Promise<void> {
  let entries: string[];
  try {
    entries = await readdir(target);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    throw error;
  }
  if (entries.length > 0) throw new Error(`${target} is not empty: name a folder that does not exist yet.`);
}

async function saveSnapshot(url: string, writing: TableWriting): Promise<Manifest> {
  const client = await openDirectConnection(url, 'gateway backup');
  try {
    // Every later statement sees the database as of one moment, whatever is written meanwhile.
    await client.query('begin isolation level repeatable read read only');
    await client.query(COPY_SETTINGS);
    const createdAt = new Date();
    const { schema, log } = await homeFacts(client);
    const files: StoredFile[] = [];
    for (const table of await storedTables(client)) files.push(await writeTable(client, table, writing));
    const facts = { format: FORMAT, gateway_version: version, created_at: createdAt.toISOString() } as const;
    return { ...facts, schema, log, files };
  } finally {
    // Also cancels a COPY that was abandoned half-way.
    await endConnection(client);
  }
}

/** Throws a one-sentence error when the database was never set up, or its log never written by an embedded node. */
async function homeFacts(client: Client): Promise<Pick<Manifest, 'schema' | 'log'>> {
  const migrated = await client.query<{ there: boolean }>(
    "select to_regclass('public.gateway_migration') is not null as there",
  );
  if (migrated.rows[0]?.there !== true)
    throw new Error('The database was never set up: start the gateway first.');
  const schema = await client.query<{ name: string }>(
    'select max(name) as name from public.gateway_migration',
  );
  const node = await client.query<{ end: string; epoch: string }>(
    'select log_end as end, epoch from log.node_epoch where epoch > 0',
  );
  const [log] = node.rows;
  if (log === undefined) {
    throw new Error(
      'No event was ever written to this home: if its events are in a server of your own (EVENTSTORE_URL), docs/backup.md says how to save both.',
    );
  }
  return { schema: schema.rows[0]?.name ?? '', log };
}

/** Writes one table of the snapshot into one file. */
interface TableWriting {
  readonly folder: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Streams the table as the client's transaction sees it; when this resolves, the file is on the disk with mode 600. */
async function writeTable(
  client: Client,
  { name, columns }: StoredTable,
  { folder, report, signal }: TableWriting,
): Promise<StoredFile> {
  const file = fileOf(name);
  const hash = createHash('sha256');
  let bytes = 0;
  const tally = new RowTally(name, report);
  const rows = client.query(copyTo(`COPY ${copyTarget(name, columns)} TO STDOUT`));
  try {
    await pipeline(
      rows,
      (chunks) => tally.pass(chunks),
      createGzip(),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(join(folder, file), { flags: 'wx', mode: 0o600, flush: true }),
      { signal },
    );
  } catch (cause) {
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name} could not be saved: ${reason}`, { cause });
  }
  return { file, table: name, columns: [...columns], rows: tally.rows, bytes, sha256: hash.digest('hex') };
}
