/** The folder for temporary data of a test run: in memory where there is enough, else on disk. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownerIsAlive, takeFolder } from '../../../infra/postgres/embedded/folder-owner.ts';

const IN_MEMORY = '/dev/shm';
const PREFIX = 'gateway-tests-';
/** Three jobs at a time, each with one or two Postgres servers: about 2 GiB at most. */
const LEAST_FREE_BYTES = 6 * 2 ** 30;

/**
 * Creates the folder, which becomes the temp folder of every process started from now on and is removed when
 * this one ends. Tests kill processes, never the machine, so memory is as durable as a disk, and faster.
 */
export async function takeRunFolder({ onDisk }: { readonly onDisk: boolean }): Promise<string> {
  const home = !onDisk && memoryHasRoom() ? IN_MEMORY : tmpdir();
  await removeAbandoned(home);
  const folder = mkdtempSync(join(home, PREFIX));
  await takeFolder(join(folder, 'owner'), folder);
  // As open as a temp folder: servers run under other accounts.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return folder;
}

/** Programs are also run from there, which containers may forbid. */
function memoryHasRoom(): boolean {
  if (process.platform !== 'linux') return false;
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.includes(` ${IN_MEMORY} tmpfs `));
  if (mount === undefined || mount.includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) > LEAST_FREE_BYTES;
}

const ageMs = (path: string): number =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);

/** Removes the folders of killed runs. A recent one may belong to a run that is just starting. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of readdirSync(home)) {
    const folder = join(home, name);
    if (!name.startsWith(PREFIX) || ageMs(folder) < 60_000) continue;
    if (await ownerIsAlive(join(folder, 'owner'))) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}
