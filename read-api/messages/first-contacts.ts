/** Adds to shown messages whether they are their sender's first. */
import type { Context } from '../../commands/kernel/capability.ts';
import { allSelectable } from '../../commands/kernel/folders.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { Viewing } from './message-view.ts';

/** Every view with text shows it, while the mirror is complete. Throws `store_unavailable`. */
export async function withFirstContacts(
  { ports }: Pick<Context, 'ports'>,
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<Viewing> {
  if (viewing.view === 'ids' || viewing.view === 'count' || messages.length === 0) return viewing;
  const { mailbox } = viewing;
  const folders = {
    mailboxNumber: mailbox.number,
    folderNumbers: allSelectable(mailbox).map(({ number }) => number),
  };
  const firstContacts = await ports.mirrorVersions.firstContacts(folders, messages);
  return firstContacts === null ? viewing : { ...viewing, firstContacts };
}
