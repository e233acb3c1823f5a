/** The messages of an answer in a view; those of an answer that comes again are shown as they were. */
import type { MailboxEntry } from '../../commands/kernel/directory.ts';
import { markLasting } from '../../commands/kernel/lasting-items.ts';
import type { FetchedMessage } from '../../commands/kernel/mail-port.ts';
import type { ShownText } from './message-body.ts';
import { type Message, type View, type Viewing, viewOf } from './message-view.ts';

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

/** In the order of `messages`, with the texts there are. The list is shared: nobody may change it. */
export function showMessages(
  viewing: Viewing,
  messages: readonly FetchedMessage[],
  texts: ReadonlyMap<FetchedMessage, ShownText>,
): Message[] {
  const { mailbox, access, view, body } = viewing;
  const roles = access.folderRoles?.join() ?? null;
  // In full a message also tells of what came before it, in any folder.
  const isLasting = body === null && view !== 'full';
  const before = isLasting ? shownBefore.get(messages) : undefined;
  // Most lists are shown once: only one that came again is worth keeping more of.
  if (before?.mailbox === mailbox && before.view === view && before.roles === roles) {
    return markLasting(before.items);
  }
  const items = messages.map((message) => viewOf(viewing, message, texts.get(message)));
  if (isLasting) shownBefore.set(messages, { mailbox, roles, view, items });
  return items;
}
