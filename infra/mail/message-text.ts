/** Fetches and decodes the readable text of messages in the open folder. */
import { simpleParser } from 'mailparser';
import { escapeText } from '../../commands/kernel/html/html-markup.ts';
import { MAX_HTML_CHARS, type ReadHtml, upToLastTag } from '../../commands/kernel/html/read-html.ts';
import type { BodySource, FetchedText } from '../../commands/kernel/mail-port.ts';
import { markupThreads } from '../markup/markup-threads.ts';
import { type TextPart, textPartsOf } from './body-structure.ts';
import type { ImapConnection } from './imap-connection.ts';
import { inPieces, uidSet } from './uid-set.ts';

/** Encoded bytes read for one answer, shared by its messages; a single message may have all of it. */
const BYTES_PER_ANSWER = 16 * 1024 * 1024;
/** A character takes at most four bytes, and base64 a third more. */
const BYTES_PER_CHAR = 6;
/** More of HTML is never shown, see `MAX_HTML_CHARS`. */
const BYTES_PER_HTML = MAX_HTML_CHARS * BYTES_PER_CHAR;
/** Messages whose parts are held in memory at once. */
const AT_ONCE = 10;

/** How much text is wanted, and from which alternative. */
export interface TextRequest {
  readonly chars: number;
  readonly source: BodySource;
}

/** One part as the sender wrote it, decoded. */
interface DecodedPart {
  readonly isHtml: boolean;
  readonly text: string;
  /** Encoded bytes of the part for each that was read; 1 = all of them. */
  readonly ratio: number;
  /** No request reads more of it. */
  readonly isMost: boolean;
}

interface WantedPart {
  readonly uid: number;
  readonly part: TextPart;
}

/**
 * The text of each message by UID, cut at `chars`; of HTML as the source it is not cut. Of a part that is longer than what
 * may be read `totalChars` is an estimate. Throws like `ImapConnection.run`.
 */
export async function fetchTexts(
  connection: ImapConnection,
  uids: readonly number[],
  request: TextRequest,
): Promise<ReadonlyMap<number, FetchedText>> {
  const share = Math.floor(BYTES_PER_ANSWER / Math.max(1, uids.length));
  const maxBytes = Math.min(BYTES_PER_ANSWER, Math.max(share, request.chars * BYTES_PER_CHAR));
  const texts = new Map<number, FetchedText>();
  for (const piece of inPieces(uids, AT_ONCE)) {
    const wanted = await textParts(connection, piece, request.source);
    const decoded = await fetchDecoded(connection, wanted, maxBytes);
    for (const uid of piece) {
      const parts = wanted.flatMap((each) => (each.uid === uid ? (decoded.get(each) ?? []) : []));
      texts.set(uid, await textOf(parts, request));
    }
  }
  return texts;
}

async function textParts(
  connection: ImapConnection,
  uids: readonly number[],
  source: BodySource,
): Promise<readonly WantedPart[]> {
  const query = { uid: true, bodyStructure: true };
  const fetched = await connection.run((client) => client.fetchAll(uidSet(uids), query, { uid: true }));
  return fetched.flatMap(({ uid, bodyStructure }) =>
    bodyStructure ? textPartsOf(bodyStructure, source).map((part) => ({ uid, part })) : [],
  );
}

/** Messages whose text is at the same place are fetched together. */
async function fetchDecoded(
  connection: ImapConnection,
  wanted: readonly WantedPart[],
  maxBytes: number,
): Promise<ReadonlyMap<WantedPart, DecodedPart>> {
  const decoded = new Map<WantedPart, DecodedPart>();
  const alike = ({ part }: WantedPart): string => `${part.part} ${part.contentType}`;
  for (const group of Map.groupBy(wanted, alike).values()) {
    const [first] = group;
    if (first === undefined) continue;
    const { part: key, contentType } = first.part;
    const limit = contentType === 'text/html' ? Math.min(maxBytes, BYTES_PER_HTML) : maxBytes;
    const members = group.map(({ uid }) => uid);
    const bytes = await fetchPart(connection, members, key, limit);
    for (const each of group) {
      decoded.set(each, await decodedPart(each.part, bytes.get(each.uid) ?? Buffer.alloc(0), limit));
    }
  }
  return decoded;
}

