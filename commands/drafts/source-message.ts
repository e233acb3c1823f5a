/** The received message that a draft replies to or forwards, and what the draft takes from it. */
import type { SkippedRecipient } from '../operations/draft-shape.ts';
import type { MailboxAccess } from '../kernel/access.ts';
import type { Context } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import type { Address, AttachmentPart, FetchedMessage } from '../mail/message.ts';
import type { Markup } from '../ports/markup.ts';
import { asReached } from '../kernel/folders.ts';
import { staleMessage } from '../messages/resolve-stale-id.ts';
import { asHeaderText } from '../values/header-fields.ts';
import { sameAddress, sendable, unsendable } from './mail-address.ts';
import type { Appendix } from './draft-body.ts';
import { MAX_HTML_CHARS } from '../html/html-length.ts';
import { type AttachmentInput, isContentId } from './draft-input.ts';

/** How much of a long message is quoted; the rest is in the mailbox. */
const MAX_QUOTED_CHARS = 100_000;
const RETRY_SECONDS = 5;

export interface SourceMessage {
  readonly id: string;
  readonly message: FetchedMessage;
  /** Null when the caller may not read bodies. */
  readonly text: string | null;
}

/**
 * Reads the message, and its text for a caller who may read bodies; that read is recorded. Throws `not_found`
 * for an id of another mailbox, of a folder the grant does not reach, or of a deleted message,
 * `message_stale` when it moved, and `mailbox_unavailable` when the server does not return its text.
 */
export async function readSource(
  context: Context,
  mailbox: MailboxEntry,
  access: MailboxAccess,
  messageId: string,
): Promise<SourceMessage> {
  const place = context.ports.locators.openMessage(messageId);
  const reached = asReached(mailbox, access);
  const folder = reached.folders.find(({ number }) => number === place?.folderNumber);
  if (place?.mailboxNumber !== mailbox.number || !folder) throw notFound('message');
  const ref = { folder, uidValidity: place.uidValidity, uid: place.uid };
  const mayRead = access.scopes.has('messages:body');
  const [message] = await context.ports.mail.withMailbox(mailbox.id, 'interactive', (mail) =>
    mail.fetch([ref], 'structure', mayRead ? MAX_QUOTED_CHARS : null),
  );
  if (!message) throw await staleMessage(context.ports, reached, messageId);
  if (!mayRead) return { id: messageId, message, text: null };
  await context.recordRead({ mailboxId: mailbox.id, messageIds: [messageId], what: 'text' });
  return { id: messageId, message, text: await textOf(context.ports.markup, message) };
}

async function textOf(markup: Markup, { text }: FetchedMessage): Promise<string> {
  if (text === undefined) return '';
  if (text.isMissing) {
    throw new GatewayError(
      'mailbox_unavailable',
      'The mail server did not return the text of this message, in two attempts; try again.',
      { retryAfterSeconds: RETRY_SECONDS },
    );
  }
  const content = text.isHtml ? (await markup.read(text.content, 'text', {})).content : text.content;
  const isCut = text.truncated || content.length > MAX_QUOTED_CHARS;
  return isCut ? `${content.slice(0, MAX_QUOTED_CHARS)}\n[…]` : content;
}

/** RFC 5322 3.6.4. A reply to a message without Message-ID does not refer to it. */
export function threadingOf({ message }: SourceMessage): {
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
} {
  const { messageId, inReplyTo, references } = message;
  if (messageId === null || !isMessageId(messageId)) return { inReplyTo: null, references: [] };
  const parents = references.length > 0 || inReplyTo === null ? references : [inReplyTo];
  const known = [...new Set([...parents, messageId])].filter(isMessageId);
  return {
    inReplyTo: messageId,
    references: [...known.slice(0, 1), ...known.slice(1).slice(-MOST_REFERENCES)],
  };
}

/** The first and the newest references are enough to build a thread. */
const MOST_REFERENCES = 50;

/** Valid for a header line: brackets, visible ASCII, no spaces. */
const isMessageId = (id: string): boolean =>
  id.length <= 500 && /^<[\u0021-\u003b\u003d\u003f-\u007e]+>$/.test(id);

