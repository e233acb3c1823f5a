/** FETCH of envelopes with texts as their senders wrote them, even where the client could not decode them. */
import type {
  FetchMessageObject,
  FetchQueryObject,
  MessageAddressObject,
  MessageEnvelopeObject,
} from 'imapflow';
import { type AddressObject, simpleParser } from 'mailparser';
import { decodePiece } from '../../commands/mail/transfer-decoding.ts';
import { decodeSevenBit, decodeUndeclared } from './charsets.ts';
import { fetchMessages } from './fetch-messages.ts';
import type { ImapConnection } from './imap-connection.ts';

const FIELDS = ['Subject', 'From', 'To', 'Cc', 'Bcc', 'Reply-To'];

/**
 * Raw bytes that are not UTF-8, and undecoded remains of ISO-2022-KR, HZ and UTF-7. A run of Base64 is matched only from
 * its beginning and only when it ends, so that the time is linear in any text.
 */
const UNREAD =
  /\ufffd|\u001b\$\)C|~\{|(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]+-)[A-Za-z0-9+/]*\+[A-Za-z0-9+/]{3,}-/;

/** Messages of the open folder with these items. Throws like `ImapConnection.run`. */
export async function fetchEnvelopes(
  connection: ImapConnection,
  uids: readonly number[],
  items: FetchQueryObject,
): Promise<readonly FetchMessageObject[]> {
  const fetched = await fetchMessages(connection, uids, items);
  const unread = fetched.filter(
    ({ envelope }) => envelope && textsOf(envelope).some((text) => UNREAD.test(text)),
  );
  if (unread.length === 0) return fetched;
  const raw = await fetchMessages(
    connection,
    unread.map(({ uid }) => uid),
    { headers: FIELDS },
  );
  const headers = new Map(raw.map(({ uid, headers: each }) => [uid, each]));
  const mended = fetched.map(async (message) => {
    const header = headers.get(message.uid);
    return header && message.envelope
      ? { ...message, envelope: { ...message.envelope, ...(await readHeader(header)) } }
      : message;
  });
  return await Promise.all(mended);
}

const LISTS = ['from', 'to', 'cc', 'bcc', 'replyTo'] as const;

const textsOf = (envelope: MessageEnvelopeObject): readonly string[] => [
  envelope.subject ?? '',
  ...LISTS.flatMap((list) => envelope[list] ?? []).flatMap(({ name = '', address = '' }) => [name, address]),
];

type Mended = Partial<Pick<MessageEnvelopeObject, 'subject' | (typeof LISTS)[number]>>;

/** Empty for a header beyond the parser's limits: the client's reading stays. */
async function readHeader(raw: Buffer): Promise<Mended> {
  const text = decodeUndeclared(raw).replaceAll(SEVEN_BIT_WORD, decodedWord);
  const parsed = await simpleParser(Buffer.from(text)).catch(() => null);
  if (parsed === null) return {};
  const { subject, ...lists } = parsed;
  return {
    ...(subject === undefined ? {} : { subject }),
    ...Object.fromEntries(LISTS.map((list) => [list, addressesOf(lists[list])])),
  };
}

const addressesOf = (list: AddressObject | AddressObject[] | undefined): MessageAddressObject[] => {
  const entries = [list ?? []].flat().flatMap(({ value }) => value);
  return entries.flatMap(({ name, address = '', group }) =>
    group ? group.map((each) => ({ name: each.name, address: each.address ?? '' })) : [{ name, address }],
  );
};

/** An encoded word (RFC 2047 2) in a charset that only this code decodes. */
const SEVEN_BIT_WORD =
  /=\?(iso-2022-kr|csiso2022kr|hz-gb-2312|hz|utf-7|unicode-1-1-utf-7)(?:\*[\w-]+)?\?([bq])\?([^?\s]*)\?=/gi;

function decodedWord(word: string, charset: string, encoding: string, text: string): string {
  const isBase64 = encoding.toLowerCase() === 'b';
  const encoded = Buffer.from(isBase64 ? text : text.replaceAll('_', '=20'), 'latin1');
  const { bytes } = decodePiece(isBase64 ? 'base64' : 'quoted-printable', new Uint8Array(), encoded, true);
  const decoded = decodeSevenBit(bytes, charset.toLowerCase());
  // Re-encoded as a word that every parser reads, so that nothing of it becomes syntax.
  return decoded === null ? word : `=?utf-8?B?${Buffer.from(decoded).toString('base64')}?=`;
}
