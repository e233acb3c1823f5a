/** Fetches and decodes the readable text of messages in the open folder. */
import type { MessageStructureObject } from 'imapflow';
import type { BodySource, FetchedText, TextNote } from '../../commands/mail/message.ts';
import { escapeText } from '../../commands/html/html-markup.ts';
import { MAX_HTML_CHARS, upToLastTag } from '../../commands/html/html-length.ts';
import type { ReadHtml } from '../../commands/html/read-html.ts';
import { markupThreads } from '../markup/worker-markup.ts';
import { isHollow, substitutePartsOf, type TextPart, textPartsOf } from './body-structure.ts';
import { decodeText } from './decode-text.ts';
import { fetchMessages } from './fetch-messages.ts';
import { fetchPart, type PartPlace } from './fetch-part.ts';
import type { ImapConnection } from './imap-connection.ts';
import { readSource } from './source-text.ts';
import { inPieces } from './uid-set.ts';

/** Encoded bytes read for one answer, shared by its messages; a single message may use all of it. */
const BYTES_PER_ANSWER = 16 * 1024 * 1024;
/** A character takes at most four bytes, and base64 a third more. */
const BYTES_PER_CHAR = 6;
/** More HTML than this is never shown, see `MAX_HTML_CHARS`. */
const BYTES_PER_HTML = MAX_HTML_CHARS * BYTES_PER_CHAR;
/** Messages whose parts are held in memory at once. */
const AT_ONCE = 10;
/** How often a blank alternative is replaced by the next one. */
const MOST_CHOICES = 3;
/** Spaces and zero-width characters: what newsletters put in place of text. */
const BLANK = /^[\s\u00ad\u034f\u200b-\u200f\u2060\ufeff]*$/;

/** How much text to return, and from which alternative. */
export interface TextRequest {
  readonly chars: number;
  readonly source: BodySource;
}

/** One part as the sender wrote it, decoded. */
interface DecodedPart {
  readonly isHtml: boolean;
  readonly text: string;
  /** Encoded bytes of the part per byte that was read; 1 = all of them. */
  readonly ratio: number;
  /** No request reads more of it. */
  readonly isMost: boolean;
  /** The server reported the part and returned nothing, or less than reported. */
  readonly lacks: 'nothing' | 'some' | 'all';
}

interface WantedPart {
  readonly uid: number;
  readonly part: TextPart;
}

/** The parts that one message is read from. */
interface Choice {
  readonly uid: number;
  readonly parts: readonly TextPart[];
  readonly notes: readonly TextNote[];
}

/**
 * The text of each message by UID, cut at `chars`; HTML as the source is not cut. For a part longer than the read limit,
 * `totalChars` is an estimate. Bytes that the server did not return are fetched again; if they are still missing, the text
 * is `isMissing`. `known`: the structures of all these messages, where they were fetched already. Throws like
 * `ImapConnection.run`.
 */
export async function fetchTexts(
  connection: ImapConnection,
  uids: readonly number[],
  request: TextRequest,
  known: Structures | null = null,
): Promise<ReadonlyMap<number, FetchedText>> {
  const share = Math.floor(BYTES_PER_ANSWER / Math.max(1, uids.length));
  const maxBytes = Math.min(BYTES_PER_ANSWER, Math.max(share, request.chars * BYTES_PER_CHAR));
  const texts = new Map<number, FetchedText>();
  for (const piece of inPieces(uids, AT_ONCE)) {
    const structures = known === null ? await fetchStructures(connection, piece) : among(known, piece);
    const reader = new PartReader(connection, maxBytes);
    for (const { uid, parts, notes } of await chosenParts(reader, structures, request.source)) {
      const decoded = parts.flatMap((part) => reader.decoded({ uid, part }) ?? []);
      texts.set(uid, await textOf(decoded, notes, request));
    }
    for (const uid of piece) {
      const structure = structures.get(uid);
      if (structure !== undefined && !isHollow(structure)) continue;
      const source = await readSource(connection, uid, request.source, maxBytes);
      const found = source === null ? [] : [wholePart(source)];
      texts.set(uid, await textOf(found, source === null ? [] : ['not_parsed'], request));
    }
  }
  return texts;
}

/** The body of each message by UID; a message without one has no entry. */
export type Structures = ReadonlyMap<number, MessageStructureObject>;

