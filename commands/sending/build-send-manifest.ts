/** The manifest of a send: everything of the frozen message that a person approves. Pure. */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { canonicalJson } from '../kernel/idempotency.ts';
import type { Address } from '../mail/message.ts';
import type { ComposedAttachment } from '../ports/message-composer.ts';
import type { SmtpEnvelope } from '../ports/submission-port.ts';
import type { SendManifest } from '../operations/manifest.ts';
import type { ComposedDraft } from '../drafts/compose-draft.ts';
import type { DraftBody } from '../drafts/draft-body.ts';
import type { DraftFrozen } from '../drafts/draft-events.ts';
import { wireAddress } from '../drafts/mail-address.ts';
import type { Markup, ShownParts } from '../ports/markup.ts';
import { MarkupRefused } from '../html/written-markup.ts';

/** Size in bytes and SHA-256 in hex of what was read for an attachment. */
export interface ReadBytes {
  readonly size: number;
  readonly sha256: string;
}

/** A frozen message with what it was made of. */
export interface FrozenMessage {
  readonly frozen: z.input<typeof DraftFrozen.data>;
  readonly smtp: SmtpEnvelope;
  readonly composed: ComposedDraft;
  /** One entry per attachment of the message, in order, received ones included. */
  readonly read: readonly ReadBytes[];
}

/** `nonce`: 128 random bits in hex (`Ids.newNonce`). */
export function buildSendManifest(
  nonce: string,
  { mailboxId, draftId }: { readonly mailboxId: string; readonly draftId: string },
  { frozen, smtp, composed, read }: FrozenMessage,
): SendManifest {
  return {
    kind: 'send_draft',
    nonce,
    operation_id: frozen.operation_id,
    mailbox_id: mailboxId,
    draft_id: draftId,
    draft_version: frozen.version,
    envelope: { from: smtp.from, to: [...smtp.to] },
    headers: headersOf(composed),
    body_sha256: bodyHash(composed.message),
    attachments: composed.attachments.map(({ filename, content_type, sniffed_type }, index) => ({
      filename: filename?.toWellFormed() ?? null,
      content_type,
      ...(sniffed_type == null ? {} : { sniffed_type }),
      size: read[index]?.size ?? 0,
      sha256: read[index]?.sha256 ?? '',
    })),
    mime_sha256: frozen.mime_sha256,
    mime_size: frozen.mime_size,
  };
}

function headersOf({ message, envelope }: ComposedDraft): SendManifest['headers'] {
  return {
    from: plainAddress(message.from),
    to: message.to.map(plainAddress),
    cc: message.cc.map(plainAddress),
    // Bcc is not in the message; only the envelope holds it.
    bcc: envelope.bcc.map(({ name, email }) => plainAddress({ name, email: wireAddress(email) ?? email })),
    reply_to: message.replyTo.map(plainAddress),
    subject: message.subject.toWellFormed(),
    message_id: message.messageId,
    in_reply_to: message.inReplyTo?.toWellFormed() ?? null,
    references: message.references.map((reference) => reference.toWellFormed()),
    other: message.headers.map(({ name, value }) => ({ name, value: value.toWellFormed() })),
  };
}

const plainAddress = ({ name, email }: Address): { name: string | null; email: string } => ({
  name: name?.toWellFormed() ?? null,
  email: email.toWellFormed(),
});

/** SHA-256 of both parts of a body, in hex, as in `SendManifest.body_sha256`. */
export const bodyHash = ({ html, text }: Pick<DraftBody, 'html' | 'text'>): string =>
  createHash('sha256').update(canonicalJson({ html, text })).digest('hex');

/** Measures attachments while the message is composed; `read` is complete after that. */
export function measured(attachments: readonly ComposedAttachment[]): {
  readonly attachments: readonly ComposedAttachment[];
  readonly read: readonly ReadBytes[];
} {
  const read: ReadBytes[] = attachments.map(() => ({ size: 0, sha256: '' }));
  return {
    read,
    attachments: attachments.map((attachment, index) => ({
      ...attachment,
      bytes: () =>
        hashed(attachment.bytes(), (found) => {
          read[index] = found;
        }),
    })),
  };
}

async function* hashed(
  bytes: AsyncIterable<Uint8Array>,
  told: (found: ReadBytes) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of bytes) {
    hash.update(piece);
    size += piece.length;
    yield piece;
  }
  told({ size, sha256: hash.digest('hex') });
}

/** Returns `too_costly` for a body that takes too much time or memory. Throws `overloaded`. */
export async function shownBody(
  markup: Pick<Markup, 'show'>,
  { html, text }: { readonly html: string | null; readonly text: string },
): Promise<ShownParts | 'too_costly'> {
  try {
    return await markup.show({ html, text });
  } catch (error) {
    if (error instanceof MarkupRefused) return 'too_costly';
    throw error;
  }
}
