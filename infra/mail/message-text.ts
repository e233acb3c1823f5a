/** Fetches and decodes the readable text of messages in the open folder. */
import { simpleParser } from 'mailparser';
import type { FetchedText } from '../../commands/kernel/mail-port.ts';
import { type TextPart, textPartOf } from './body-structure.ts';
import type { ImapConnection } from './imap-connection.ts';
import { inPieces, uidSet } from './uid-set.ts';

/** Encoded bytes read for one answer, shared by its messages; a single message may have all of it. */
const BYTES_PER_ANSWER = 16 * 1024 * 1024;
/** A character takes at most four bytes, and base64 a third more. */
const BYTES_PER_CHAR = 6;
/** Messages whose parts are held in memory at once. */
const AT_ONCE = 10;

const EMPTY: FetchedText = { content: '', truncated: false, totalChars: 0 };

/**
 * The text of each message by UID, cut at `chars`. Of a part that is longer than what may be read `totalChars` is an
 * estimate. Throws like `ImapConnection.run`.
 */
export async function fetchTexts(
  connection: ImapConnection,
  uids: readonly number[],
  chars: number,
): Promise<ReadonlyMap<number, FetchedText>> {
  const share = Math.floor(BYTES_PER_ANSWER / Math.max(1, uids.length));
  const maxBytes = Math.min(BYTES_PER_ANSWER, Math.max(share, chars * BYTES_PER_CHAR));
  const texts = new Map<number, FetchedText>();
  for (const piece of inPieces(uids, AT_ONCE)) {
    const parts = await textParts(connection, piece);
    for (const [uid, part] of parts) if (part === null) texts.set(uid, EMPTY);
    const known = [...parts].flatMap(([uid, part]) => (part === null ? [] : [{ uid, part }]));
    for (const [key, group] of Map.groupBy(known, ({ part }) => part.part)) {
      const members = group.map(({ uid }) => uid);
      const bytes = await fetchPart(connection, members, key, maxBytes);
      for (const { uid, part } of group) {
        texts.set(uid, await textOf(part, bytes.get(uid) ?? Buffer.alloc(0), maxBytes, chars));
      }
    }
  }
  return texts;
}

async function textParts(
  connection: ImapConnection,
  uids: readonly number[],
): Promise<ReadonlyMap<number, TextPart | null>> {
  const query = { uid: true, bodyStructure: true };
  const fetched = await connection.run((client) => client.fetchAll(uidSet(uids), query, { uid: true }));
  return new Map(
    fetched.map(({ uid, bodyStructure }) => [uid, bodyStructure ? textPartOf(bodyStructure) : null]),
  );
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

async function textOf(part: TextPart, bytes: Buffer, maxBytes: number, chars: number): Promise<FetchedText> {
  const decoded = await decode(part, bytes);
  const isCut = bytes.length >= maxBytes && part.size > bytes.length;
  // Beyond what may ever be read there is nothing to continue with: the text then ends where reading ends.
  const isEstimate = isCut && maxBytes < BYTES_PER_ANSWER;
  const totalChars = isEstimate
    ? Math.max(decoded.length + 1, Math.round((decoded.length * part.size) / Math.max(1, bytes.length)))
    : decoded.length;
  return { content: decoded.slice(0, chars), truncated: totalChars > chars, totalChars };
}

/** Transfer encoding, charset and HTML, by mailparser on a message that is nothing but this part. */
async function decode(part: TextPart, bytes: Buffer): Promise<string> {
  const parameters = [
    parameter('charset', part.charset ?? 'utf-8'),
    parameter('format', part.format),
    parameter('delsp', part.delSp),
  ];
  const header =
    `Content-Type: ${part.contentType}${parameters.join('')}\r\n` +
    `Content-Transfer-Encoding: ${token(part.encoding)}\r\n\r\n`;
  const { text } = await simpleParser(Buffer.concat([Buffer.from(header), bytes]), {
    skipImageLinks: true,
    skipTextToHtml: true,
    skipTextLinks: true,
  });
  return (text ?? '').replaceAll('\r\n', '\n');
}

/** The server's words are its sender's: nothing of them may become a header of its own. */
const token = (text: string): string => text.replaceAll(/[^\w.+-]/g, '');
const parameter = (name: string, value: string | null): string =>
  value === null || token(value) === '' ? '' : `; ${name}=${token(value)}`;
