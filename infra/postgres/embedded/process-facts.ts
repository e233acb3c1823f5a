/** Facts of a process from the operating system: enough to distinguish two programs that got the same pid. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';

const run = promisify(execFile);

export interface ProcessFacts {
  /** Opaque; differs between two processes that had the same pid. */
  readonly startedAt: string;
  /** Command line, arguments joined by a space. */
  readonly command: string;
}

/** Facts of a living process, or null. A zombie counts as dead: it holds no resources. */
export async function lookUpProcess(pid: number): Promise<ProcessFacts | null> {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

async function fromProc(pid: number): Promise<ProcessFacts | null> {
  try {
    const stat = await readFile(`/proc/${String(pid)}/stat`, 'utf8');
    const command = await readFile(`/proc/${String(pid)}/cmdline`, 'utf8');
    // The name in parentheses may contain spaces. Then follow state (field 3) … start time (field 22).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return { startedAt: fields[19] ?? '', command: command.split('\0').join(' ') };
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH');

async function fromPs(pid: number): Promise<ProcessFacts | null> {
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'stat=,lstart=,command=', '-p', String(pid)]);
    // lstart is always five words: day, month, date, time, year.
    const match = /^\s*(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/m.exec(stdout);
    if (match === null || match[1]?.startsWith('Z') === true) return null;
    return { startedAt: match[2] ?? '', command: `${match[3] ?? ''} ` };
  } catch (error) {
    // ps exits with 1 when the pid is unknown.
    if (error instanceof Error && 'code' in error && error.code === 1) return null;
    throw error;
  }
}

/** Evaluates the condition every `everyMs` until it is true; returns false when `timeoutMs` passed first. */
export async function pollUntil(
  condition: () => Promise<boolean>,
  everyMs: number,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() >= deadline) return false;
    await delay(everyMs);
  }
  return true;
}
