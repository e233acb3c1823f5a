/**
 * B5: store → client → projector → Postgres, at several sizes of the log: one model alone, and all of them from
 * one subscription; and B14: what of it the sealing of the audit trails takes. The anchor drains the same
 * subscription without applying anything. Node, Postgres and projector are separate processes.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { READ_MODELS } from '../infra/projector/read-models.ts';
import type { Measured, WorkerJob } from './b5/worker.ts';
import { type Figure, ratio } from './figures.ts';
import { onEachSize } from './log-databases.ts';
import { endChild, runScript } from './processes.ts';

const MIB = 1_048_576;
/** From this size on, a second more or less of startup does not matter. */
const TARGET_FROM = 100_000;
const MILLION = 1_000_000;

const CASES = [
  { name: 'audit alone', models: ['audit'], isAlone: true },
  { name: 'operations alone', models: ['operations'], isAlone: true },
  { name: 'all models', models: READ_MODELS.map(({ name }) => name), isAlone: false },
] as const;

export const measureProjector = (sizes: readonly number[]): Promise<readonly Figure[]> =>
  onEachSize(sizes, atSize);

/** An event node on the database, as a process of its own. */
export async function startNode(databaseUrl: string): Promise<{ child: ChildProcess; nodeUrl: string }> {
  const child = fork('bench/b4/node-process.ts', [databaseUrl]);
  const [nodeUrl] = (await once(child, 'message')) as [string];
  return { child, nodeUrl };
}

async function atSize(databaseUrl: string, size: number): Promise<Figure[]> {
  const { child, nodeUrl } = await startNode(databaseUrl);
  const measure = async (work: WorkerJob['work']): Promise<Measured> =>
    JSON.parse(
      await runScript('bench/b5/worker.ts', [JSON.stringify({ databaseUrl, nodeUrl, work })]),
    ) as Measured;
  try {
    const grown = await measure({ kind: 'grow', events: size });
    const anchor = await measure({ kind: 'drain' });
    const figures: Figure[] = [];
    for (const one of CASES) {
      const measured = await measure({ kind: 'rebuild', models: one.models });
      if (measured.events !== size)
        throw new Error(`${one.name}: ${String(measured.events)} events were read`);
      figures.push(...figuresOf(size, one, measured, anchor));
    }
    const { sealSeconds } = await measure({ kind: 'seal' });
    const title = `B5 log of ${size.toLocaleString('en')}`;
    return [
      {
        name: `B14 lines, leaves and trees of ${size.toLocaleString('en')} events`,
        value: sealSeconds,
        unit: 's',
        ...(size === MILLION ? { target: { atMost: 15 } } : {}),
      },
      ratio(
        `B14 lines, leaves and trees of ${size.toLocaleString('en')} events ÷ draining them`,
        sealSeconds / anchor.readSeconds,
        'less',
      ),
      { name: `${title}: $all drained, nothing applied`, value: size / anchor.readSeconds, unit: '/s' },
      ...figures,
      { name: `${title}: memory while only draining`, value: anchor.peakBytes / MIB, unit: 'MiB' },
      { name: `${title}: time to fill`, value: grown.totalSeconds, unit: 's' },
    ];
  } finally {
    await endChild(child);
  }
}

function figuresOf(
  size: number,
  { name, isAlone }: (typeof CASES)[number],
  measured: Measured,
  anchor: Measured,
): Figure[] {
  const title = (what: string): string => `B5 log of ${size.toLocaleString('en')}: ${name}, ${what}`;
  const hasTarget = isAlone && size >= TARGET_FROM;
  return [
    {
      name: title('end to end'),
      value: size / measured.readSeconds,
      unit: '/s',
      ...(hasTarget ? { target: { atLeast: 15_000 } } : {}),
    },
    ratio(title('÷ drained'), anchor.readSeconds / measured.readSeconds, 'more'),
    {
      name: title('rebuild'),
      value: measured.totalSeconds,
      unit: 's',
      ...(isAlone && size === MILLION ? { target: { atMost: 80 } } : {}),
    },
    { name: title('memory'), value: measured.peakBytes / MIB, unit: 'MiB' },
  ];
}
