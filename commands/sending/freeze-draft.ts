/** Fixes the exact message of one send: its bytes without Date, its Message-ID, its recipients (`contract.md` 7). */
import type { z } from 'zod';
import { GatewayError } from '../values/errors.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import type { SmtpEnvelope } from '../ports/submission-port.ts';
import type { DraftFrozen } from '../drafts/draft-events.ts';
import type { DraftState } from '../drafts/draft.ts';
import { messageOf, newMessageId } from '../drafts/compose-draft.ts';
import { MAX_MESSAGE_BYTES, recipientsOf } from '../drafts/draft-envelope.ts';
import type { DraftPorts } from '../drafts/received-attachment.ts';
import { needsSmtpUtf8, wireAddress } from '../drafts/mail-address.ts';
import { type FrozenMessage, measured } from './build-send-manifest.ts';

/**
 * A frozen message that no send keeps by then is erased; the process that froze it begins its send within
 * minutes.
 */
const UNUSED_FOR_MS = 24 * 3_600_000;

export interface Freeze {
  readonly draftId: string;
  readonly operationId: string;
  readonly mailbox: MailboxEntry;
  readonly state: DraftState;
}

/**
 * Writes the message into the content store and returns the data of its `DraftFrozen` event. Nothing is
 * appended; a message that `beginSend` does not keep within a day is erased. Throws `payload_too_large`,
 * `invalid_request` without a recipient, `message_stale` when a received attachment is gone, and what the
 * mail server and the stores throw.
 */
export const freezeDraft = async (
  ports: DraftPorts,
  freeze: Freeze,
): Promise<z.input<typeof DraftFrozen.data>> => (await freezeMessage(ports, freeze)).frozen;

/** Like `freezeDraft`, and also returns what the message was made of, for the manifest of an approval. */
export async function freezeMessage(
  ports: DraftPorts,
  { draftId, operationId, mailbox, state }: Freeze,
): Promise<FrozenMessage> {
  const messageId = newMessageId(ports, mailbox);
  const composed = await messageOf(ports, mailbox, state, messageId);
  const { envelope, message, from } = composed;
  const { attachments, read } = measured(message.attachments);
  const smtp = smtpEnvelope(
    from.email,
    recipientsOf(envelope).map(({ email }) => email),
  );
  const expiresAt = new Date(ports.clock.now().getTime() + UNUSED_FOR_MS);
  const facts = { kind: 'mime', filename: null, contentType: 'message/rfc822', expiresAt } as const;
  const owner = { mailboxId: mailbox.id, draftId };
  const mime = await ports.content.put(
    { id: ports.ids.newUuid(), owner, maxBytes: MAX_MESSAGE_BYTES, ...facts },
    ports.composer.compose({ ...message, attachments }),
  );
  const frozen = {
    operation_id: operationId,
    version: state.current?.version ?? 0,
    content_hash: state.current?.content_hash ?? '',
    rfc_message_id: await ports.personal.seal(mailbox.id, messageId),
    mime_id: mime.id,
    mime_sha256: mime.sha256,
    mime_size: mime.size,
    smtp_envelope: await ports.personal.seal(mailbox.id, JSON.stringify(smtp)),
    needs_smtputf8: [smtp.from, ...smtp.to, ...envelope.reply_to.map(({ email }) => email)].some(
      needsSmtpUtf8,
    ),
    recipient_count: smtp.to.length,
    frozen_at: ports.clock.now().toISOString(),
  };
  return { frozen, smtp, composed, read };
}

/** Addresses in their wire form, each recipient once. */
function smtpEnvelope(from: string, recipients: readonly string[]): SmtpEnvelope {
  const to = new Set(recipients.flatMap((email) => wireAddress(email) ?? []));
  if (to.size === 0) {
    const message = 'A message needs at least one recipient; add one to the draft first.';
    throw new GatewayError('invalid_request', message, {
      details: { issues: [{ path: 'to', code: 'too_small', message }] },
    });
  }
  return { from: wireAddress(from) ?? from, to: [...to] };
}
