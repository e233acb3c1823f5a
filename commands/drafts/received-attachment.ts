/**
 * Attachments of received mail in a draft: described when they are named, read when the message is composed.
 */
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { MessageRef, PartDescription } from '../mail/message.ts';
import type { Locators, Ports } from '../ports/ports.ts';
import { ReceivedPart } from '../kernel/received-part.ts';

export interface ReceivedPlace {
  readonly ref: MessageRef;
  readonly part: number;
}

/**
 * The place of an `att_` id in this mailbox. Throws `not_found` for forged ids and for ids of other
 * mailboxes.
 */
export function attachmentPlace(mailbox: MailboxEntry, locators: Locators, id: string): ReceivedPlace {
  const opened = locators.openAttachment(id);
  const folder = mailbox.folders.find(({ number }) => number === opened?.place.folderNumber);
  if (opened?.place.mailboxNumber !== mailbox.number || !folder) throw notFound('attachment');
  const { uidValidity, uid } = opened.place;
  return { ref: { folder, uidValidity, uid }, part: opened.part };
}

/** Throws `message_stale` when the message is no longer at its place. */
export async function describeReceived(
  { mail, locators }: Pick<DraftPorts, 'mail' | 'locators'>,
  mailbox: MailboxEntry,
  id: string,
): Promise<PartDescription> {
  const { ref, part } = attachmentPlace(mailbox, locators, id);
  const found = await mail.withMailbox(mailbox.id, 'interactive', (session) =>
    session.describePart(ref, part),
  );
  if (found !== null) return found;
  throw new GatewayError('message_stale', 'The message of this attachment moved or went away.', {
    details: { attachment_id: id },
  });
}

/** Yields the decoded bytes. Throws like `describeReceived`, also in the middle. */
export async function* receivedBytes(
  ports: Pick<DraftPorts, 'mail' | 'locators'>,
  mailbox: MailboxEntry,
  id: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { ref } = attachmentPlace(mailbox, ports.locators, id);
  const description = await describeReceived(ports, mailbox, id);
  yield* new ReceivedPart(description).read({ mail: ports.mail, mailboxId: mailbox.id, ref }, 0);
}

/** The ports that drafts use. */
export type DraftPorts = Pick<
  Ports,
  'clock' | 'ids' | 'events' | 'personal' | 'content' | 'composer' | 'directory' | 'locators' | 'mail' | 'log'
>;
