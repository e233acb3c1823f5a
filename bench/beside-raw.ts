/**
 * One operation through the gateway beside the raw protocol, in one run: back to back, and one every 300 ms,
 * where nothing shares the work that follows an operation. CPU of the gateway and of Postgres is counted beside
 * the time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuTimes } from './cpu-time.ts';
import { type Figure, type PeerFigure, percentile, ratio } from './figures.ts';

export interface Operation {
  readonly name: string;
  /** What the raw client does, as `IMAP MOVE`. */
  readonly anchor: string;
  /** Milliseconds that the gateway may add at p50, by pace. */
  readonly added: Readonly<Record<PaceName, number>>;
  /** Milliseconds of CPU of the gateway. */
  readonly cpuAtMost?: number;
  /** The operation in the peer's figures. */
  readonly peer?: string;
  /** Does it once and returns the milliseconds; `index` counts up, none comes twice. */
  readonly ours: (index: number) => Promise<number>;
  readonly theirs: (index: number) => Promise<number>;
}

export type PaceName = 'back to back' | 'one every 300 ms';

interface Pace {
  readonly name: PaceName;
  readonly rounds: number;
  readonly warmUp: number;
  /** So many of the gateway's run in a row, then as many raw ones: both run under the same machine load. */
  readonly block: number;
  /** From the begin of one to the begin of the next, of either kind. */
  readonly everyMs: number;
}

/** Of operations one every 300 ms there are fewer: they take the time. */
const SPACED_SHARE = 5;
const BLOCK = 10;
export const ROUNDS = 200;

/** `rounds`: counted operations back to back. */
const pacesOf = (rounds: number): readonly Pace[] => [
  { name: 'back to back', rounds, warmUp: Math.ceil(rounds / 10), block: BLOCK, everyMs: 0 },
  { name: 'one every 300 ms', rounds: Math.ceil(rounds / SPACED_SHARE), warmUp: 2, block: 1, everyMs: 150 },
];

/** How often each side is asked for one operation, with what is not counted. */
export const countOf = (rounds: number): number =>
  pacesOf(rounds).reduce((sum, pace) => sum + pace.rounds + pace.warmUp, 0);

/** Seconds of CPU, or of CPU per second. */
export interface Cpu {
  readonly gateway: number;
  readonly postgres: number;
}

/** After its start the gateway is left alone this long, and then this long to see what it uses anyway. */
const SETTLE_MS = 3_000;
const IDLE_MS = 5_000;
/** What the last operation left behind ends within this time. */
const AFTERMATH_MS = 1_000;

const cpuOf = (gatewayPid: number): Cpu => {
  const times = cpuTimes(gatewayPid);
  return { gateway: times.get('gateway') ?? 0, postgres: times.get('Postgres') ?? 0 };
};

async function cpuWhile(
  gatewayPid: number,
  work: () => Promise<unknown>,
): Promise<Cpu & { seconds: number }> {
  const before = cpuOf(gatewayPid);
  const ms = performance.now();
  await work();
  const after = cpuOf(gatewayPid);
  return {
    gateway: after.gateway - before.gateway,
    postgres: after.postgres - before.postgres,
    seconds: (performance.now() - ms) / 1_000,
  };
}

/** CPU of each operation, without what an idle gateway uses in the same time. */
export const cpuEach = (used: Cpu & { readonly seconds: number }, idle: Cpu, operations: number): Cpu => ({
  gateway: (used.gateway - idle.gateway * used.seconds) / operations,
  postgres: (used.postgres - idle.postgres * used.seconds) / operations,
});

/** What an idle gateway uses in a second. */
export async function idleCpu(gatewayPid: number): Promise<Cpu> {
  await sleep(SETTLE_MS);
  const used = await cpuWhile(gatewayPid, () => sleep(IDLE_MS));
  return { gateway: used.gateway / used.seconds, postgres: used.postgres / used.seconds };
}

