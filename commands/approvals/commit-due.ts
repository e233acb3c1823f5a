/** What the gateway does with checks by itself: it commits those whose moment has come, and writes down other ends. */
import type { Author } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../kernel/errors.ts';
import type { Ports } from '../kernel/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import type { Commit } from '../operations/approvals/commit-check.ts';
import { decideNow } from '../operations/approvals/decide-now.ts';
import { expireCheck, invalidateCheck } from '../operations/approvals/end-check.ts';
import { releaseDraftOf } from '../drafts/sending/leave-review.ts';
import { commitOf } from './commit-of.ts';

/** How long somebody waits for a commit that the gateway makes by itself, milliseconds; the commit goes on. */
const WAIT_MS = 20_000;

/** Commits it. What keeps it from running is in its stream by then, and logged here; only a defect is thrown. */
export async function commitDue(
  ports: Ports,
  { operationId, author, notePosition }: Pick<Commit, 'operationId' | 'author' | 'notePosition'>,
): Promise<void> {
  const { log, clock } = ports;
  const work = commitOf(ports, { operationId, author, by: 'schedule', notePosition }).catch(
    (error: unknown) => {
      if (!(error instanceof GatewayError)) throw error;
      log.info('a commit by the gateway itself did not run', { operation_id: operationId, code: error.code });
    },
  );
  const timer = new AbortController();
  try {
    await Promise.race([work, clock.sleep(WAIT_MS, timer.signal)]);
  } finally {
    timer.abort();
  }
}

/** Ends a check whose time passed, or whose mailbox is gone. */
export async function endOverdue(
  ports: Ports,
  { operationId, orgId }: { readonly operationId: string; readonly orgId: string | null },
): Promise<void> {
  const author: Author = systemAuthor(ports, orgId);
  const { mailboxes } = ports.directory.state;
  const { state } = await decideNow(ports, author, operationId, (now, at) => {
    const isGone = now.mailboxId === null || (mailboxes.get(now.mailboxId)?.state ?? 'removed') === 'removed';
    const expired = expireCheck(now, at);
    return expired.length === 0 && isGone
      ? invalidateCheck(now, { reason: 'mailbox_removed', now: at })
      : expired;
  });
  await releaseDraftOf(ports, author, operationId, state);
}
