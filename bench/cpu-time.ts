/**
 * The CPU time of a process and of all it started, by what they do: it hardly depends on what else the machine does. Linux only. A
 * process that has ended counts nothing, also not what it used before: figures over time hold where all live until their end.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Role → seconds of CPU. */
export type CpuTimes = ReadonlyMap<string, number>;

/** Of `USER_HZ`, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100;
/** In `/proc/<pid>/stat`, counted behind the name: the parent, and the ticks in user and kernel mode. */
const PARENT = 1;
const USER = 11;
const KERNEL = 12;

/** The process `gateway`, everything it started, and `others` by their role. */
export function cpuTimes(gateway: number, others: Readonly<Record<string, number>> = {}): CpuTimes {
  const parents = new Map(pids().flatMap((pid) => entryOf(pid)));
  const times = new Map<string, number>();
  const add = (role: string, seconds: number): void => {
    times.set(role, (times.get(role) ?? 0) + seconds);
  };
  for (const pid of parents.keys())
    if (isBelow(pid, gateway, parents)) add(roleOf(pid, gateway), secondsOf(pid));
  for (const [role, pid] of Object.entries(others)) add(role, secondsOf(pid));
  return times;
}

const pids = (): readonly number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);

/** A file of a process, which may end at any time; empty then. */
function procOf(pid: number, file: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function statOf(pid: number): readonly string[] {
  const text = procOf(pid, 'stat');
  // The name is in brackets, and may have blanks.
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

const entryOf = (pid: number): readonly (readonly [number, number])[] => {
  const parent = statOf(pid)[PARENT];
  return parent === undefined ? [] : [[pid, Number(parent)]];
};

function isBelow(pid: number, top: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at))
    if (at === top) return true;
  return false;
}

/** The user and system time of one process. */
export const secondsOf = (pid: number): number => {
  const stat = statOf(pid);
  return (Number(stat[USER] ?? 0) + Number(stat[KERNEL] ?? 0)) / TICKS_PER_SECOND;
};

function roleOf(pid: number, gateway: number): string {
  if (pid === gateway) return 'gateway';
  return procOf(pid, 'cmdline').includes('postgres') ? 'Postgres' : 'its other processes';
}
