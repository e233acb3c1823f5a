/** Erases what is left of mailboxes whose time to be restored is over. */
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { eraseMailbox, isDueForErasure } from './decide-settings.ts';
import { forgetCredentials } from './store-credentials.ts';
import { mailbox } from './mailbox.ts';

/**
 * Erases credentials and index first and notes it then, so that a crash in between erases again and never too little. Returns the
 * ids of the mailboxes erased now. Throws `store_unavailable`.
 */
export async function eraseDueMailboxes(ports: Ports): Promise<readonly string[]> {
  const now = ports.clock.now();
  const candidates = [...ports.directory.state.mailboxes.values()].filter(
    ({ state, eraseAt }) => state === 'removed' && eraseAt !== null && Date.parse(eraseAt) <= now.getTime(),
  );
  const erased: string[] = [];
  for (const { id, number, orgId } of candidates) {
    const { state } = await loadAggregate(ports.events, mailbox, id);
    if (!isDueForErasure(state, now)) continue;
    await forgetCredentials(ports, id);
    await ports.mirrorVersions.erase({ id, number });
    await ports.content.eraseMailbox(id);
    const author = systemAuthor(ports, orgId);
    const decide = (current: typeof state) => eraseMailbox(current, now);
    const { appended } = await decideAndAppend(ports, author, mailbox, { id, decide });
    if (!appended) continue;
    await ports.directory.waitFor(appended.position);
    erased.push(id);
  }
  return erased;
}
