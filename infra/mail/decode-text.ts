/** Bytes of a text part as the text its sender wrote. */
import { simpleParser } from 'mailparser';
import { decodePiece } from '../../commands/mail/transfer-decoding.ts';
import type { TextPart } from './body-structure.ts';
import { declaredCharset, decodeCharset, decodeUndeclared, isMisread } from './charsets.ts';
import { unflow } from './flowed-text.ts';

/**
 * Transfer encoding, charset and flowed lines undone; lines end in `\n`. Where no charset is declared, or one that cannot be it,
 * the bytes tell (`charsets.ts`).
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

/** Rare charsets by mailparser, on a message that is nothing but this text; what it does not know it reads as UTF-8. */
async function decodeAs(bytes: Uint8Array, charset: string): Promise<string> {
  const known = decodeCharset(bytes, charset);
  if (known !== null) return known;
  const header = `Content-Type: text/plain; charset=${token(charset)}\r\nContent-Transfer-Encoding: base64\r\n\r\n`;
  const body = Buffer.from(Buffer.from(bytes).toString('base64').replaceAll(/.{76}/g, '$&\r\n'));
  const { text } = await simpleParser(Buffer.concat([Buffer.from(header), body]), { skipTextToHtml: true });
  return text ?? '';
}

/** The server's words are its sender's: nothing of them may become a header of its own. */
const token = (text: string): string => text.replaceAll(/[^\w.:+-]/g, '');
