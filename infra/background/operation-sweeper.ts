/** Settles operations that were cut off, as soon as their runner's lease is gone. */
import type { Ports } from '../../commands/ports/ports.ts';
import { sweepOperations, type Unsettled } from '../../commands/messages/sweep-operations.ts';
import { listUnsettledOperations } from '../../projections/operations.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { endOf, repeat } from './repeat.ts';

const SWEEP_EVERY_MS = 1_000;
const MOST_LISTED = 100;
/** One operation at a time in each, so that a mail server that hangs keeps its own mailbox's waiting. */
const MAILBOXES_AT_ONCE = 8;
/** Then the others have their turn. */
const OF_ONE_MAILBOX = 10;
const END_WITHIN_MS = 10_000;

/** Looks for open operations until the signal aborts; what is under way is brought to its end. */
export async function runOperationSweeper(ports: Ports, signal: AbortSignal): Promise<void> {
  const backoff = new KeyedBackoff(ports.clock, { firstMs: 1_000, mostMs: 15 * 60_000 });
  const underWay = new Map<string, Promise<void>>();
  const loop = {
    name: 'operation-sweeper',
    everyMs: SWEEP_EVERY_MS,
    clock: ports.clock,
    log: ports.log,
    signal,
  };
  const sweep = async (mailboxId: string, open: readonly Unsettled[]): Promise<void> => {
    const { settled, left } = await sweepOperations(ports, open);
    for (const id of settled) backoff.clear(id);
    for (const id of left) backoff.failed(id);
    underWay.delete(mailboxId);
  };
  await repeat(loop, async () => {
    const open = await listUnsettledOperations(ports.sql, {
      limit: MOST_LISTED,
      except: backoff.waiting(),
      exceptMailboxes: [...underWay.keys()],
    });
    const byMailbox = [...Map.groupBy(open, ({ mailboxId }) => mailboxId)];
    for (const [mailboxId, operations] of byMailbox.slice(0, MAILBOXES_AT_ONCE - underWay.size))
      underWay.set(mailboxId, sweep(mailboxId, operations.slice(0, OF_ONE_MAILBOX)));
  });
  await endOf([...underWay.values()], END_WITHIN_MS, ports.clock);
}