const among = (structures: Structures, uids: readonly number[]): Structures =>
  new Map([...structures].filter(([uid]) => uids.includes(uid)));

async function fetchStructures(connection: ImapConnection, uids: readonly number[]): Promise<Structures> {
  const fetched = await fetchMessages(connection, uids, { bodyStructure: true });
  return new Map(fetched.flatMap(({ uid, bodyStructure }) => (bodyStructure ? [[uid, bodyStructure]] : [])));
}

/** Reads the text parts of each message; where they are blank, the alternative. */
async function chosenParts(
  reader: PartReader,
  structures: Structures,
  source: BodySource,
): Promise<readonly Choice[]> {
  const chosen = new Map<number, Choice>();
  const blank = new Map<number, ReadonlySet<string>>();
  let open = [...structures.keys()];
  for (let round = 0; round < MOST_CHOICES && open.length > 0; round += 1) {
    const choices = open.flatMap((uid) => {
      const structure = structures.get(uid);
      const choice = structure && choiceOf(uid, structure, source, blank.get(uid));
      // Where all alternatives are blank the first one stays.
      return choice === undefined || (choice.parts.length === 0 && chosen.has(uid)) ? [] : [choice];
    });
    await reader.read(choices.flatMap(({ uid, parts }) => parts.map((part) => ({ uid, part }))));
    for (const choice of choices) chosen.set(choice.uid, choice);
    open = choices.flatMap(({ uid, parts }) => {
      const blanks = parts.filter((part) => reader.isBlank({ uid, part })).map(({ part }) => part);
      blank.set(uid, new Set([...(blank.get(uid) ?? []), ...blanks]));
      return blanks.length > 0 ? [uid] : [];
    });
  }
  return [...chosen.values()];
}

function choiceOf(
  uid: number,
  structure: MessageStructureObject,
  source: BodySource,
  blank: ReadonlySet<string> | undefined,
): Choice {
  const parts = textPartsOf(structure, source, blank);
  if (parts.length > 0 || blank !== undefined) return { uid, parts, notes: [] };
  const substitutes = substitutePartsOf(structure, source);
  return { uid, parts: substitutes, notes: substitutes.length > 0 ? ['attached_text'] : [] };
}

/** Caches parts, so that each is read once. */
class PartReader {
  readonly #connection: ImapConnection;
  readonly #maxBytes: number;
  readonly #decoded = new Map<string, DecodedPart>();

