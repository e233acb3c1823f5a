/** Adds to what is shown in full whether a sender wrote for the first time. */
import type { Context } from '../../commands/kernel/capability.ts';
import { allSelectable } from '../../commands/kernel/folders.ts';
import type { FetchedMessage } from '../../commands/kernel/mail-port.ts';
import type { Viewing } from './message-view.ts';

/** Only the view `full` shows it, and only while the index is complete. Throws `store_unavailable`. */
export async function withFirstContacts(
  { ports }: Context,
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<Viewing> {
  if (viewing.view !== 'full' || messages.length === 0) return viewing;
  const { mailbox } = viewing;
  const folders = {
    mailboxNumber: mailbox.number,
    folderNumbers: allSelectable(mailbox).map(({ number }) => number),
  };
  const firstContacts = await ports.mailCopies.firstContacts(folders, messages);
  return firstContacts === null ? viewing : { ...viewing, firstContacts };
}
