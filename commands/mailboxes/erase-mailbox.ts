/** Erases what the gateway keeps of a removed mailbox, and the key of everything that was sealed for it. The trail stays. */
import { decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { recordKeyErasure } from '../kernel/personal-data.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { eraseMailbox, isDueForErasure } from './decide-settings.ts';
import { mailbox } from './mailbox.ts';
import { forgetCredentials } from './store-credentials.ts';

/** Removed mailboxes whose restore period has ended. */
export const listDueErasures = (
  { directory }: Pick<Ports, 'directory'>,
  now: Date,
): readonly MailboxEntry[] =>
  [...directory.state.mailboxes.values()].filter(
    ({ state, eraseAt }) => state === 'removed' && eraseAt !== null && Date.parse(eraseAt) <= now.getTime(),
  );

/** Erased mailboxes: their entries stay for their numbers. */
export const listErasedMailboxes = ({ directory }: Pick<Ports, 'directory'>): readonly MailboxEntry[] =>
  [...directory.state.mailboxes.values()].filter(
    ({ state, eraseAt }) => state === 'removed' && eraseAt === null,
  );

/**
 * Erases credentials, mirror, content and the key before it appends the event: after a crash in between, the erasure
 * repeats. Returns false when the mailbox was restored or erased meanwhile. Throws `store_unavailable`, `legal_hold`.
 */
export async function eraseMailboxContent(
  ports: Ports,
  { id, number, orgId }: Pick<MailboxEntry, 'id' | 'number' | 'orgId'>,
  startedBy: readonly string[],
): Promise<boolean> {
  const now = ports.clock.now();
  const { state } = await loadAggregate(ports.events, mailbox, id);
  if (!isDueForErasure(state, now)) return false;
  const steps = [
    () => forgetCredentials(ports, id),
    () => ports.mirrorVersions.erase({ id, number }),
    () => ports.content.eraseMailbox(id),
  ];
  // The key is the last to go: once it is gone, all that a hold would keep is gone.
  const isGone = await ports.personal.isErased(id);
  for (const step of isGone ? [] : steps) {
    assertNotHeld(ports.directory, { kind: 'mailbox', mailboxId: id, startedBy });
    await step();
  }
  await eraseMailboxKey(ports, { id, orgId }, startedBy);
  const author = systemAuthor(ports, orgId);
  const decide = (current: typeof state) => eraseMailbox(current, now);
  const { appended } = await decideAndAppend(ports, author, mailbox, { id, decide });
  if (!appended) return false;
  await ports.directory.waitFor(appended.position);
  return true;
}

/**
 * For itself only where the mailbox was erased by a version that kept the key. Changes nothing when it was done before.
 * Throws `store_unavailable`, `legal_hold`.
 */
export async function eraseMailboxKey(
  ports: Ports,
  { id, orgId }: Pick<MailboxEntry, 'id' | 'orgId'>,
  startedBy: readonly string[],
): Promise<void> {
  if (!(await ports.personal.isErased(id))) {
    assertNotHeld(ports.directory, { kind: 'mailbox', mailboxId: id, startedBy });
    await ports.personal.erase(id);
  }
  await recordKeyErasure(ports, systemAuthor(ports, orgId), {
    ownerId: id,
    basis: 'mailbox_erased',
    orgIds: [orgId],
  });
}
