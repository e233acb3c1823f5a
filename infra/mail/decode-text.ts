/** Decodes the bytes of a text part to the text the sender wrote. */
import { simpleParser } from 'mailparser';
import { decodePiece } from '../../commands/mail/transfer-decoding.ts';
import type { TextPart } from './body-structure.ts';
import { declaredCharset, decodeCharset, decodeUndeclared, isMisread } from './charsets.ts';

/**
 * Undoes transfer encoding, charset and flowed lines; lines end in `\n`. Where no charset, or an impossible one, is
 * declared, it is detected (`charsets.ts`).
 */
export async function decodeText(part: TextPart, encoded: Uint8Array): Promise<string> {
  const { bytes } = decodePiece(part.encoding, new Uint8Array(), encoded, true);
  const isHtml = part.contentType === 'text/html';
  const declared = declaredCharset(part.charset);
  const as = declared === null ? null : await decodeAs(bytes, declared);
  const text = as === null || isMisread(as) ? decodeUndeclared(bytes, isHtml) : as;
  const lines = text.replaceAll('\r\n', '\n');
  const isFlowed = !isHtml && part.format?.toLowerCase() === 'flowed';
  return isFlowed ? unflow(lines, part.delSp?.toLowerCase() === 'yes') : lines;
}

/** Decodes rare charsets with mailparser, on a message that is only this text; it reads unknown ones as UTF-8. */
async function decodeAs(bytes: Uint8Array, charset: string): Promise<string> {
  const known = decodeCharset(bytes, charset);
  if (known !== null) return known;
  const header = `Content-Type: text/plain; charset=${token(charset)}\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
  const body = Buffer.from(Buffer.from(bytes).toString('base64').replaceAll(/.{76}/g, '$&\r\n'));
  const { text } = await simpleParser(Buffer.concat([Buffer.from(header), body]), { skipTextToHtml: true });
  return text ?? '';
}

/** The values come from the sender: none of them may become a header of its own. */
const token = (text: string): string => text.replaceAll(/[^\w.:+-]/g, '');

/** `format=flowed` (RFC 3676): joins lines that were broken for transport. */

interface Line {
  readonly depth: number;
  readonly text: string;
}

/** Removes quote marks and stuffing from each line before joining (RFC 3676 4.5). */
function unquoted(line: string): Line {
  const depth = /^>*/.exec(line)?.[0].length ?? 0;
  const text = line.slice(depth);
  return { depth, text: text.startsWith(' ') ? text.slice(1) : text };
}

/** A line that ends in a space continues in the next one, except the mark before a signature (RFC 3676 4.3). */
const isFlowed = ({ text }: Line): boolean => text.endsWith(' ') && text !== '-- ';

const quoted = ({ depth }: Line, text: string): string =>
  depth === 0 ? text : text === '' ? '>'.repeat(depth) : `${'>'.repeat(depth)} ${text}`;

/** The text with its paragraphs joined and each quote mark once; with `delSp` the space at a break is removed too. */
export function unflow(text: string, delSp: boolean): string {
  const lines = text.split('\n').map(unquoted);
  const paragraphs: string[] = [];
  let open: string[] = [];
  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1];
    const goesOn = isFlowed(line) && next?.depth === line.depth && next.text !== '-- ';
    open.push(goesOn && delSp ? line.text.slice(0, -1) : line.text);
    if (goesOn) continue;
    paragraphs.push(quoted(line, open.join('')));
    open = [];
  }
  return paragraphs.join('\n');
}
