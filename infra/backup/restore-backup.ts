/** Restores a backup as the embedded home of an empty data folder: completely, or not at all. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { startEmbeddedPostgres } from '../postgres/embedded/embedded-postgres.ts';
import { ownerIsAlive } from '../postgres/embedded/folder-owner.ts';
import { MIGRATIONS } from '../postgres/migrate.ts';
import { stopOrphan } from '../postgres/embedded/postgres-orphan.ts';
import { checkBackup } from './check-backup.ts';
import { flushFolder } from './backup-manifest.ts';
import { loadBackup } from './load-backup.ts';
import { UNFINISHED } from '../process/data-folder.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { Manifest } from './backup-manifest.ts';
import type { Report } from './table-copy.ts';

export interface RestoreOptions {
  /** The backup's folder. */
  readonly source: string;
  readonly dataDir: string;
  readonly keyFile: string;
  readonly log: Log;
  readonly report: Report;
  readonly signal: AbortSignal;
  /** A folder of migration files other than the gateway's own. */
  readonly migrations?: URL;
}

/** Restores and returns the backup's manifest. On an error it throws one sentence and leaves `dataDir` unchanged. */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { source, dataDir, keyFile, signal, migrations = MIGRATIONS } = options;
  await refuseFilled(dataDir, keyFile);
  const manifest = await checkBackup({ source, keyFile, migrations, signal });
  await mkdir(dataDir, { recursive: true });
  await removeUnfinished(options);
  try {
    await makeDatabase(options, manifest, migrations);
    await rename(join(dataDir, UNFINISHED), join(dataDir, 'postgres'));
    await flushFolder(dataDir);
  } catch (error) {
    await rm(join(dataDir, UNFINISHED), { recursive: true, force: true });
    throw error;
  }
  return manifest;
}

async function refuseFilled(dataDir: string, keyFile: string): Promise<void> {
  if (!existsSync(dataDir)) return;
  const allowed = new Set([
    UNFINISHED,
    ...(dirname(keyFile) === resolve(dataDir) ? [basename(keyFile)] : []),
  ]);
  const other = (await readdir(dataDir)).find((entry) => !allowed.has(entry));
  if (other === undefined) return;
  throw new Error(
    `${dataDir} is not empty (${other}): a restore never overwrites, set DATA_DIR to an empty folder that holds the key file at most.`,
  );
}

/** What a killed restore left behind, including its Postgres. */
async function removeUnfinished({ dataDir, log }: RestoreOptions): Promise<void> {
  const unfinished = join(dataDir, UNFINISHED);
  if (await ownerIsAlive(join(unfinished, 'owner'))) {
    throw new Error(`Another restore into ${dataDir} is running.`);
  }
  await stopOrphan(join(unfinished, 'cluster'), log);
  await rm(unfinished, { recursive: true, force: true });
}

async function makeDatabase(
  { dataDir, source, log, report, signal }: RestoreOptions,
  manifest: Manifest,
  migrations: URL,
): Promise<void> {
  const postgres = await startEmbeddedPostgres({ dataDir, folderName: UNFINISHED, log });
  try {
    signal.throwIfAborted();
    await loadBackup(postgres.url, { source, manifest, migrations, report, signal });
  } finally {
    await postgres.stop();
  }
}
