/**
 * B13: one gateway with one mailbox that nobody asks anything: the statements it sends to Postgres, how often it wakes up, and its
 * CPU. Linux only: wake-ups and CPU time are read from `/proc`.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../infra/platform/reserved-port.ts';
import { secondsOf } from './cpu-time.ts';
import type { Figure } from './figures.ts';
import { type DemoFacts, endChild, startDemo } from './processes.ts';

/** Rights are kept ready for a minute after somebody asked. */
const SETTLE_MS = 70_000;
const LASTS_MS = 30_000;
const LOOK_EVERY_MS = 10;
const ASK_AGAIN_MS = 1_000;
const COUNTER = '--import=./bench/b13/count-statements.ts';

interface Used {
  readonly statements: number;
  readonly wakeUps: number;
  readonly cpu: number;
}

export async function measureIdleGateway(): Promise<readonly Figure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-idle-'));
  // Under root, Postgres runs as another account, which must be able to enter.
  chmodSync(dataDir, 0o755);
  try {
    const { child, facts } = await startDemo(dataDir, await freePort(), [COUNTER]);
    try {
      await withdrawApproval(facts);
      await sleep(SETTLE_MS);
      const before = await usedBy(child.pid ?? 0, dataDir);
      await sleep(LASTS_MS);
      return figuresOf(before, await usedBy(child.pid ?? 0, dataDir));
    } finally {
      await endChild(child);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The demo has an approval that waits, so that something could be due. */
async function withdrawApproval({ base_url: url, rest_token: token }: DemoFacts): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const approvals = `${url}/api/v1/approvals`;
  for (;;) {
    const listed = await fetch(approvals, { headers });
    const [first] = ((await listed.json()) as { items: readonly { id: string }[] }).items;
    const path = `${approvals}/${first?.id ?? ''}/cancel_approval`;
    if (first !== undefined && (await fetch(path, { method: 'POST', headers, body: '{}' })).ok) return;
    await sleep(ASK_AGAIN_MS);
  }
}

function figuresOf(before: Used, after: Used): readonly Figure[] {
  const perSecond = (what: keyof Used): number => ((after[what] - before[what]) / LASTS_MS) * 1_000;
  const name = (text: string): string => `B13 an idle gateway with one mailbox: ${text}`;
  return [
    { name: name('statements'), value: perSecond('statements'), unit: '/s', target: { atMost: 4 } },
    { name: name('wake-ups'), value: perSecond('wakeUps'), unit: '/s', target: { atMost: 20 } },
    { name: name('CPU'), value: perSecond('cpu') * 100, unit: '% of a core' },
  ];
}

async function usedBy(pid: number, dataDir: string): Promise<Used> {
  const statements = await statementsOf(pid, dataDir);
  return { statements, wakeUps: wakeUpsOf(pid), cpu: secondsOf(pid) };
}

/** As `count-statements.ts` says. */
async function statementsOf(pid: number, dataDir: string): Promise<number> {
  const file = join(dataDir, 'statements');
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(LOOK_EVERY_MS);
  return Number(readFileSync(file, 'utf8'));
}

/** How often a thread of the process went to sleep. */
function wakeUpsOf(pid: number): number {
  const counts = readdirSync(`/proc/${String(pid)}/task`).map((thread) => {
    const status = readFileSync(`/proc/${String(pid)}/task/${thread}/status`, 'utf8');
    return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}
