/** Clears up behind drafts: content of discarded ones, expired uploads, drafts of removed mailboxes. */
import { discardOrphans, eraseLeftContent } from '../../commands/drafts/tidy-drafts.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { listUnsentDrafts } from '../../projections/drafts.ts';
import { listLeftContent } from '../content-store/postgres-content-store.ts';
import { repeat } from './repeat.ts';

const LOOK_EVERY_MS = 60_000;
/** Longer than any gateway is down between a discard and its end. */
const LOOK_BACK_MS = 30 * 24 * 3_600_000;
const MOST_AT_ONCE = 100;

/** Looks for what is left, until the signal aborts. */
export async function runDraftTidier(ports: Ports, signal: AbortSignal): Promise<void> {
  const loop = { name: 'draft-tidier', everyMs: LOOK_EVERY_MS, clock: ports.clock, log: ports.log, signal };
  await repeat(loop, async () => {
    const removed = [...ports.directory.state.mailboxes.values()].filter(({ state }) => state === 'removed');
    const removedIds = removed.map(({ id }) => id);
    await discardOrphans(ports, await listUnsentDrafts(ports.sql, removedIds, MOST_AT_ONCE));
    const since = new Date(ports.clock.now().getTime() - LOOK_BACK_MS);
    await eraseLeftContent(ports, await listLeftContent(ports.sql, since, MOST_AT_ONCE));
  });
}
