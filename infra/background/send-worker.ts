/** Goes on with sends that nobody runs: retries that are due, what was cut off, unknown ones, and copies for Sent. */
import { GatewayError } from '../../commands/values/errors.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { DraftState } from '../../commands/drafts/draft.ts';
import { fileSentCopy } from '../../commands/sending/file-sent-copy.ts';
import { settleSend } from '../../commands/sending/settle-send.ts';
import { type DueSend, listDueSends } from '../../projections/sends.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { endOf, repeat } from './repeat.ts';

const LOOK_EVERY_MS = 500;
const AT_ONCE = 16;
/** Few of them, so that a mail server that hangs keeps its own sends waiting and leaves room for the others. */
const OF_ONE_MAILBOX = 2;
const FIRST_PAUSE_MS = 1_000;
const END_WITHIN_MS = 10_000;
const MOST_PAUSE_MS = 15 * 60_000;

/** Looks for due sends until the signal aborts; what is under way is brought to its end. */
export async function runSendWorker(ports: Ports, signal: AbortSignal): Promise<void> {
  const backoff = new KeyedBackoff(ports.clock, { firstMs: FIRST_PAUSE_MS, mostMs: MOST_PAUSE_MS });
  const underWay = new Map<string, { readonly mailboxId: string; readonly ended: Promise<void> }>();
  const loop = { name: 'send-worker', everyMs: LOOK_EVERY_MS, clock: ports.clock, log: ports.log, signal };
  await repeat(loop, async () => {
    const now = ports.clock.now();
    const except = [...backoff.waiting(), ...underWay.keys()];
    const busy = [...underWay.values()].map(({ mailboxId }) => mailboxId);
    const limit = AT_ONCE - underWay.size;
    const due = await listDueSends(ports.sql, { now, limit, except, ofOneMailbox: OF_ONE_MAILBOX, busy });
    for (const send of due) {
      const { operationId, mailboxId } = send;
      const ended = goOn(ports, send)
        .then((isOver) => {
          if (isOver) backoff.clear(operationId);
          else backoff.failed(operationId);
        })
        .finally(() => underWay.delete(operationId));
      underWay.set(operationId, { mailboxId, ended });
    }
  });
  const works = [...underWay.values()].map(({ ended }) => ended);
  await endOf(works, END_WITHIN_MS, ports.clock);
}

/** Only looking settles it: now and then, and ever more seldom. */
const isLookedFor = ({ status, send }: DraftState): boolean =>
  status === 'send_unknown' || (status === 'sending' && send?.retryAt === null);

/** False when it has to be looked at again after a pause. Never throws. */
async function goOn(ports: Ports, send: DueSend): Promise<boolean> {
  const { operationId, draftId, orgId, lastFiledBy } = send;
  try {
    if (send.phase === 'sent' && send.told)
      return await fileSentCopy(ports, { operationId, orgId, draftId, lastFiledBy });
    if ((await ports.leases.holder(operationId)) !== null) return false;
    const { draft } = await settleSend(ports, { operationId, orgId });
    return draft !== null && !isLookedFor(draft);
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : 'internal_error';
    ports.log.warn('send: retry scheduled', {
      operation_id: operationId,
      code,
      error: String(error),
    });
    return false;
  }
}
