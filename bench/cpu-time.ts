/**
 * The CPU time of a process and of all it started, by what they do: it hardly depends on what else the machine does. Linux only.
 * A connection of Postgres may end meanwhile: its time is then that of the process that started it. What else has ended counts nothing.
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
/** The same of children that have ended and were waited for. */
const ENDED_USER = 13;
const ENDED_KERNEL = 14;

/** The process `gateway`, everything it started, and `others` by their role. */
export function cpuTimes(gateway: number, others: Readonly<Record<string, number>> = {}): CpuTimes {
  const parents = new Map(pids().flatMap((pid) => entryOf(pid)));
  const times = new Map<string, number>();
  const add = (role: string, seconds: number): void => {
    times.set(role, (times.get(role) ?? 0) + seconds);
  };
  for (const pid of parents.keys())
    if (isBelow(pid, gateway, parents)) {
      const role = roleOf(pid, gateway);
      add(role, role === 'Postgres' ? secondsWithEnded(pid) : secondsOf(pid));
    }
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

const secondsIn = (pid: number, fields: readonly number[]): number => {
  const stat = statOf(pid);
  return fields.reduce((sum, field) => sum + Number(stat[field] ?? 0), 0) / TICKS_PER_SECOND;
};

/** The user and system time of one process. */
export const secondsOf = (pid: number): number => secondsIn(pid, [USER, KERNEL]);

const secondsWithEnded = (pid: number): number => secondsIn(pid, [USER, KERNEL, ENDED_USER, ENDED_KERNEL]);

function roleOf(pid: number, gateway: number): string {
  if (pid === gateway) return 'gateway';
  return procOf(pid, 'cmdline').includes('postgres') ? 'Postgres' : 'its other processes';
}
