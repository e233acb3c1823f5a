/** The messages of an answer in a view; those of an answer that comes again are shown as they were. */
import type { Context } from '../../commands/kernel/capability.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { markLasting } from '../../commands/kernel/lasting-items.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import { withFirstContacts } from './first-contacts.ts';
import { type Message, type View, type Viewing, viewOf } from './message-view.ts';
import { showTexts } from './show-texts.ts';

/** What a view depends on beside its messages; of who asks only the folders that may be named. */
interface Shown {
  readonly mailbox: MailboxEntry;
  /** The folder roles of the grant; null = all. */
  readonly roles: string | null;
  readonly view: View;
  readonly items: Message[];
}

/**
 * By the list itself: while a copy does not change it answers with the list it gave before, and a poller would have fifty
 * messages made anew to learn that nothing happened. Any other list, mailbox entry, reach of a grant or view is a miss.
 */
const shownBefore = new WeakMap<readonly FetchedMessage[], Shown>();

/** In the order of `messages`, with the text that was asked for. The list is shared: nobody may change it. */
export async function showMessages(
  context: Pick<Context, 'ports'>,
  plain: Viewing,
  messages: readonly FetchedMessage[],
): Promise<Message[]> {
  const { mailbox, access, view, body } = plain;
  const roles = access.folderRoles?.join() ?? null;
  // In full a message is shown for somebody who decides by it: what came before it is looked up each time. Elsewhere `first_contact` may be
  // as old as the list: another folder gained or lost an older message of that sender since. Then it says "first" where it need not,
  // or remembers a message that is gone; nothing rests on it.
  const mayLast = body === null && view !== 'full';
  const before = mayLast ? shownBefore.get(messages) : undefined;
  // Most lists are shown once: only one that came again is worth keeping more of.
  if (before?.mailbox === mailbox && before.view === view && before.roles === roles) {
    return markLasting(before.items);
  }
  const viewing = await withFirstContacts(context, plain, messages);
  const texts = await showTexts(context.ports.markup, viewing, messages);
  const items = messages.map((message) => viewOf(viewing, message, texts.get(message)));
  // Without a complete index nobody knows yet who wrote first.
  const isKnown = viewing.firstContacts !== undefined || view === 'ids';
  if (mayLast && isKnown) shownBefore.set(messages, { mailbox, roles, view, items });
  return items;
}
