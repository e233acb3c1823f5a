/** The messages of an approval as they are in the mailbox now. */
import type { MailboxEntry } from '../../commands/ports/directory.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { FetchedMessage, MessageRef } from '../../commands/mail/message.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { isSameMessage } from '../../commands/messages/actions-manifest.ts';
import type { ActionsManifest } from '../../commands/operations/manifest.ts';
import type { MessageNow } from './render-actions.ts';

/** One fetch, in the order of the manifest. Null when the mail server is unreachable: the preview says so. */
export async function messagesNow(
  { mail, locators, log }: Pick<Ports, 'mail' | 'locators' | 'log'>,
  mailbox: MailboxEntry,
  manifest: ActionsManifest,
): Promise<readonly MessageNow[] | null> {
  const places = manifest.items.map(({ message_id }) => placeOf(mailbox, locators, message_id));
  const known = places.filter((place) => place !== null);
  try {
    const fetched = await mail.withMailbox(mailbox.id, 'interactive', (session) =>
      session.fetch(known, 'envelope', null),
    );
    const found = new Map(known.map((place, at) => [place, fetched[at] ?? null]));
    return manifest.items.map((item, at) => {
      const place = places[at] ?? null;
      return messageNow(manifest.nonce, item, place && (found.get(place) ?? null));
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.warn('approval preview: messages not readable', { mailbox_id: mailbox.id, code: error.code });
    return null;
  }
}

/** Null when the mailbox no longer has the folder. */
function placeOf(mailbox: MailboxEntry, locators: Ports['locators'], messageId: string): MessageRef | null {
  const place = locators.openMessage(messageId);
  const folder = mailbox.folders.find(({ number }) => number === place?.folderNumber);
  if (place?.mailboxNumber !== mailbox.number || !folder) return null;
  return { folder, uidValidity: place.uidValidity, uid: place.uid };
}

function messageNow(
  nonce: string,
  item: ActionsManifest['items'][number],
  found: FetchedMessage | null,
): MessageNow {
  if (found === null) return { state: 'gone' };
  const { from, subject, sentAt } = found;
  return { state: isSameMessage(nonce, item, found) ? 'same' : 'replaced', from, subject, sentAt };
}
