/** `DATA_DIR` for a command: writable, or not yet created. */
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';

/** Creates the folder when missing. Throws one sentence when this process may not write in it. */
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

/** The place of the embedded database. */
const CLUSTER = join('postgres', 'cluster');

/**
 * For commands that require an existing gateway. Throws one sentence when its stores should be in `DATA_DIR`
 * but are not, as after a typo in the name. Writes nothing.
 */
export function requireGateway({ dataDir, database }: Config): void {
  if (database !== null || existsSync(join(dataDir, CLUSTER))) return;
  throw new Error(`There is no gateway in ${dataDir}: set DATA_DIR to the folder of yours.`);
}

/** The folder in which a restore creates the database. It gets its real name only when it is complete. */
export const UNFINISHED = 'postgres.unfinished';

/**
 * Throws one sentence after an interrupted restore: a start would create an empty home beside the one to
 * restore.
 */
export function refuseUnfinishedRestore(dataDir: string): void {
  const folder = join(dataDir, UNFINISHED);
  if (!existsSync(folder)) return;
  throw new Error(
    `A restore into ${dataDir} did not end: run it again, or remove ${folder} to begin an empty home.`,
  );
}
