/** What a restore that was killed leaves in the data folder, and nobody may take for an empty one. */
import { join } from 'node:path';
import { pathExists } from '../platform/path-exists.ts';

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
