/**
 * `npm run bench [-- b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12] [--sizes=1000,10000] [--record]`: bounded, loopback
 * only, ratios within one run. Without names, the benchmarks that take about a minute run; b4 and b5 go up to
 * a log of a million events, b2 and b10 to a mailbox of 100,000 messages, and take some minutes each.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureMcpCall } from './b1-mcp-call.ts';
import { measureList } from './b10-list.ts';
import { measureApproval } from './b11-approval.ts';
import { measureOpenApprovals } from './b12-open-approvals.ts';
import { measureQuery } from './b2-query.ts';
import { measureArchive } from './b3-archive.ts';
import { measureWebhooks } from './b6-webhooks.ts';
import { measureAttachments } from './b8-attachments.ts';
import { measureIdle } from './b7-idle.ts';
import { measureExport } from './b9-export.ts';
import { measureVerifier } from './b9-verify.ts';
import { measureEventStore } from './b4-event-store.ts';
import { measureProjector } from './b5-projector.ts';
import { onDovecot } from './dovecot-mailbox.ts';
import { type Figure, report } from './figures.ts';
import { type DemoFacts, endChild, startDemo } from './processes.ts';

const PORT = 38_080;
const USUAL = ['b1', 'b3'];
const SIZES = [1_000, 10_000, 100_000, 1_000_000];

const IDLE_MAILBOXES = 1_000;
const MAILBOX_SIZES = [1_000, 10_000, 100_000];

type OnDemo = (
  facts: DemoFacts,
  demo: { readonly pid: number; readonly dataDir: string; readonly mailboxSizes: readonly number[] },
) => Promise<readonly Figure[]>;
type AtSizes = (sizes: readonly number[]) => Promise<readonly Figure[]>;

const ON_DEMO: ReadonlyMap<string, OnDemo> = new Map<string, OnDemo>([
  ['b1', measureMcpCall],
  ['b2', (facts, { mailboxSizes }) => measureQuery(facts, mailboxSizes)],
  ['b3', (facts) => onDovecot(facts, measureArchive)],
  ['b6', measureWebhooks],
  ['b8', (facts, { pid }) => onDovecot(facts, (on) => measureAttachments(on, pid))],
  ['b10', (facts, { mailboxSizes, pid }) => measureList(facts, mailboxSizes, pid)],
  ['b11', (facts) => onDovecot(facts, measureApproval)],
  ['b12', (facts) => onDovecot(facts, measureOpenApprovals)],
]);
const AT_SIZES: ReadonlyMap<string, AtSizes> = new Map([
  ['b4', measureEventStore],
  ['b5', measureProjector],
  ['b7', async () => await measureIdle(given?.[0] ?? IDLE_MAILBOXES)],
  ['b9', async (sizes) => [...(await measureVerifier(sizes)), ...(await measureExport(sizes))]],
]);

async function onDemo(measures: readonly OnDemo[]): Promise<readonly Figure[]> {
  if (measures.length === 0) return [];
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  // Under root, Postgres runs as another account, which must be able to enter.
  chmodSync(dataDir, 0o755);
  const demo = await startDemo(dataDir, PORT);
  try {
    const figures: Figure[] = [];
    const running = { pid: demo.child.pid ?? 0, dataDir, mailboxSizes: given ?? MAILBOX_SIZES };
    for (const measure of measures) figures.push(...(await measure(demo.facts, running)));
    return figures;
  } finally {
    await endChild(demo.child);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const args = process.argv.slice(2);
const asked = args.filter((argument) => !argument.startsWith('--'));
const names = asked.length > 0 ? asked : USUAL;
const unknown = names.filter((name) => !ON_DEMO.has(name) && !AT_SIZES.has(name));
if (unknown.length > 0) throw new Error(`There is no benchmark called ${unknown.join(', ')}.`);
const given = args
  .find((argument) => argument.startsWith('--sizes='))
  ?.slice('--sizes='.length)
  .split(',')
  .map((size) => Number(size.replace(/k$/, '000')));

const figures = [...(await onDemo(names.flatMap((name) => ON_DEMO.get(name) ?? [])))];
for (const measure of names.flatMap((name) => AT_SIZES.get(name) ?? []))
  figures.push(...(await measure(given ?? SIZES)));
report(figures, args.includes('--record'));
