/** What a BODYSTRUCTURE tells: the leaves of a message, which of them are its readable text, and the attachments. */
import type { MessageStructureObject } from 'imapflow';
import { cleanText } from '../../commands/kernel/clean-text.ts';
import type { AttachmentPart, BodySource, PartDescription } from '../../commands/kernel/mail-port.ts';

/** A part to show as text, and how it is encoded. */
export interface TextPart {
  readonly part: string;
  readonly contentType: 'text/plain' | 'text/html';
  readonly charset: string | null;
  /** `format=flowed` (RFC 3676) and `delsp`, kept for the decoder. */
  readonly format: string | null;
  readonly delSp: string | null;
  readonly encoding: string;
  /** Encoded bytes. */
  readonly size: number;
}

const MAX_PARTS = 1_000;
/** Texts between attachments are shown as one; a message of more pieces than this is not written by a person. */
const MAX_TEXT_PARTS = 20;

const isMultipart = (node: MessageStructureObject): boolean => node.type.startsWith('multipart/');

/** Leaves in order. An attached message is one leaf: what is inside belongs to it. */
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

function isBody(node: MessageStructureObject): boolean {
  const isText = node.type === 'text/plain' || node.type === 'text/html';
  return isText && dispositionOf(node) !== 'attachment' && filenameOf(node) === null;
}

/** Part numbers start at 1, also where the message is a single part (RFC 3501 6.4.5). */
const pathOf = (node: MessageStructureObject): string => node.part ?? '1';

type Encoding = PartDescription['encoding'];

function encodingOf(node: MessageStructureObject): Encoding {
  const encoding = node.encoding?.trim().toLowerCase();
  return encoding === 'base64' || encoding === 'quoted-printable' ? encoding : 'identity';
}

/** Base64 is written in lines of 76 characters and a line end (RFC 2045 6.8), four characters for three bytes. */
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
    inline: dispositionOf(node) === 'inline' || (dispositionOf(node) === '' && node.id !== undefined),
    contentId: node.id?.replace(/^<(.*)>$/, '$1') ?? null,
  };
}

/** Every leaf that is not the message's own text, in order. */
export const attachmentsOf = (root: MessageStructureObject): readonly AttachmentPart[] =>
  leavesOf(root).flatMap((node, index) => (isBody(node) ? [] : [attachmentOf(node, index)]));

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
 * The parts that make the readable text, in order: of alternatives (RFC 2046 5.1.4) the one that holds text of the kind
 * asked for, else the first that holds any. Empty for a message without text.
 */
export function textPartsOf(root: MessageStructureObject, source: BodySource): readonly TextPart[] {
  const wanted = source === 'html' ? 'text/html' : 'text/plain';
  const chosen = (node: MessageStructureObject): readonly MessageStructureObject[] => {
    if (!isMultipart(node)) return isBody(node) ? [node] : [];
    const children = (node.childNodes ?? []).slice(0, MAX_PARTS).map(chosen);
    if (node.type !== 'multipart/alternative') return children.flat();
    const filled = children.filter((leaves) => leaves.some(({ size }) => (size ?? 0) > 0));
    return filled.find((leaves) => leaves.some(({ type }) => type === wanted)) ?? filled[0] ?? [];
  };
  const withText = chosen(root).filter(({ size }) => (size ?? 0) > 0);
  return withText.slice(0, MAX_TEXT_PARTS).map(toTextPart);
}

function toTextPart(node: MessageStructureObject): TextPart {
  const { parameters = {}, encoding = '7bit', size = 0 } = node;
  return {
    part: pathOf(node),
    contentType: node.type === 'text/html' ? 'text/html' : 'text/plain',
    charset: parameters['charset'] ?? null,
    format: parameters['format'] ?? null,
    delSp: parameters['delsp'] ?? null,
    encoding,
    size,
  };
}