  constructor(connection: ImapConnection, maxBytes: number) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
  }

  decoded(wanted: WantedPart): DecodedPart | undefined {
    return this.#decoded.get(keyOf(wanted));
  }

  isBlank(wanted: WantedPart): boolean {
    const part = this.decoded(wanted);
    if (part?.lacks !== 'nothing' || part.ratio > 1) return false;
    return BLANK.test(part.isHtml ? withoutTags(part.text) : part.text);
  }

  /** Messages with their text in the same part are fetched together. Throws like `ImapConnection.run`. */
  async read(wanted: readonly WantedPart[]): Promise<void> {
    const unread = wanted.filter((each) => !this.#decoded.has(keyOf(each)));
    const alike = ({ part }: WantedPart): string => `${part.part} ${part.contentType}`;
    for (const group of Map.groupBy(unread, alike).values()) {
      const [first] = group;
      if (first === undefined) continue;
      const { part: path, contentType } = first.part;
      const maxLength =
        contentType === 'text/html' ? Math.min(this.#maxBytes, BYTES_PER_HTML) : this.#maxBytes;
      const places = group.map(({ uid, part }): PartPlace => ({ uid, size: part.size }));
      const bytes = await fetchPart(this.#connection, places, { path, maxLength });
      for (const each of group) {
        const given = bytes.get(each.uid) ?? new Uint8Array();
        this.#decoded.set(keyOf(each), await decodedPart(each.part, given, maxLength));
      }
    }
  }
}

const keyOf = ({ uid, part }: WantedPart): string => `${String(uid)}/${part.part}`;

/** Short HTML without visible text counts as blank; a picture is visible. */
function withoutTags(html: string): string {
  if (html.length > 10_000) return html;
  // After the last `>` no tag can end: each `<` there would scan to the end of the text.
  const end = html.lastIndexOf('>') + 1;
  const text = html.slice(0, end).replaceAll(/<(?!img\b)[^>]*>/gi, '') + html.slice(end);
  return text.replaceAll('&nbsp;', ' ');
}

async function decodedPart(part: TextPart, bytes: Uint8Array, maxBytes: number): Promise<DecodedPart> {
  const text = await decodeText(part, bytes);
  const isHtml = part.contentType === 'text/html';
  const ratio = bytes.length >= maxBytes ? Math.max(1, part.size / Math.max(1, bytes.length)) : 1;
  const isMost = maxBytes >= (isHtml ? BYTES_PER_HTML : BYTES_PER_ANSWER);
  const isShort = bytes.length < Math.min(part.size, maxBytes);
  const lacks = bytes.length === 0 ? 'all' : isShort ? 'some' : 'nothing';
  return { isHtml, text: isHtml && ratio > 1 ? upToLastTag(text) : text, ratio, isMost, lacks };
}

const wholePart = ({ text, isHtml }: { readonly text: string; readonly isHtml: boolean }): DecodedPart => ({
  isHtml,
  text,
  ratio: 1,
  isMost: true,
  lacks: 'nothing',
});

/** All parts as one text, or as one HTML where that was requested and exists. */
async function textOf(
  parts: readonly DecodedPart[],
  known: readonly TextNote[],
  request: TextRequest,
): Promise<FetchedText> {
  const isMissing = parts.length > 0 && parts.every(({ lacks }) => lacks === 'all');
  if (isMissing) return { content: '', truncated: false, totalChars: 0, isMissing };
  const notes: readonly TextNote[] = parts.some(({ lacks }) => lacks !== 'nothing')
    ? [...known, 'text_missing']
    : known;
  return { ...(await contentOf(parts, request)), ...(notes.length > 0 ? { notes } : {}) };
}

async function contentOf(
  parts: readonly DecodedPart[],
  { chars, source }: TextRequest,
): Promise<FetchedText> {
  if (source === 'html' && parts.some(({ isHtml }) => isHtml)) {
    const content = parts
      .map(({ isHtml, text }) => (isHtml ? text : `<pre>${escapeText(text)}</pre>`))
      .join('\n');
    return { content, isHtml: true, ...lengthOf(parts, content.length) };
  }
  const read = await Promise.all(parts.map(readable));
  const content = read.map((each) => each.content).join('\n\n');
  const length = lengthOf(parts, content.length);
  return {
    content: content.slice(0, chars),
    ...length,
    truncated: length.totalChars > chars,
    ...(read.some(({ isCut }) => isCut) ? { isCutOff: true } : {}),
    ...countsOf(read),
    ...(read.some(({ isUnreadable }) => isUnreadable === true) ? { isUnreadable: true } : {}),
  };
}

const COUNTED = ['hiddenChars', 'smallChars', 'faintChars'] as const;
type Readable = Pick<ReadHtml, 'content' | 'isCut' | 'isUnreadable' | (typeof COUNTED)[number]>;
const PLAIN = { hiddenChars: 0, smallChars: 0, faintChars: 0, isCut: false };

/** The effects of style on the text of all parts; absent where there are none. */
const countsOf = (parts: readonly Readable[]): Pick<FetchedText, (typeof COUNTED)[number]> =>
  Object.fromEntries(
    COUNTED.flatMap((name) => {
      const count = parts.reduce((sum, part) => sum + part[name], 0);
      return count > 0 ? [[name, count]] : [];
    }),
  );

const readable = async ({ isHtml, text }: DecodedPart): Promise<Readable> =>
  isHtml ? await markupThreads.read(text, 'text', {}) : { ...PLAIN, content: text };

type Length = Pick<FetchedText, 'truncated' | 'totalChars' | 'isCutOff'>;

/** Beyond the read limit nothing can be continued: the text then ends where reading ends. */
function lengthOf(parts: readonly DecodedPart[], read: number): Length {
  const cut = parts.filter((part) => part.ratio > 1);
  const ratio = Math.max(1, ...cut.map((part) => part.ratio));
  if (cut.length === 0) return { truncated: false, totalChars: read };
  if (cut.every(({ isMost }) => isMost)) return { truncated: false, totalChars: read, isCutOff: true };
  return { truncated: true, totalChars: Math.max(read + 1, Math.round(read * ratio)) };
}
