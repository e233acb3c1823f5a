/**
 * One gateway process per data folder: a file names the process, so that only the server of a dead one is
 * stopped.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { lookUpProcess } from './process-facts.ts';

/**
 * Distinguishes a living process from any other that has or had its pid; null when no process has the pid.
 */
export const processIdentity = async (pid: number): Promise<string | null> => {
  const facts = await lookUpProcess(pid);
  return facts === null ? null : `${String(pid)} ${facts.startedAt}`;
};

/** True while the process that wrote the file runs. */
export async function ownerIsAlive(ownerFile: string): Promise<boolean> {
  const text = await readFile(ownerFile, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isInteger(pid) && pid > 0 && (await processIdentity(pid)) === text;
}

/** Takes the folder for this process. Throws one sentence when a living process owns it. */
export async function takeFolder(ownerFile: string, folder: string): Promise<void> {
  const self = await processIdentity(process.pid);
  // The second round follows the removal of a dead owner's file. A third would mean a race with other
  // processes.
  for (let round = 0; round < 2; round += 1) {
    try {
      await writeFile(ownerFile, self ?? String(process.pid), { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    if (await ownerIsAlive(ownerFile)) break;
    await rm(ownerFile, { force: true });
  }
  throw new Error(`${folder} is in use by another running gateway: stop that one or set another DATA_DIR.`);
}

/** Releases the folder. */
export async function leaveFolder(ownerFile: string): Promise<void> {
  await rm(ownerFile, { force: true });
}