export interface Recipients {
  readonly to: readonly Address[];
  readonly cc: readonly Address[];
  /** Recipients that the reply should go to and cannot. */
  readonly skipped: readonly SkippedRecipient[];
}

/**
 * The recipients of a reply: Reply-To before From; for an own message its recipients; the own address only
 * when no other is left. A reply to everyone on a list goes where the sender requested (Mail-Followup-To).
 * Throws `invalid_request` for more than a hundred addresses that cannot be sent to.
 */
export function replyRecipients({ message }: SourceMessage, own: string, all: boolean): Recipients {
  const isOwn = message.from.some(({ email }) => sameAddress(email, own));
  const sender = message.replyTo.length > 0 ? message.replyTo : message.from;
  const followUp = all && !isOwn ? (message.followUpTo ?? []) : [];
  const asked = followUp.length > 0 ? followUp : isOwn && message.to.length > 0 ? message.to : sender;
  const primary = sendable(asked);
  const others = primary.filter(({ email }) => !sameAddress(email, own));
  const to = others.length > 0 ? others : primary;
  if (!all || followUp.length > 0) return { to, cc: [], skipped: leftOut(asked) };
  const copied = [...(isOwn ? [] : message.to), ...message.cc];
  const cc = sendable(copied, to).filter(({ email }) => !sameAddress(email, own));
  return { to, cc, skipped: leftOut([...asked, ...copied]) };
}

/** The limit of recipients of a message: the draft stores all of them. */
const MOST_LEFT_OUT = 100;

function leftOut(addresses: readonly Address[]): readonly SkippedRecipient[] {
  const skipped = unsendable(addresses);
  if (skipped.length <= MOST_LEFT_OUT) return skipped;
  throw new GatewayError(
    'invalid_request',
    `The message names ${String(skipped.length)} addresses that a reply cannot go to, more than a draft can list; reply to its sender only, or start a draft.`,
    { details: { skipped_recipients: skipped.slice(0, MOST_LEFT_OUT) } },
  );
}

/** The subject with its prefix once; all prefixes of that kind are removed first. */
export function prefixed(prefix: 'Re' | 'Fwd', subject: string | null): string {
  const pattern = prefix === 'Re' ? /^(?:re|aw|sv|antw)(?:\[\d+\])?\s*:\s*/i : /^(?:fwd?|wg|tr)\s*:\s*/i;
  let rest = asHeaderText(subject ?? '');
  while (pattern.test(rest)) rest = rest.replace(pattern, '');
  return asHeaderText(`${prefix}: ${rest}`);
}

const nameOf = ({ name, email }: Address): string =>
  asHeaderText(name === null ? email : `${name} <${email}>`);

/** The text quoted below a reply; null when the caller may not read it. */
export function quotedHistory({ message, text }: SourceMessage): Appendix | null {
  if (text === null) return null;
  const when = (message.sentAt ?? message.receivedAt).toUTCString().replace('GMT', '+0000');
  const [who] = message.from;
  return { intro: `On ${when}, ${who ? nameOf(who) : 'somebody'} wrote:`, quoted: text, as: 'quote' };
}

/** The forwarded text below the writer's own; `html` where it is forwarded as HTML too. */
function forwardedText({ message, text }: SourceMessage, html: string | null): Appendix {
  const { from, to, cc, subject } = message;
  const lines = [
    '---------- Forwarded message ----------',
    `From: ${from.map(nameOf).join(', ')}`,
    `Date: ${(message.sentAt ?? message.receivedAt).toUTCString().replace('GMT', '+0000')}`,
    `Subject: ${asHeaderText(subject ?? '')}`,
    `To: ${to.map(nameOf).join(', ')}`,
    ...(cc.length > 0 ? [`Cc: ${cc.map(nameOf).join(', ')}`] : []),
  ];
  return {
    intro: `${lines.join('\n')}\n`,
    quoted: text ?? '',
    ...(html !== null && { quotedHtml: html }),
    as: 'below',
  };
}

/** What a forward takes: the text, or the HTML when that shows embedded pictures, and the attachments. */
interface Forward {
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
