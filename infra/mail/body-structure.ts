/** Reads a BODYSTRUCTURE: the leaves of a message, which of them are its readable text, and the attachments. */
import type { MessageStructureObject } from 'imapflow';
import { cleanText } from '../../commands/mail/fold-text.ts';
import type { AttachmentPart, BodySource, PartDescription } from '../../commands/mail/message.ts';
import type { TransferEncoding } from '../../commands/mail/transfer-decoding.ts';

/** A part to show as text, and how it is encoded. */
export interface TextPart {
  readonly part: string;
  readonly contentType: 'text/plain' | 'text/html';
  readonly charset: string | null;
  /** `format=flowed` (RFC 3676) and `delsp`, kept for the decoder. */
  readonly format: string | null;
  readonly delSp: string | null;
  readonly encoding: TransferEncoding;
  /** Encoded bytes. */
  readonly size: number;
}

const MAX_PARTS = 1_000;
/** Texts between attachments are shown as one; a message of more pieces than this is not written by a person. */
const MAX_TEXT_PARTS = 20;

const isMultipart = (node: MessageStructureObject): boolean => node.type.startsWith('multipart/');

/** Leaves in order. An attached message is one leaf, with everything inside it. */
function leavesOf(root: MessageStructureObject): readonly MessageStructureObject[] {
  const leaves: MessageStructureObject[] = [];
  const walk = (node: MessageStructureObject): void => {
    if (leaves.length >= MAX_PARTS) return;
    if (isMultipart(node)) node.childNodes?.forEach(walk);
    else leaves.push(node);
  };
  walk(root);
  return leaves;
}

const dispositionOf = (node: MessageStructureObject): string => node.disposition?.toLowerCase() ?? '';

/** The sender's name for a part; `filename` wins over the older `name` (RFC 2183 2.3). */
const filenameOf = (node: MessageStructureObject): string | null => {
  const name = node.dispositionParameters?.['filename'] ?? node.parameters?.['name'];
  return name === undefined ? null : cleanText(name);
};

const isShownText = (node: MessageStructureObject): boolean =>
  (node.type === 'text/plain' || node.type === 'text/html') && dispositionOf(node) !== 'attachment';

/**
 * The leaves that are the message's own text. A part with a file name counts if it is the first text, or the alternative of
 * that one: some programs name every part.
 */
function bodyLeaves(root: MessageStructureObject): ReadonlySet<MessageStructureObject> {
  const texts = leavesOf(root).filter(isShownText);
  const [first] = texts;
  const beginning = first === undefined ? [] : leavesOf(alternativeAround(root, first) ?? first);
  return new Set(texts.filter((node) => filenameOf(node) === null || beginning.includes(node)));
}

/** The outermost multipart/alternative around a leaf. */
function alternativeAround(
  node: MessageStructureObject,
  leaf: MessageStructureObject,
): MessageStructureObject | null {
  if (!isMultipart(node) || !leavesOf(node).includes(leaf)) return null;
  if (node.type === 'multipart/alternative') return node;
  const around = (node.childNodes ?? []).map((child) => alternativeAround(child, leaf));
  return around.find((each) => each !== null) ?? null;
}

/** Part numbers start at 1, even in a message of a single part (RFC 3501 6.4.5). */
const pathOf = (node: MessageStructureObject): string => node.part ?? '1';

function encodingOf(node: MessageStructureObject): TransferEncoding {
  const encoding = node.encoding?.trim().toLowerCase();
  if (encoding === 'base64' || encoding === 'quoted-printable') return encoding;
  return encoding !== undefined && /^(?:x-)?uu(?:e|encode)?$/.test(encoding) ? 'uuencode' : 'identity';
}

/** Lines of 76 characters and a line end (RFC 2045 6.8), four characters for three bytes. */
function decodedSize(node: MessageStructureObject): number {
  const size = node.size ?? 0;
  return encodingOf(node) === 'base64' ? Math.floor(((size - 2 * Math.floor(size / 78)) / 4) * 3) : size;
}

function attachmentOf(node: MessageStructureObject, index: number): AttachmentPart {
  return {
    part: index + 1,
    filename: filenameOf(node),
    contentType: node.type,
    size: decodedSize(node),
    sizeExact: encodingOf(node) === 'identity',
    inline: dispositionOf(node) === 'inline' || (dispositionOf(node) === '' && node.id !== undefined),
    contentId: node.id?.replace(/^<(.*)>$/, '$1') ?? null,
  };
}

