/** The texts of a page, made readable one after the other so that no request holds the process for all of them. */
import type { FetchedMessage } from '../../commands/kernel/mail-port.ts';
import { placeOf, type Viewing } from './message-view.ts';
import { type ShownText, showText } from './message-body.ts';

/** What is shown of each message's text, by message; without an entry where none was asked for. */
export async function showTexts(
  viewing: Viewing,
  messages: readonly FetchedMessage[],
): Promise<ReadonlyMap<FetchedMessage, ShownText>> {
  const { body, mailbox, locators } = viewing;
  const texts = new Map<FetchedMessage, ShownText>();
  if (body === null) return texts;
  for (const message of messages) {
    if (message.text === undefined) continue;
    const attachmentId = (contentId: string): string | null => {
      const attachment = message.attachments.find((each) => each.contentId === contentId);
      return attachment ? locators.attachment(placeOf(mailbox, message.ref), attachment.part) : null;
    };
    texts.set(message, await showText(message.text, body.format, attachmentId));
  }
  return texts;
}
