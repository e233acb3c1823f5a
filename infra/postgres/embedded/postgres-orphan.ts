/** A server left behind by a killed gateway: it outlives its parent and keeps the data folder locked. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lookUpProcess, pollUntil } from './process-facts.ts';
import type { Log } from '../../../commands/ports/ports.ts';

/** Lines of postmaster.pid as Postgres writes them (`src/include/utils/pidfile.h`). */
interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** The content of a cluster's postmaster.pid, or null when it is missing or half-written. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | null> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number.parseInt(lines[0] ?? '', 10);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/**
 * Stops the server that holds `cluster`, if any. It is stopped and not adopted, because its settings, log and
 * port are those of another run. Only a process whose command line shows Postgres on this very folder is
 * signalled.
 */
export async function stopOrphan(cluster: string, log: Log): Promise<void> {
  const file = await readPostmasterFile(cluster);
  if (file === null) return;
  const facts = await lookUpProcess(file.pid);
  // Postgres itself judges the file of a dead server: it also detects surviving backends.
  if (facts === null) {
    if (isZombie(file.pid)) await showAsDead(cluster, file.pid);
    return;
  }
  if (!isPostgresOn(facts.command, cluster)) {
    // The pid now belongs to another program; Postgres would refuse to start because that one is alive.
    await rm(join(cluster, 'postmaster.pid'), { force: true });
    return;
  }
  log.warn('embedded postgres: stopping the server of an earlier run', { pid: file.pid });
  const ended = async (): Promise<boolean> => (await lookUpProcess(file.pid))?.startedAt !== facts.startedAt;
  for (const [signal, seconds] of [
    ['SIGINT', 10],
    ['SIGQUIT', 5],
  ] as const) {
    // prettier-ignore
    process.kill(file.pid, signal);
    if (await pollUntil(ended, 10, seconds * 1000)) return;
  }
  throw new Error(
    `An earlier Postgres (pid ${String(file.pid)}) holds ${cluster} and does not end: end it by hand.`,
  );
}

/** No system assigns this pid. */
const NOBODY = 2 ** 31 - 1;

/**
 * Called for a process that no longer lives. True when it is dead but its parent has not read its exit
 * status, which may never happen (as with PID 1 of a container).
 */
function isZombie(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Postgres takes a zombie for a living server and would refuse to start until the zombie is reaped. */
async function showAsDead(cluster: string, pid: number): Promise<void> {
  const path = join(cluster, 'postmaster.pid');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace(String(pid), String(NOBODY)));
}

const isPostgresOn = (command: string, cluster: string): boolean =>
  (command.split(' -D ')[0] ?? '').endsWith('/postgres') && command.includes(` -D ${cluster} `);
