/** Shows messages with what is looked up for all of them: first contacts, and their texts. */
import { allSelectable } from '../../commands/kernel/folders.ts';
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { FirstContacts, MailQuery } from '../../commands/mail/query.ts';
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import type { InlineImages } from '../../commands/ports/markup.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { showText, type ShownText } from './message-body.ts';
import { type Message, placeOf, type View, type Viewing, viewOf } from './message-view.ts';

interface ShownMessages {
  /** One of the messages, as the caller sees it. */
  readonly show: (message: FetchedMessage) => Message;
  /** False while the mirror is incomplete: first contacts are then unknown. */
  readonly isKnown: boolean;
}

/** `known`: the first contacts, where the query already told them. Throws `store_unavailable`. */
export async function showMessages(
  ports: Pick<Ports, 'mirrorVersions' | 'markup'>,
  plain: Viewing,
  messages: readonly FetchedMessage[],
  known?: FirstContacts | null,
): Promise<ShownMessages> {
  const hasContacts = showsContacts(plain.view) && messages.length > 0;
  const firstContacts = hasContacts ? await firstContactsOf(ports, plain, messages, known) : null;
  const viewing = firstContacts === null ? plain : { ...plain, firstContacts };
  const texts = await textsOf(ports, plain, messages);
  return {
    show: (message) => viewOf(viewing, message, texts.get(message)),
    isKnown: firstContacts !== null || !hasContacts,
  };
}

const showsContacts = (view: View): boolean => view !== 'ids' && view !== 'count';

/** What a query for this view asks about first contacts. */
export const contactsFor = ({ mailbox, view }: Viewing): Pick<MailQuery, 'contactsIn'> =>
  showsContacts(view) ? { contactsIn: contactFolders(mailbox) } : {};

const contactFolders = (mailbox: MailboxEntry): readonly number[] =>
  allSelectable(mailbox).map(({ number }) => number);

async function firstContactsOf(
  { mirrorVersions }: Pick<Ports, 'mirrorVersions'>,
  { mailbox }: Viewing,
  messages: readonly FetchedMessage[],
  known: FirstContacts | null | undefined,
): Promise<FirstContacts | null> {
  if (known !== undefined) return known;
  const folders = { mailboxNumber: mailbox.number, folderNumbers: contactFolders(mailbox) };
  return await mirrorVersions.firstContacts(folders, messages);
}

/** The shown text by message, if requested. One by one, so that no request blocks the process for all of them. */
async function textsOf(
  { markup }: Pick<Ports, 'markup'>,
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<ReadonlyMap<FetchedMessage, ShownText>> {
  const { body } = viewing;
  const texts = new Map<FetchedMessage, ShownText>();
  if (body === null) return texts;
  for (const message of messages) {
    if (message.text === undefined) continue;
    texts.set(message, await showText(markup, message.text, body.format, imagesOf(viewing, message)));
  }
  return texts;
}

/** A Content-ID names the first part that has it. */
const imagesOf = ({ mailbox, locators }: Viewing, { ref, attachments }: FetchedMessage): InlineImages =>
  Object.fromEntries(
    attachments
      .toReversed()
      .flatMap(({ contentId, part }) =>
        contentId === null ? [] : [[contentId, locators.attachment(placeOf(mailbox, ref), part)]],
      ),
  );
