/** What a BODYSTRUCTURE tells: the attachments, and the part that is the readable text. */
import type { MessageStructureObject } from 'imapflow';
import type { AttachmentPart } from '../../commands/kernel/mail-port.ts';

/** The part to show as text, and how it is encoded. */
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

/** Leaves in order. An attached message is one leaf: what is inside belongs to it. */
function leavesOf(root: MessageStructureObject): readonly MessageStructureObject[] {
  const leaves: MessageStructureObject[] = [];
  const walk = (node: MessageStructureObject): void => {
    if (leaves.length >= MAX_PARTS) return;
    if (node.type.startsWith('multipart/')) node.childNodes?.forEach(walk);
    else leaves.push(node);
  };
  walk(root);
  return leaves;
}

const dispositionOf = (node: MessageStructureObject): string => node.disposition?.toLowerCase() ?? '';

/** The sender's name for a part; `filename` wins over the older `name` (RFC 2183 2.3). */
const filenameOf = (node: MessageStructureObject): string | null =>
  node.dispositionParameters?.['filename'] ?? node.parameters?.['name'] ?? null;

function isBody(node: MessageStructureObject): boolean {
  const isText = node.type === 'text/plain' || node.type === 'text/html';
  return isText && dispositionOf(node) !== 'attachment' && filenameOf(node) === null;
}

/** Part numbers start at 1, also where the message is a single part (RFC 3501 6.4.5). */
const partOf = (node: MessageStructureObject): string => node.part ?? '1';

/** Every part that is not the message's own text, in order. Sizes are of the encoded part, as the server counts. */
export function attachmentsOf(root: MessageStructureObject): readonly AttachmentPart[] {
  return leavesOf(root)
    .filter((node) => !isBody(node))
    .map((node) => ({
      part: partOf(node),
      filename: filenameOf(node),
      contentType: node.type,
      size: node.size ?? 0,
      inline: dispositionOf(node) === 'inline' || (dispositionOf(node) === '' && node.id !== undefined),
      contentId: node.id?.replace(/^<(.*)>$/, '$1') ?? null,
    }));
}

/** The plain text if there is any, else the HTML; null for a message without text. */
export function textPartOf(root: MessageStructureObject): TextPart | null {
  const bodies = leavesOf(root).filter(isBody);
  const withText = bodies.filter(({ size }) => (size ?? 0) > 0);
  const chosen = withText.find(({ type }) => type === 'text/plain') ?? withText[0] ?? bodies[0];
  return chosen === undefined ? null : toTextPart(chosen);
}

function toTextPart(node: MessageStructureObject): TextPart {
  const { parameters = {}, encoding = '7bit', size = 0 } = node;
  return {
    part: partOf(node),
    contentType: node.type === 'text/html' ? 'text/html' : 'text/plain',
    charset: parameters['charset'] ?? null,
    format: parameters['format'] ?? null,
    delSp: parameters['delsp'] ?? null,
    encoding,
    size,
  };
}