/** Both paces of an operation. */
export async function measureBesideRaw(
  gatewayPid: number,
  idle: Cpu,
  operation: Operation,
  rounds: number,
): Promise<readonly Figure[]> {
  const watch = (work: () => Promise<unknown>) =>
    cpuWhile(gatewayPid, async () => {
      await work();
      await sleep(AFTERMATH_MS);
    });
  const measured = await inBothPaces(operation, rounds, watch);
  return measured.flatMap(({ pace, taken, watched }) =>
    figuresOf(operation, pace, taken, cpuEach(watched, idle, taken.ours.length)),
  );
}

interface Measured<T> {
  readonly pace: PaceName;
  readonly taken: Taken;
  readonly watched: T;
}

/** `watch` runs the counted operations of a pace, and what it returns is `watched`. */
export async function inBothPaces<T>(
  sides: Pick<Operation, 'ours' | 'theirs'>,
  rounds: number,
  watch: (work: () => Promise<unknown>) => Promise<T>,
): Promise<readonly Measured<T>[]> {
  const measured: Measured<T>[] = [];
  let next = 0;
  for (const pace of pacesOf(rounds)) {
    await alternate(sides, pace, { from: next, count: pace.warmUp });
    const taken: Taken = { ours: [], theirs: [] };
    const counted = { from: next + pace.warmUp, count: pace.rounds };
    const watched = await watch(() => alternate(sides, pace, counted, taken));
    next += pace.warmUp + pace.rounds;
    measured.push({ pace: pace.name, taken, watched });
  }
  return measured;
}

/** Milliseconds of each. */
interface Taken {
  readonly ours: number[];
  readonly theirs: number[];
}

/** The gateway's operations and the raw ones, block by block, each at its time. */
async function alternate(
  { ours, theirs }: Pick<Operation, 'ours' | 'theirs'>,
  { block, everyMs }: Pace,
  { from, count }: { readonly from: number; readonly count: number },
  taken: Taken = { ours: [], theirs: [] },
): Promise<void> {
  const sides = [
    { operate: ours, into: taken.ours },
    { operate: theirs, into: taken.theirs },
  ];
  const turns = Array.from({ length: Math.ceil(count / block) }, (_, at) => from + at * block).flatMap(
    (first) => sides.map((side) => ({ ...side, first, behind: Math.min(first + block, from + count) })),
  );
  let due = performance.now();
  for (const { operate, into, first, behind } of turns)
    for (let index = first; index < behind; index += 1) {
      const early = due - performance.now();
      if (early > 0) await sleep(early);
      due = performance.now() + everyMs;
      into.push(await operate(index));
    }
}

/** The rows of one pace. Pure. */
export function figuresOf(operation: Operation, pace: PaceName, taken: Taken, cpu: Cpu): readonly Figure[] {
  const title = (what: string): string => `${operation.name}, ${pace}: ${what}`;
  const ours = percentile(taken.ours, 0.5);
  const theirs = percentile(taken.theirs, 0.5);
  // The peer was measured back to back.
  const peer = (what: PeerFigure['what']): Pick<Figure, 'peer'> =>
    operation.peer === undefined || pace !== 'back to back'
      ? {}
      : { peer: { operation: operation.peer, what } };
  const { cpuAtMost } = operation;
  return [
    { name: title('p50'), value: ours, unit: 'ms', ...peer('p50') },
    { name: title('p99'), value: percentile(taken.ours, 0.99), unit: 'ms', ...peer('p99') },
    { name: title(`raw ${operation.anchor} p50`), value: theirs, unit: 'ms' },
    {
      name: title('added at p50'),
      value: ours - theirs,
      unit: 'ms',
      target: { atMost: operation.added[pace] },
      ...peer('peer − raw'),
    },
    ratio(title('÷ raw'), ours / theirs, 'less', peer('peer ÷ raw')),
    {
      name: title('CPU of the gateway'),
      value: cpu.gateway * 1_000,
      unit: 'ms',
      ...(cpuAtMost !== undefined && { target: { atMost: cpuAtMost } }),
      ...peer('cpu'),
    },
    { name: title('CPU of Postgres'), value: cpu.postgres * 1_000, unit: 'ms' },
  ];
}
