/** Does with checks what is nobody's request: commits those that are due, ends those whose time or mailbox is gone. */
import { commitDue, endOverdue } from '../../commands/approvals/commit-due.ts';
import type { Ports } from '../../commands/kernel/ports.ts';
import { systemAuthor } from '../../commands/kernel/system-author.ts';
import {
  listDueCommits,
  listOpenApprovalsOn,
  listOverdueApprovals,
  type OpenApproval,
} from '../../projections/open-approvals.ts';
import { Backoff, endOf, repeat } from './repeat.ts';

const LOOK_EVERY_MS = 500;
const AT_ONCE = 16;
const FIRST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 5 * 60_000;
const END_WITHIN_MS = 10_000;

/** Looks for checks that are due until the signal aborts; what is under way is brought to its end. */
export async function runApprovalWorker(ports: Ports, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(FIRST_PAUSE_MS, MOST_PAUSE_MS);
  const underWay = new Map<string, Promise<void>>();
  const { clock, log, sql } = ports;
  const begin = (
    check: OpenApproval,
    work: (ports: Ports, check: OpenApproval) => Promise<boolean>,
  ): void => {
    const { operationId } = check;
    if (underWay.has(operationId)) return;
    const ended = work(ports, check)
      .catch((error: unknown) => {
        log.warn('a check could not be gone on with yet', {
          operation_id: operationId,
          error: String(error),
        });
        return false;
      })
      .then((isOver) => {
        if (isOver) backoff.clear(operationId);
        else backoff.failed(operationId, clock.now().getTime());
        underWay.delete(operationId);
      });
    underWay.set(operationId, ended);
  };
  await repeat({ name: 'approval-worker', everyMs: LOOK_EVERY_MS, clock, log, signal }, async () => {
    const now = clock.now();
    const limit = AT_ONCE - underWay.size;
    if (limit <= 0) return;
    const query = { now, limit, except: [...backoff.waiting(now.getTime()), ...underWay.keys()] };
    for (const check of await listDueCommits(sql, query)) begin(check, commit);
    for (const check of await listOverdueApprovals(sql, query)) begin(check, end);
    const removed = [...ports.directory.state.mailboxes.values()].flatMap(({ id, state }) =>
      state === 'removed' ? [id] : [],
    );
    if (removed.length === 0) return;
    for (const check of await listOpenApprovalsOn(sql, removed, query)) begin(check, end);
  });
  await endOf([...underWay.values()], END_WITHIN_MS, clock);
}

const commit = (ports: Ports, { operationId, orgId }: OpenApproval): Promise<boolean> =>
  commitDue(ports, { operationId, author: systemAuthor(ports, orgId), notePosition: () => undefined });

async function end(ports: Ports, check: OpenApproval): Promise<boolean> {
  await endOverdue(ports, check);
  return true;
}
