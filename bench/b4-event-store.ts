/**
 * B4: durable appends and `$all` through the official client on the embedded node, at several sizes of the
 * log, compared with one connection that inserts rows into the same Postgres. One process, then two.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { measureSingleCommits } from './b4/postgres-anchor.ts';
import type { Measured, WorkerJob } from './b4/worker.ts';
import type { Figure } from './figures.ts';
import { onEachSize } from './log-databases.ts';
import { endChild, runScript } from './processes.ts';

const MIB = 1_048_576;
const ROUNDS = 3;
const COUNTS = { sequential: 1_000, inFlight: 12_000, anchor: 1_000 };

/** Most events of the log that one reading round reads. */
const MOST_READ = 100_000;

export const measureEventStore = (sizes: readonly number[]): Promise<readonly Figure[]> =>
  onEachSize(sizes, atSize);

const work = async (job: WorkerJob): Promise<Measured> =>
  JSON.parse(await runScript('bench/b4/worker.ts', [JSON.stringify(job)])) as Measured;

async function atSize(databaseUrl: string, size: number): Promise<Figure[]> {
  const { child, nodeUrl } = await startNode(databaseUrl);
  const emptyBytes = await residentBytes(child);
  const growStart = performance.now();
  await work({ databaseUrl, nodeUrl, work: { kind: 'grow', events: size } });
  const grownSeconds = (performance.now() - growStart) / 1_000;
  const kind = {
    kind: 'measure',
    ...COUNTS,
    read: Math.min(size, MOST_READ),
  } as const;
  const apart: Measured[] = [];
  const anchors: number[] = [];
  // Anchor and appends take turns, so that both run under the same machine load.
  for (let round = 0; round < ROUNDS; round += 1) {
    anchors.push(await measureSingleCommits(databaseUrl, COUNTS.anchor));
    apart.push(await work({ databaseUrl, nodeUrl, work: kind }));
  }
  const usedBytes = await residentBytes(child);
  await endChild(child);
  const together: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) together.push(await work({ databaseUrl, work: kind }));
  return figuresOf(size, { together, apart, anchors, emptyBytes, usedBytes, grownSeconds });
}

interface Taken {
  readonly together: readonly Measured[];
  readonly apart: readonly Measured[];
  readonly anchors: readonly number[];
  readonly emptyBytes: number;
  readonly usedBytes: number;
  readonly grownSeconds: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function figuresOf(size: number, taken: Taken): Figure[] {
  const name = (what: string): string => `B4 log of ${size.toLocaleString('en')}: ${what}`;
  const anchor = median(taken.anchors);
  const of = (measured: readonly Measured[], pick: (one: Measured) => number): number =>
    median(measured.map(pick));
  const together = of(taken.together, (one) => one.appendsPerSecond);
  const rows = (mode: string, measured: readonly Measured[], isTarget: boolean): Figure[] => [
    {
      name: name(`append p50, ${mode}`),
      value: of(measured, (one) => one.sequentialMs.p50),
      unit: 'ms',
      ...(isTarget ? { target: { atMost: 1.5 } } : {}),
    },
    { name: name(`append p99, ${mode}`), value: of(measured, (one) => one.sequentialMs.p99), unit: 'ms' },
    {
      name: name(`appends at 32 in flight, ${mode}`),
      value: of(measured, (one) => one.appendsPerSecond),
      unit: '/s',
      ...(isTarget ? { target: { atLeast: 8_000 } } : {}),
    },
    {
      name: name(`$all events, ${mode}`),
      value: of(measured, (one) => one.readPerSecond),
      unit: '/s',
      ...(isTarget ? { target: { atLeast: 35_000 } } : {}),
    },
  ];
  return [
    ...rows('one process', taken.together, true),
    ...rows('two processes', taken.apart, false),
    { name: name('one connection, rows committed'), value: anchor, unit: '/s' },
    { name: name('appends at 32 in flight ÷ rows'), value: together / anchor, unit: '×' },
    { name: name('growth of the node'), value: (taken.usedBytes - taken.emptyBytes) / MIB, unit: 'MiB' },
    { name: name('memory of the node'), value: taken.usedBytes / MIB, unit: 'MiB' },
    { name: name('time to fill'), value: taken.grownSeconds, unit: 's' },
  ];
}

async function startNode(databaseUrl: string): Promise<{ child: ChildProcess; nodeUrl: string }> {
  const child = fork('bench/b4/node-process.ts', [databaseUrl]);
  const [nodeUrl] = (await once(child, 'message')) as [string];
  return { child, nodeUrl };
}

async function residentBytes(child: ChildProcess): Promise<number> {
  child.send('memory');
  const [bytes] = (await once(child, 'message')) as [number];
  return bytes;
}