/** Every leaf that is not the message's own text, in order. */
export function attachmentsOf(root: MessageStructureObject): readonly AttachmentPart[] {
  const body = bodyLeaves(root);
  return leavesOf(root).flatMap((node, index) => (body.has(node) ? [] : [attachmentOf(node, index)]));
}

/** The leaf with this ordinal, counted from 1; null when there is none. */
export function partOf(root: MessageStructureObject, ordinal: number): PartDescription | null {
  const node = leavesOf(root)[ordinal - 1];
  if (node === undefined) return null;
  return {
    ...attachmentOf(node, ordinal - 1),
    path: pathOf(node),
    encoding: encodingOf(node),
    charset: node.parameters?.['charset'] ?? null,
    encodedSize: node.size ?? 0,
  };
}

/**
 * The parts of the readable text, in order: of alternatives (RFC 2046 5.1.4) the one with text of the requested kind, else
 * the first with any. `blank`: paths of parts known to be empty. Empty for a message without text.
 */
export function textPartsOf(
  root: MessageStructureObject,
  source: BodySource,
  blank: ReadonlySet<string> = new Set(),
): readonly TextPart[] {
  const wanted = source === 'html' ? 'text/html' : 'text/plain';
  const body = bodyLeaves(root);
  const hasText = (node: MessageStructureObject): boolean => (node.size ?? 0) > 0 && !blank.has(pathOf(node));
  const chosen = (node: MessageStructureObject): readonly MessageStructureObject[] => {
    if (!isMultipart(node)) return body.has(node) ? [node] : [];
    const children = (node.childNodes ?? []).slice(0, MAX_PARTS).map(chosen);
    if (node.type !== 'multipart/alternative') return children.flat();
    const filled = children.filter((leaves) => leaves.some(hasText));
    return filled.find((leaves) => leaves.some(({ type }) => type === wanted)) ?? filled[0] ?? [];
  };
  return chosen(root)
    .filter(hasText)
    .slice(0, MAX_TEXT_PARTS)
    .map((node) => toTextPart(node));
}

/** Readable parts of a mail without text of its own: reports, invitations, and the text of attached messages. */
const READABLE =
  /^(?:message\/(?:delivery-status|disposition-notification|feedback-report|rfc822-headers)|text\/[\w.+-]+)$/;

/** Those parts, in order, without files of the sender. */
export function substitutePartsOf(root: MessageStructureObject, source: BodySource): readonly TextPart[] {
  const substitutes = leavesOf(root).flatMap((node): readonly TextPart[] => {
    const inner = node.type === 'message/rfc822' ? node.childNodes?.[0] : undefined;
    if (inner !== undefined) return textPartsOf(renumbered(inner, pathOf(node)), source);
    const isShown = dispositionOf(node) !== 'attachment' && READABLE.test(node.type);
    return isShown && (node.size ?? 0) > 0 ? [toTextPart(node)] : [];
  });
  return substitutes.slice(0, MAX_TEXT_PARTS);
}

/** The structure of an attached message, with part numbers as the server counts them (RFC 3501 6.4.5): below its own. */
function renumbered(node: MessageStructureObject, path: string): MessageStructureObject {
  if (!isMultipart(node)) return { ...node, part: `${path}.1` };
  const below = (each: MessageStructureObject, at: string): MessageStructureObject => {
    const { childNodes } = each;
    if (childNodes === undefined) return { ...each, part: at };
    return {
      ...each,
      part: at,
      childNodes: childNodes.map((child, index) => below(child, partBelow(at, index))),
    };
  };
  return below(node, path);
}
const partBelow = (path: string, index: number): string => `${path}.${String(index + 1)}`;

/** True when the server found nothing in a multipart message: it may not have understood the boundaries. */
export const isHollow = (root: MessageStructureObject): boolean =>
  isMultipart(root) && leavesOf(root).every(({ size }) => (size ?? 0) === 0);

function toTextPart(node: MessageStructureObject): TextPart {
  const { parameters = {}, size = 0 } = node;
  return {
    part: pathOf(node),
    contentType: node.type === 'text/html' ? 'text/html' : 'text/plain',
    charset: parameters['charset'] ?? null,
    format: parameters['format'] ?? null,
    delSp: parameters['delsp'] ?? null,
    encoding: encodingOf(node),
    size,
  };
}
