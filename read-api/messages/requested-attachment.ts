/** The attachment a caller names: its part of the message, readable from any offset. */
import type { Context } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import type { PartDescription } from '../../commands/mail/message.ts';
import { mailboxOf } from './read-messages.ts';
import { partOf } from './read-parts.ts';
import { orStale, readable, requestedMessage } from './requested-message.ts';

export interface RequestedAttachment {
  readonly description: PartDescription;
  /** Decoded bytes from an offset on. Throws the errors of the mail port, `message_stale` and `not_found`. */
  readonly read: (from: number) => AsyncIterable<Uint8Array>;
  readonly length: () => Promise<number>;
  readonly knownLength: number | null;
}

/**
 * Finds the part and records the read. Throws `not_found` for an id of another mailbox, `message_stale` when
 * its message moved.
 */
export async function requestedAttachment(
  context: Context,
  mailboxId: string,
  attachmentId: string,
): Promise<RequestedAttachment> {
  const { locators, mail } = context.ports;
  const { mailbox } = mailboxOf(context, mailboxId);
  const opened = locators.openAttachment(attachmentId);
  const isHere = mailbox.folders.some(({ number }) => number === opened?.place.folderNumber);
  if (opened?.place.mailboxNumber !== mailbox.number || !isHere) throw notFound('attachment');
  const requested = requestedMessage(context, mailboxId, locators.message(opened.place));
  const { ref, messageId } = requested;
  const found = await mail.withMailbox(mailbox.id, 'interactive', (session) =>
    session.describePart(ref, opened.part),
  );
  const description = await orStale(context, requested, found);
  await context.recordRead({
    mailboxId: mailbox.id,
    messageIds: [messageId],
    what: 'attachment',
    attachmentIds: [attachmentId],
  });
  const part = partOf(attachmentId, description);
  const source = { mail, mailboxId: mailbox.id, ref };
  return {
    description,
    read: (from) => readable(context, requested, part.read(source, from)),
    length: () => part.length(source),
    get knownLength() {
      return part.knownLength;
    },
  };
}