async function fetchPart(
  connection: ImapConnection,
  uids: readonly number[],
  key: string,
  maxLength: number,
): Promise<ReadonlyMap<number, Buffer>> {
  const query = { uid: true, bodyParts: [{ key, start: 0, maxLength }] };
  const fetched = await connection.run((client) => client.fetchAll(uidSet(uids), query, { uid: true }));
  return new Map(
    fetched.flatMap(({ uid, bodyParts }): [number, Buffer][] => {
      const bytes = bodyParts?.get(key.toLowerCase());
      return bytes ? [[uid, bytes]] : [];
    }),
  );
}

async function decodedPart(part: TextPart, bytes: Buffer, maxBytes: number): Promise<DecodedPart> {
  const text = await decode(part, bytes);
  const isHtml = part.contentType === 'text/html';
  const ratio = bytes.length >= maxBytes ? Math.max(1, part.size / Math.max(1, bytes.length)) : 1;
  const isMost = maxBytes >= (isHtml ? BYTES_PER_HTML : BYTES_PER_ANSWER);
  return { isHtml, text: isHtml && ratio > 1 ? upToLastTag(text) : text, ratio, isMost };
}

/** All parts as one text, or as one HTML where that was asked for and there is any. */
async function textOf(parts: readonly DecodedPart[], { chars, source }: TextRequest): Promise<FetchedText> {
  if (source === 'html' && parts.some(({ isHtml }) => isHtml)) {
    const content = parts
      .map(({ isHtml, text }) => (isHtml ? text : `<pre>${escapeText(text)}</pre>`))
      .join('\n');
    return { content, isHtml: true, ...lengthOf(parts, content.length) };
  }
  const read = await Promise.all(parts.map(readable));
  const content = read.map((each) => each.content).join('\n\n');
  const hiddenChars = read.reduce((sum, each) => sum + each.hiddenChars, 0);
  const length = lengthOf(parts, content.length);
  return {
    content: content.slice(0, chars),
    ...length,
    truncated: length.totalChars > chars,
    ...(read.some(({ isCut }) => isCut) ? { isCutOff: true } : {}),
    ...(hiddenChars > 0 ? { hiddenChars } : {}),
    ...(read.some(({ isUnreadable }) => isUnreadable === true) ? { isUnreadable: true } : {}),
  };
}

type Readable = Pick<ReadHtml, 'content' | 'hiddenChars' | 'isCut' | 'isUnreadable'>;
const readable = async ({ isHtml, text }: DecodedPart): Promise<Readable> =>
  isHtml ? await markupThreads.read(text, 'text', {}) : { content: text, hiddenChars: 0, isCut: false };

type Length = Pick<FetchedText, 'truncated' | 'totalChars' | 'isCutOff'>;

/** Beyond what may ever be read there is nothing to continue with: the text then ends where reading ends. */
function lengthOf(parts: readonly DecodedPart[], read: number): Length {
  const cut = parts.filter((part) => part.ratio > 1);
  const ratio = Math.max(1, ...cut.map((part) => part.ratio));
  if (cut.length === 0) return { truncated: false, totalChars: read };
  if (cut.every(({ isMost }) => isMost)) return { truncated: false, totalChars: read, isCutOff: true };
  return { truncated: true, totalChars: Math.max(read + 1, Math.round(read * ratio)) };
}

/** Transfer encoding and charset, by mailparser on a message that is nothing but this part. */
async function decode(part: TextPart, bytes: Buffer): Promise<string> {
  const parameters = [
    parameter('charset', part.charset ?? 'utf-8'),
    parameter('format', part.format),
    parameter('delsp', part.delSp),
  ];
  const header =
    `Content-Type: ${part.contentType}${parameters.join('')}\r\n` +
    `Content-Transfer-Encoding: ${token(part.encoding)}\r\n\r\n`;
  const { text, html } = await simpleParser(Buffer.concat([Buffer.from(header), bytes]), {
    skipHtmlToText: true,
    skipImageLinks: true,
    skipTextToHtml: true,
    skipTextLinks: true,
  });
  const content = part.contentType === 'text/html' ? (html === false ? '' : (html ?? '')) : (text ?? '');
  return content.replaceAll('\r\n', '\n');
}

/** The server's words are its sender's: nothing of them may become a header of its own. */
const token = (text: string): string => text.replaceAll(/[^\w.+-]/g, '');
const parameter = (name: string, value: string | null): string =>
  value === null || token(value) === '' ? '' : `; ${name}=${token(value)}`;
