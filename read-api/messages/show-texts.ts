/** Makes the texts of a page readable one by one, so that no request blocks the process for all of them. */
import type { FetchedMessage } from '../../commands/mail/message.ts';
import type { InlineImages, Markup } from '../../commands/ports/markup.ts';
import { placeOf, type Viewing } from './message-view.ts';
import { type ShownText, showText } from './message-body.ts';

/** The shown text by message; no entry where none was requested. */
export async function showTexts(
  markup: Pick<Markup, 'read'>,
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
