/** `DATA_DIR` as a command meets it: writable, or not there yet. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { pathExists } from '../platform/path-exists.ts';

/** Makes the folder where it is not there. Throws one sentence when this process may not write in it. */
export function openDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(
      `DATA_DIR is ${dataDir}, where this process cannot write (${code}): let its account write there, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

/** Where a start keeps the embedded database. */
const CLUSTER = join('postgres', 'cluster');

/**
 * For commands on a gateway that exists. Throws one sentence when its stores should lie in `DATA_DIR` and do not, as after a
 * slip in its name; nothing is written.
 */
export async function requireGateway({ dataDir, database }: Config): Promise<void> {
  if (database !== null || (await pathExists(join(dataDir, CLUSTER)))) return;
  throw new Error(`There is no gateway in ${dataDir}: set DATA_DIR to the folder of yours.`);
}

/** Where a restore makes the database; under its real name it stands only when it is whole. */
export const UNFINISHED = 'postgres.unfinished';

/** Throws one sentence: a start here would begin an empty home beside the one that was to come back. */
export async function refuseUnfinishedRestore(dataDir: string): Promise<void> {
  const folder = join(dataDir, UNFINISHED);
  if (!(await pathExists(folder))) return;
  throw new Error(
    `A restore into ${dataDir} did not end: run it again, or remove ${folder} to begin an empty home.`,
  );
}
