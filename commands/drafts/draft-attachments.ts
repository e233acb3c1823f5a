/** The attachments that a caller names, validated and in the form that a version stores. */
import { createHash } from 'node:crypto';
import { sniffedType } from '../mail/attachment-types.ts';
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import { asReached } from '../kernel/folders.ts';
import { inOnePiece } from './draft-body.ts';
import type { DraftAttachment } from './draft-envelope.ts';
import { type AttachmentInput, MAX_ATTACHMENTS, mediaTypeOf } from './draft-input.ts';
import { asHeaderText } from '../values/header-fields.ts';
import { assertScopes } from './load-draft.ts';
import { describeReceived, receivedBytes } from './compose-draft.ts';

/** `contract.md` 7: how many bytes a draft takes without an upload, decoded, in total. */
const MAX_INLINE_BYTES = 256 * 1024;

interface AttachmentsOf {
  readonly mailbox: MailboxEntry;
  readonly access: MailboxAccess;
  /** Null = not started yet, so it has no uploads. */
  readonly draftId: string | null;
  /** The attachments it already has; they can be named again without a lookup. */
  readonly present: readonly DraftAttachment[];
}

/** An attachment whose bytes came with the request and are not stored yet. */
interface InlineBytes {
  readonly attachment: DraftAttachment;
  readonly bytes: Buffer;
}

export interface NamedAttachments {
  readonly attachments: readonly DraftAttachment[];
  readonly inline: readonly InlineBytes[];
}

type Inline = Extract<AttachmentInput, { readonly content_base64: string }>;
type Reference = Exclude<AttachmentInput, Inline>;
const isInline = (input: AttachmentInput): input is Inline => 'content_base64' in input;

/**
 * Looks everything up before anything is written. Throws `not_found`, `insufficient_scope`,
 * `payload_too_large`.
 */
export async function nameAttachments(
  context: Context,
  on: AttachmentsOf,
  inputs: readonly AttachmentInput[],
): Promise<NamedAttachments> {
  const inline: InlineBytes[] = [];
  const attachments: DraftAttachment[] = [];
  for (const input of inputs) {
    if (!isInline(input)) {
      attachments.push(await referenced(context, on, input));
      continue;
    }
    const named = await inlineAttachment(context, input);
    inline.push(named);
    attachments.push(named.attachment);
  }
  const checked = checkList(attachments);
  await recordTaken(context, on, checked);
  return { attachments: checked, inline };
}

/** Attachments of received mail are passed on with the draft, so their read is recorded like any other. */
async function recordTaken(
  context: Context,
  { mailbox, present }: AttachmentsOf,
  attachments: readonly DraftAttachment[],
): Promise<void> {
  const known = new Set(present.map(({ id }) => id));
  const attachmentIds = attachments.flatMap(({ id }) =>
    id.startsWith('att_') && !known.has(id) ? [id] : [],
  );
  if (attachmentIds.length === 0) return;
  const { locators } = context.ports;
  const messageIds = attachmentIds.flatMap((id) => {
    const opened = locators.openAttachment(id);
    return opened === null ? [] : [locators.message(opened.place)];
  });
  const read = { mailboxId: mailbox.id, messageIds: [...new Set(messageIds)], attachmentIds };
  await context.recordRead({ ...read, what: 'attachment' });
}

const tooMuchInline = (): GatewayError =>
  new GatewayError(
    'payload_too_large',
    'Inline attachments are 256 KiB in all; upload larger ones with POST /drafts/<id>/attachments.',
    { details: { max_bytes: MAX_INLINE_BYTES } },
  );

/**
 * Validates the attachments of a version. Throws `invalid_request` when one is named twice or there are too
 * many, and `payload_too_large` when more than 256 KiB of them were given inline, by any number of requests.
 */
export function checkList(attachments: readonly DraftAttachment[]): readonly DraftAttachment[] {
  if (attachments.length > MAX_ATTACHMENTS)
    throw invalidField('attachments', `A draft has at most ${String(MAX_ATTACHMENTS)} attachments.`);
  if (new Set(attachments.map(({ id }) => id)).size < attachments.length) {
    throw invalidField('attachments', 'Each attachment may be named once.');
  }
  const inline = attachments.filter(({ given_inline }) => given_inline === true);
  if (inline.reduce((sum, { size }) => sum + size, 0) > MAX_INLINE_BYTES) throw tooMuchInline();
  return attachments;
}

async function inlineAttachment({ ports }: Context, input: Inline): Promise<InlineBytes> {
  const bytes = Buffer.from(input.content_base64, 'base64');
  const attachment: DraftAttachment = {
    id: ports.ids.newId('upl'),
    filename: input.filename,
    content_type: mediaTypeOf(input.content_type ?? 'application/octet-stream'),
    content_id: input.content_id ?? null,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    given_inline: true,
    sniffed_type: await sniffedType([bytes]),
  };
  return { attachment, bytes };
}

async function referenced(context: Context, on: AttachmentsOf, input: Reference): Promise<DraftAttachment> {
  const found =
    on.present.find(({ id }) => id === input.id) ??
    (input.id.startsWith('att_')
      ? await received(context, on, input.id)
      : await uploaded(context, on, input.id));
  return {
    ...found,
    ...(input.filename === undefined ? {} : { filename: input.filename }),
    ...(input.content_id === undefined ? {} : { content_id: input.content_id }),
  };
}

/** An upload belongs to the draft it was made for and is erased with it. */
async function uploaded(
  { ports }: Context,
  { draftId }: AttachmentsOf,
  id: string,
): Promise<DraftAttachment> {
  const stored = draftId === null ? null : await ports.content.describe(id);
  if (stored?.kind !== 'upload' || stored.owner.draftId !== draftId) throw notFound('attachment');
  const { filename, contentType, size, sha256 } = stored;
  const sniffed_type = await sniffedType(ports.content.open(id));
  return { id, filename, content_type: contentType, content_id: null, size, sha256, sniffed_type };
}

async function received(
  { ports }: Context,
  { mailbox, access }: AttachmentsOf,
  id: string,
): Promise<DraftAttachment> {
  assertScopes(access, ['attachments:read']);
  const reached = asReached(mailbox, access);
  const part = await describeReceived(ports, reached, id);
  return {
    id,
    filename: receivedName(part.filename),
    content_type: mediaTypeOf(part.contentType),
    content_id: null,
    size: part.size,
    sha256: null,
    sniffed_type: await sniffedType(receivedBytes(ports, reached, id)),
  };
}

/** A sender's file name, reduced to the characters that the gateway allows in its own. */
const receivedName = (name: string | null): string | null =>
  name === null ? null : asHeaderText(name.replaceAll(/[/\\]/g, '_'), 150) || null;

/**
 * Stores the bytes of the request and keeps the named uploads. A version that names them may be appended
 * after it.
 */
export async function storeAttachments(
  { ports }: Context,
  owner: { readonly mailboxId: string; readonly draftId: string },
  { attachments, inline }: NamedAttachments,
): Promise<void> {
  for (const { attachment, bytes } of inline) {
    const { id, filename, content_type: contentType } = attachment;
    const content = { id, kind: 'upload', owner, filename, contentType, expiresAt: null } as const;
    await ports.content.put({ ...content, maxBytes: MAX_INLINE_BYTES }, inOnePiece(bytes));
  }
  const uploads = attachments.flatMap(({ id }) => (id.startsWith('upl_') ? [id] : []));
  const kept = await ports.content.keep(uploads);
  if (uploads.some((id) => !kept.has(id))) throw notFound('attachment');
}
