/**
 * What a forward takes from a received message: its text, or its HTML when that shows embedded pictures, and
 * its attachments.
 */
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { MAX_HTML_CHARS } from '../html/read-html.ts';
import type { AttachmentPart } from '../mail/message.ts';
import { type AttachmentInput, isContentId } from './draft-input.ts';
import type { Appendix } from './render-body.ts';
import { forwardedText, readSource, type SourceMessage } from './source-message.ts';

export interface Forward {
  readonly source: SourceMessage;
  readonly below: Appendix;
  /** All attachments, by reference. Pictures that the HTML shows have their Content-ID. */
  readonly attachments: readonly AttachmentInput[];
}

/** Throws as `readSource`, and `overloaded`. */
export async function readForward(
  context: Context,
  mailbox: MailboxEntry,
  access: MailboxAccess,
  messageId: string,
): Promise<Forward> {
  const source = await readSource(context, mailbox, access, messageId);
  const idOf = attachmentIds(context, mailbox, source);
  const pictured = await forwardedHtml(context, mailbox, source, idOf);
  const attachments = source.message.attachments.map(({ part }) => {
    const contentId = pictured?.contentIds.get(part);
    return { id: idOf(part), ...(contentId !== undefined && { content_id: contentId }) };
  });
  return { source, below: forwardedText(source, pictured?.html ?? null), attachments };
}

type AttachmentIds = (part: number) => string;

function attachmentIds(
  { ports }: Context,
  { number: mailboxNumber }: MailboxEntry,
  { message: { ref } }: SourceMessage,
): AttachmentIds {
  const { folder, uidValidity, uid } = ref;
  const place = { mailboxNumber, folderNumber: folder.number, uidValidity, uid };
  return (part) => ports.locators.attachment(place, part);
}

interface ForwardedHtml {
  /** The received HTML as the gateway shows it; it names its pictures by Content-ID (RFC 2392). */
  readonly html: string;
  /** The Content-IDs of the pictures it shows, without brackets, by the ordinal of their part. */
  readonly contentIds: ReadonlyMap<number, string>;
}

/**
 * Null for a message that shows no embedded picture, and for HTML that cannot be read completely: both are
 * forwarded as text. Throws as `MailSession.fetch`, and `overloaded`.
 */
async function forwardedHtml(
  { ports }: Context,
  mailbox: MailboxEntry,
  { message: { ref, attachments } }: SourceMessage,
  idOf: AttachmentIds,
): Promise<ForwardedHtml | null> {
  const parts = partsByContentId(attachments);
  if (parts.size === 0) return null;
  const [message] = await ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
    mail.fetch([ref], 'structure', MAX_HTML_CHARS, 'html'),
  );
  const text = message?.text;
  if (text?.isHtml !== true || text.isMissing || text.truncated) return null;
  const images = new Map([...parts].map(([contentId, part]) => [contentId, idOf(part)]));
  const read = await ports.markup.read(text.content, 'html', Object.fromEntries(images));
  if (read.isCut || read.isUnreadable) return null;
  return withContentIds(read.content, images, parts);
}

/**
 * Of two parts with one Content-ID the first counts. A part whose Content-ID is not valid for a header is an
 * ordinary attachment.
 */
function partsByContentId(attachments: readonly AttachmentPart[]): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  for (const { contentId, contentType, part } of attachments) {
    if (contentId === null || !isContentId(contentId) || !/^image\//i.test(contentType)) continue;
    if (!parts.has(contentId)) parts.set(contentId, part);
  }
  return parts;
}

function withContentIds(
  shown: string,
  images: ReadonlyMap<string, string>,
  parts: ReadonlyMap<string, number>,
): ForwardedHtml | null {
  const contentIds = new Map<number, string>();
  let html = shown;
  for (const [contentId, part] of parts) {
    const source = `src="${images.get(contentId) ?? ''}"`;
    if (!html.includes(source)) continue;
    html = html.replaceAll(source, `src="cid:${contentId}"`);
    contentIds.set(part, contentId);
  }
  return contentIds.size === 0 ? null : { html, contentIds };
}
