/** Keeps the copies of drafts in Drafts folders: a little later than each change, so that quick edits make one copy. */
import { keepDraftCopy } from '../../commands/drafts/keep-draft-copy.ts';
import { holdLease } from '../../commands/kernel/hold-lease.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { createDraftCopies, listCopyWork } from '../content-store/draft-copies.ts';
import { KeyedBackoff } from '../concurrency/backoff.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 1_000;
/** Nobody edits a draft for so long before somebody else may see it. */
const QUIET_MS = 2_000;
/** Best effort: a mailbox that cannot be reached for longer keeps the copies it has. */
const GIVE_UP_MS = 24 * 3_600_000;
const MOST_AT_ONCE = 20;

/** Looks for drafts whose copy is not what they say, until the signal aborts. */
export async function runDraftCopier(ports: Ports, signal: AbortSignal): Promise<void> {
  const copies = createDraftCopies(ports.sql);
  const backoff = new KeyedBackoff(ports.clock, { firstMs: 5_000, mostMs: 15 * 60_000 });
  const loop = { name: 'draft-copier', everyMs: LOOK_EVERY_MS, clock: ports.clock, log: ports.log, signal };
  const isReachable = (mailboxId: string): boolean => {
    const state = ports.directory.state.mailboxes.get(mailboxId)?.state;
    return state === 'connected' || state === 'syncing' || state === 'degraded';
  };
  await repeat(loop, async () => {
    const now = ports.clock.now().getTime();
    const times = { quietSince: new Date(now - QUIET_MS), since: new Date(now - GIVE_UP_MS) };
    const work = await listCopyWork(ports.sql, times, backoff.waiting(), MOST_AT_ONCE);
    for (const { draftId, mailboxId } of work) {
      if (signal.aborted) return;
      // Also for what was skipped: it must not stand before others in every pass.
      backoff.failed(draftId);
      if (!isReachable(mailboxId)) continue;
      const lease = await holdLease(ports.leases, `draft-copy-${draftId}`);
      if (lease === null) continue;
      try {
        await keepDraftCopy(ports, copies, draftId, lease);
        backoff.clear(draftId);
      } catch (error) {
        ports.log.info('draft copy: not stored in the mailbox', {
          draft_id: draftId,
          error: String(error),
        });
      } finally {
        await lease.release();
      }
    }
  });
}
