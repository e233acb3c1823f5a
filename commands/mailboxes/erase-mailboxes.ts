/** Erases removed mailboxes once they can no longer be restored. */
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { eraseMailbox, isDueForErasure } from './decide-settings.ts';
import { forgetCredentials } from './store-credentials.ts';
import { mailbox } from './mailbox.ts';

/** Removed mailboxes whose restore period has ended. */
export const listDueErasures = (
  { directory }: Pick<Ports, 'directory'>,
  now: Date,
): readonly MailboxEntry[] =>
  [...directory.state.mailboxes.values()].filter(
    ({ state, eraseAt }) => state === 'removed' && eraseAt !== null && Date.parse(eraseAt) <= now.getTime(),
  );

/**
 * Erases credentials, mirror and content before it appends the event: after a crash in between, the erasure
 * repeats. Returns false when the mailbox was restored or erased meanwhile. Throws `store_unavailable`.
 */
export async function eraseMailboxContent(
  ports: Ports,
  { id, number, orgId }: Pick<MailboxEntry, 'id' | 'number' | 'orgId'>,
): Promise<boolean> {
  const now = ports.clock.now();
  const { state } = await loadAggregate(ports.events, mailbox, id);
  if (!isDueForErasure(state, now)) return false;
  await forgetCredentials(ports, id);
  await ports.mirrorVersions.erase({ id, number });
  await ports.content.eraseMailbox(id);
  const author = systemAuthor(ports, orgId);
  const decide = (current: typeof state) => eraseMailbox(current, now);
  const { appended } = await decideAndAppend(ports, author, mailbox, { id, decide });
  if (!appended) return false;
  await ports.directory.waitFor(appended.position);
  return true;
}
