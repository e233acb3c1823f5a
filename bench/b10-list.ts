/** B10: the newest 50 messages of a large mailbox over REST, 16 requests in flight, and memory meanwhile. */
import { readFileSync } from 'node:fs';
import type { Figure } from './figures.ts';
import { onLargeMailboxes } from './large-mailbox.ts';
import { type DemoFacts, runScript } from './processes.ts';

interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const SHAPE = { inFlight: 16, warmUpMs: 3_000, measureMs: 8_000 };
const LOOK_EVERY_MS = 250;

/** Memory of the serving process, without its Postgres, in MiB; NaN where the system does not report it. */
function residentMiB(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
    return Number(kib) / 1_024;
  } catch {
    return Number.NaN;
  }
}

export const measureList = (
  facts: DemoFacts,
  sizes: readonly number[],
  gatewayPid: number,
): Promise<readonly Figure[]> =>
  onLargeMailboxes(facts, sizes, async ({ id, size }) => {
    let most = residentMiB(gatewayPid);
    const looking = setInterval(() => {
      most = Math.max(most, residentMiB(gatewayPid));
    }, LOOK_EVERY_MS);
    const url = `${facts.base_url}/api/v1/mailboxes/${id}/messages?folder=inbox&limit=50`;
    const job = JSON.stringify({ ...SHAPE, url, token: facts.rest_token, items: Math.min(50, size) });
    try {
      const load = JSON.parse(await runScript('bench/b10/load.ts', [job])) as Load;
      const of = `of ${String(size)}`;
      return [
        { name: `B10 lists/s ${of}`, value: load.perSecond, unit: '/s', target: { atLeast: 1_000 } },
        { name: `B10 p50 ${of}`, value: load.p50Ms, unit: 'ms' },
        { name: `B10 p99 ${of}`, value: load.p99Ms, unit: 'ms' },
        { name: `B10 gateway RSS ${of}`, value: most, unit: 'MiB', target: { atMost: 250 } },
      ];
    } finally {
      clearInterval(looking);
    }
  });
