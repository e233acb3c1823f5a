/**
 * B4: durable appends and `$all` through the official client on the embedded node, at several sizes of the log,
 * compared with one connection that inserts rows into the same Postgres, or reads those of the log. One
 * process, then two.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { measureRowsRead, measureSingleCommits } from './b4/postgres-anchor.ts';
import type { Measured, WorkerJob } from './b4/worker.ts';
import { type Figure, median, ratio } from './figures.ts';
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
  const commits: number[] = [];
  const reads: number[] = [];
  // Anchors and appends take turns, so that both run under the same machine load.
  for (let round = 0; round < ROUNDS; round += 1) {
    commits.push(await measureSingleCommits(databaseUrl, COUNTS.anchor));
    reads.push(await measureRowsRead(databaseUrl, MOST_READ));
    apart.push(await work({ databaseUrl, nodeUrl, work: kind }));
  }
  const usedBytes = await residentBytes(child);
  await endChild(child);
  const together: Measured[] = [];
  for (let round = 0; round < ROUNDS; round += 1) together.push(await work({ databaseUrl, work: kind }));
  return figuresOf(size, { together, apart, commits, reads, emptyBytes, usedBytes, grownSeconds });
}

interface Taken {
  readonly together: readonly Measured[];
  readonly apart: readonly Measured[];
  /** Rows a second of the anchors. */
  readonly commits: readonly number[];
  readonly reads: readonly number[];
  readonly emptyBytes: number;
  readonly usedBytes: number;
  readonly grownSeconds: number;
}

function figuresOf(size: number, taken: Taken): Figure[] {
  const name = (what: string): string => `B4 log of ${size.toLocaleString('en')}: ${what}`;
  const commits = median(taken.commits);
  const reads = median(taken.reads);
  return [
    ...modeFigures((what) => name(`${what}, one process`), taken.together, { commits, reads }, TARGETS),
    ...modeFigures((what) => name(`${what}, two processes`), taken.apart, { commits, reads }, {}),
    { name: name('one connection, rows committed'), value: commits, unit: '/s' },
    { name: name('one connection, rows read'), value: reads, unit: '/s' },
    { name: name('growth of the node'), value: (taken.usedBytes - taken.emptyBytes) / MIB, unit: 'MiB' },
    { name: name('memory of the node'), value: taken.usedBytes / MIB, unit: 'MiB' },
    { name: name('time to fill'), value: taken.grownSeconds, unit: 's' },
  ];
}

type Targets = Partial<Record<'p50' | 'appends' | 'beside' | 'all', Pick<Figure, 'target'>>>;

const TARGETS: Targets = {
  p50: { target: { atMost: 1.5 } },
  appends: { target: { atLeast: 8_000 } },
  beside: { target: { atLeast: 1.8 } },
  all: { target: { atLeast: 35_000 } },
};

/**
 * Node and client in one process or in two, each figure beside its anchor: a commit, commits or reads of one
 * connection.
 */
function modeFigures(
  name: (what: string) => string,
  measured: readonly Measured[],
  { commits, reads }: { readonly commits: number; readonly reads: number },
  targets: Targets,
): Figure[] {
  const of = (pick: (one: Measured) => number): number => median(measured.map(pick));
  const p50 = of((one) => one.sequentialMs.p50);
  const appends = of((one) => one.appendsPerSecond);
  const all = of((one) => one.readPerSecond);
  return [
    { name: name('append p50'), value: p50, unit: 'ms', ...targets.p50 },
    { name: name('append p99'), value: of((one) => one.sequentialMs.p99), unit: 'ms' },
    ratio(name('append p50 ÷ one commit'), (p50 * commits) / 1_000, 'less'),
    { name: name('appends at 32 in flight'), value: appends, unit: '/s', ...targets.appends },
    ratio(name('appends at 32 in flight ÷ rows committed'), appends / commits, 'more', targets.beside),
    { name: name('$all events'), value: all, unit: '/s', ...targets.all },
    ratio(name('$all events ÷ rows read'), all / reads, 'more'),
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
