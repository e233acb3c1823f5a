/**
 * Runs benchmarks one after the other. Each has a gateway that nothing was asked of before, or shares it with
 * those on the same mailboxes.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../infra/platform/reserved-port.ts';
import type { Result } from './baseline.ts';
import { idleCpu } from './beside-raw.ts';
import type { Bench, Stage } from './benches.ts';
import type { Figure } from './figures.ts';
import { withLargeMailboxes } from './large-mailbox.ts';
import { onMailSite } from './mail-site.ts';
import { endChild, startDemo } from './processes.ts';

/** Says what is done, and how long it took. */
type Say = (line: string) => void;

/** `given`: sizes instead of the usual ones. A benchmark that fails does not keep the others from running. */
export async function runBenches(
  benches: readonly Bench[],
  given: readonly number[] | null,
  say: Say,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const group of groupsOf(benches)) results.push(...(await runGroup(group, given, say)));
  return results;
}

type Group = readonly Bench[];

/** Those that share what they run on; every other one is a group of its own. */
export const groupsOf = (benches: readonly Bench[]): readonly Group[] => [
  ...Map.groupBy(benches, ({ on, name }) =>
    on === 'large mailboxes' || on === 'mail site' ? on : name,
  ).values(),
];

type Measure = (bench: Bench) => Promise<readonly Figure[]>;

async function runGroup(group: Group, given: readonly number[] | null, say: Say): Promise<readonly Result[]> {
  const results: Result[] = [];
  const each = async (measure: Measure): Promise<void> => {
    for (const bench of group) results.push(await resultOf(bench, measure, say));
  };
  const begin = performance.now();
  try {
    await withStage(group, given, each);
  } catch (error) {
    // What they run on did not start, or did not end.
    const failure = String(error);
    const ran = new Set(results.map(({ bench }) => bench));
    for (const { name } of group) if (!ran.has(name)) results.push({ bench: name, figures: [], failure });
    say(`${group.map(({ name }) => name).join(', ')}: ${failure}`);
    process.exitCode = 1;
  }
  if (group.length > 1)
    say(`${group.map(({ name }) => name).join(', ')}, with what they share: ${seconds(begin)}`);
  return results;
}

const seconds = (begin: number): string => `${((performance.now() - begin) / 1_000).toFixed(0)} s`;

async function resultOf(bench: Bench, measure: Measure, say: Say): Promise<Result> {
  const begin = performance.now();
  try {
    const figures = await measure(bench);
    say(`${bench.name}: ${seconds(begin)}`);
    return { bench: bench.name, figures };
  } catch (error) {
    const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(`${bench.name} failed after ${seconds(begin)}: ${failure}`);
    return { bench: bench.name, figures: [], failure: String(error) };
  }
}

/** Sets up what the group runs on, and calls `each` with how one of it is measured there. */
async function withStage(
  group: Group,
  given: readonly number[] | null,
  each: (measure: Measure) => Promise<void>,
): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  const sizes = given ?? first.sizes;
  const wrong = (): never => {
    throw new Error('benchmarks on different things are in one group');
  };
  if (first.on === 'nothing') {
    await each((bench) => (bench.on === 'nothing' ? bench.measure(sizes) : wrong()));
    return;
  }
  await onDemo(async (stage) => {
    if (first.on === 'demo')
      await each((bench) => (bench.on === 'demo' ? bench.measure(stage, sizes) : wrong()));
    if (first.on === 'large mailboxes')
      await withLargeMailboxes(stage.facts, sizes, (mailboxes) =>
        each((bench) => (bench.on === 'large mailboxes' ? bench.measure(stage, mailboxes) : wrong())),
      );
    if (first.on === 'mail site')
      await onMailSite(stage.facts, async (site) => {
        const job = { site, gatewayPid: stage.pid, idle: await idleCpu(stage.pid), rounds: sizes[0] ?? 0 };
        await each((bench) => (bench.on === 'mail site' ? bench.measure(job) : wrong()));
      });
  });
}

async function onDemo(work: (stage: Stage) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  // Under root, Postgres runs as another account, which must be able to enter.
  chmodSync(dataDir, 0o755);
  try {
    const demo = await startDemo(dataDir, await freePort());
    try {
      await work({ facts: demo.facts, pid: demo.child.pid ?? 0, dataDir });
    } finally {
      await endChild(demo.child);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
