/** A version of a draft as the message it would become, with the attachments it takes from received mail. */
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { Address, MessageRef, PartDescription } from '../mail/message.ts';
import type { ComposedAttachment, MessageToCompose } from '../ports/message-composer.ts';
import { openJson } from '../kernel/sealed-json.ts';
import type { DraftState } from './draft.ts';
import { Threading } from './draft-events.ts';
import { loadBody } from './draft-body.ts';
import { attachmentsOf, type DraftAttachment, type DraftEnvelope, openEnvelope } from './draft-envelope.ts';
import { needsSmtpUtf8, wireAddress, wireDomain } from './mail-address.ts';
import type { Locators, Ports } from '../ports/ports.ts';
import { ReceivedPart } from '../kernel/received-part.ts';

/** The ports that drafts use. */
export type DraftPorts = Pick<
  Ports,
  'clock' | 'ids' | 'events' | 'personal' | 'content' | 'composer' | 'directory' | 'locators' | 'mail' | 'log'
>;

export interface ComposedDraft {
  readonly envelope: DraftEnvelope;
  readonly attachments: readonly DraftAttachment[];
  readonly from: Address;
  readonly message: MessageToCompose;
}

const erased = (): GatewayError => new GatewayError('conflict', 'The content of this draft was erased.');

/** The message without Date and Bcc. Throws `conflict` when its content was erased. */
export async function messageOf(
  ports: DraftPorts,
  mailbox: MailboxEntry,
  { current, threading }: DraftState,
  messageId: string,
): Promise<ComposedDraft> {
  if (current === null) throw erased();
  const envelope = await openEnvelope(ports.personal, current);
  const body = envelope && (await loadBody(ports.content, current.content_id));
  if (envelope === null || body === null) throw erased();
  const from = envelope.from ?? { name: mailbox.displayName, email: mailbox.email };
  const attachments = attachmentsOf(current, envelope);
  const answered = await openJson(ports.personal, threading, Threading);
  const message: MessageToCompose = {
    messageId,
    from: onTheWire(from),
    to: envelope.to.map(onTheWire),
    cc: envelope.cc.map(onTheWire),
    replyTo: envelope.reply_to.map(onTheWire),
    subject: envelope.subject,
    inReplyTo: answered?.in_reply_to ?? null,
    references: answered?.references ?? [],
    headers: Object.entries(envelope.headers).map(([name, value]) => ({ name, value })),
    text: body.text,
    html: body.html,
    attachments: attachments.map((attachment) => composedAttachment(ports, mailbox, attachment)),
    date: null,
  };
  return { envelope, attachments, from, message };
}

const NOT_SENDABLE =
  'An address of this draft cannot be written to (% or ! before the @); correct it with patch_draft.';

/** Converts domains to ASCII, except for an address that requires SMTPUTF8 anyway. */
function onTheWire({ name, email }: Address): Address {
  const wire = wireAddress(email);
  if (wire === null) throw invalidField('to', NOT_SENDABLE);
  return { name, email: needsSmtpUtf8(wire) ? email : wire };
}

const composedAttachment = (
  ports: DraftPorts,
  mailbox: MailboxEntry,
  { id, filename, content_type: contentType, content_id: contentId }: DraftAttachment,
): ComposedAttachment => ({
  filename,
  contentType,
  contentId,
  bytes: () => (id.startsWith('upl_') ? ports.content.open(id) : receivedBytes(ports, mailbox, id)),
});

/** RFC 5322 3.6.4: globally unique, under the mailbox's own domain. */
export const newMessageId = (ports: Pick<DraftPorts, 'ids'>, mailbox: MailboxEntry): string => {
  const domain = mailbox.email.slice(mailbox.email.lastIndexOf('@') + 1);
  return `<${ports.ids.newUuid()}@${wireDomain(domain) ?? 'mail.invalid'}>`;
};

/**
 * The place of an `att_` id in this mailbox. Throws `not_found` for forged ids and for ids of other
 * mailboxes.
 */
function attachmentPlace(
  mailbox: MailboxEntry,
  locators: Locators,
  id: string,
): { readonly ref: MessageRef; readonly part: number } {
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
