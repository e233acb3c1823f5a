/** Settles operations that were cut off, as soon as their runner's lease is gone. */
import type { Ports } from '../../commands/kernel/ports.ts';
import { sweepOperations } from '../../commands/operations/sweep-operations.ts';
import { listUnsettledOperations } from '../../projections/operations.ts';
import { Backoff, repeat } from './repeat.ts';

const SWEEP_EVERY_MS = 1_000;
const MOST_AT_ONCE = 100;

/** Looks for open operations until the signal aborts. */
export async function runOperationSweeper(ports: Ports, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(2_000, 15 * 60_000);
  const loop = {
    name: 'operation-sweeper',
    everyMs: SWEEP_EVERY_MS,
    clock: ports.clock,
    log: ports.log,
    signal,
  };
  await repeat(loop, async () => {
    const now = ports.clock.now().getTime();
    const open = await listUnsettledOperations(ports.sql, MOST_AT_ONCE, backoff.waiting(now));
    const { settled, left } = await sweepOperations(ports, open);
    for (const id of settled) backoff.clear(id);
    for (const id of left) backoff.failed(id, now);
  });
}
