/**
 * B9: lines of a trail that are exported in a second, the CPU that they cost, and how much the memory of the
 * process grows meanwhile.
 */
import type { MeasuredExport } from './b9/export-worker.ts';
import { startNode } from './b5-projector.ts';
import { type Figure, ratio } from './figures.ts';
import { onEachSize } from './log-databases.ts';
import { endChild, runScript, startOptions } from './processes.ts';

const MIB = 1_048_576;
/** From this size on, the start of the process does not matter. */
const TARGET_FROM = 10_000;
const MODES = ['complete', 'skeleton', 'sparse'] as const;

export const measureExport = (sizes: readonly number[]): Promise<readonly Figure[]> =>
  onEachSize(sizes, async (databaseUrl, size) => {
    const { child, nodeUrl } = await startNode(databaseUrl);
    try {
      for (const work of [
        { kind: 'grow', events: size },
        { kind: 'rebuild', models: ['audit'] },
      ])
        await runScript('bench/b5/worker.ts', [JSON.stringify({ databaseUrl, nodeUrl, work })]);
    } finally {
      await endChild(child);
    }
    const figures: Figure[] = [];
    for (const mode of MODES)
      figures.push(
        ...figuresOf(
          mode,
          JSON.parse(await runAsGateway('bench/b9/export-worker.ts', [databaseUrl, mode])) as MeasuredExport,
        ),
      );
    return figures;
  });

/** With the options with which the gateway starts. */
function runAsGateway(file: string, args: readonly string[]): Promise<string> {
  const [first, ...options] = [...startOptions(), file];
  return runScript(first, [...options, ...args]);
}

function figuresOf(
  mode: string,
  { lines, seconds, cpuSeconds, grownBytes, bareSeconds }: MeasuredExport,
): readonly Figure[] {
  const cpuOf = (ofSeconds: number) => ({ value: (ofSeconds * 1_000_000) / lines, unit: 'ms/1,000 lines' });
  const name = `B9 export of ${lines.toLocaleString('en')} lines, ${mode}`;
  const rate = { name, value: lines / seconds, unit: 'lines/s' };
  return [
    lines < TARGET_FROM ? rate : { ...rate, target: { atLeast: 20_000 } },
    { name: `${name}, rows read bare`, value: lines / bareSeconds, unit: 'lines/s' },
    ratio(`${name} ÷ bare`, bareSeconds / seconds, 'more'),
    { name: `${name}, CPU of the gateway`, ...cpuOf(cpuSeconds.gateway) },
    { name: `${name}, CPU of Postgres`, ...cpuOf(cpuSeconds.postgres) },
    { name: `${name}, memory`, value: grownBytes / MIB, unit: 'MiB', target: { atMost: 64 } },
  ];
}
