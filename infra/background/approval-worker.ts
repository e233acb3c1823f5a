/** Does with checks what is nobody's request: commits those that are due, ends those whose time is over. */
import { commitDue, endOverdue } from '../../commands/approvals/commit-due.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { systemAuthor } from '../../commands/kernel/system-author.ts';
import { listDueCommits, listOverdueApprovals, type OpenApproval } from '../../projections/open-approvals.ts';
import { Lane } from './lane.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 500;
const AT_ONCE = 16;
/** Few of them, so that a mail server that hangs keeps its own commits waiting and leaves room for the others. */
const OF_ONE_MAILBOX = 2;
const END_WITHIN_MS = 10_000;

/** Looks for checks that are due until the signal aborts; what is under way is brought to its end. */
export async function runApprovalWorker(ports: Ports, signal: AbortSignal): Promise<void> {
  const { clock, log } = ports;
  const commits = new Lane({ atOnce: AT_ONCE, clock, log });
  // An end asks no mail server, so no commit keeps it waiting.
  const ends = new Lane({ atOnce: AT_ONCE, clock, log });
  await repeat({ name: 'approval-worker', everyMs: LOOK_EVERY_MS, clock, log, signal }, async () => {
    await beginCommits(ports, commits);
    await beginEnds(ports, ends);
  });
  await Promise.all([commits.end(END_WITHIN_MS), ends.end(END_WITHIN_MS)]);
}

async function beginCommits(ports: Ports, lane: Lane): Promise<void> {
  if (lane.room <= 0) return;
  const due = await listDueCommits(ports.sql, {
    ...openTo(ports, lane),
    ofOneMailbox: OF_ONE_MAILBOX,
    busy: lane.busy,
  });
  for (const check of due) lane.begin(check, () => commit(ports, check));
}

async function beginEnds(ports: Ports, lane: Lane): Promise<void> {
  if (lane.room <= 0) return;
  const overdue = await listOverdueApprovals(ports.sql, openTo(ports, lane));
  for (const check of overdue) lane.begin(check, () => end(ports, check));
}

const openTo = ({ clock }: Ports, lane: Lane) => ({
  now: clock.now(),
  limit: lane.room,
  except: lane.taken,
});

const commit = (ports: Ports, { operationId, orgId }: OpenApproval): Promise<boolean> =>
  commitDue(ports, { operationId, author: systemAuthor(ports, orgId), notePosition: () => undefined });

async function end(ports: Ports, check: OpenApproval): Promise<boolean> {
  await endOverdue(ports, check);
  return true;
}
