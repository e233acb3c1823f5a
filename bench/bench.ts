/**
 * `npm run bench [-- b1 b3 b4 b5] [-- --record]`: bounded, loopback only, ratios inside one run. Without names those that
 * take a minute each run; those over a log of a million events are asked for by name.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureMcpCall } from './b1-mcp-call.ts';
import { measureArchive } from './b3-archive.ts';
import { type Figure, report } from './figures.ts';
import { type DemoFacts, endChild, startDemo } from './processes.ts';

const PORT = 38_080;
const USUAL = ['b1', 'b3'];

type Measure = (facts: DemoFacts) => Promise<readonly Figure[]>;

/** Benchmarks of a running demo, by name. */
const ON_DEMO: ReadonlyMap<string, Measure> = new Map([
  ['b1', measureMcpCall],
  ['b3', measureArchive],
]);

async function onDemo(measures: readonly Measure[]): Promise<readonly Figure[]> {
  if (measures.length === 0) return [];
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  // Run by root, Dovecot and Postgres work as another account, who must be able to enter.
  chmodSync(dataDir, 0o755);
  const demo = await startDemo(dataDir, PORT);
  try {
    const figures: Figure[] = [];
    for (const measure of measures) figures.push(...(await measure(demo.facts)));
    return figures;
  } finally {
    await endChild(demo.child);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const names = asked.length > 0 ? asked : USUAL;
const unknown = names.filter((name) => !ON_DEMO.has(name));
if (unknown.length > 0) throw new Error(`There is no benchmark called ${unknown.join(', ')}.`);
const figures = await onDemo(names.flatMap((name) => ON_DEMO.get(name) ?? []));
report(figures, process.argv.includes('--record'));
