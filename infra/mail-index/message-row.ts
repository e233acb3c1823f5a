/** Maps a message to two rows of the mirror, and back. */
import type { Address, FetchedMessage, FolderRef } from '../../commands/mail/message.ts';
import { bareMessageId, domainOf } from '../../commands/mail/matches.ts';
import type { FolderState, MirroredMessage } from './folder-mirror.ts';
import { keyOfText, type ThreadName, threadNames } from './threads.ts';
import { cleanText, foldText } from '../../commands/mail/fold-text.ts';

/**
 * Separates the sections of `words`: texts folded as `matches` folds them. No fetched text contains control characters.
 */
export const SECTION_END = '\u001e';
/** Before every element: a section without elements is empty, one with an empty text is not. */
export const ELEMENT = '\n';

/** Sections of `words`, counted from 1 as `split_part` does. */
export const SECTIONS = {
  subject: 1,
  from: 2,
  to: 3,
  cc: 4,
  /** Bcc and Reply-To. */
  others: 5,
  attachments: 6,
  /** Domains of From in lower case, each between two `ELEMENT`s. */
  fromDomains: 7,
} as const;
export type Section = keyof typeof SECTIONS;

type Searched = Pick<FetchedMessage, 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'replyTo' | 'attachments'>;

/** The `words` of a message. */
function foldedWords({ subject, from, to, cc, bcc, replyTo, attachments }: Searched): string {
  const names = attachments.flatMap(({ filename }) => (filename === null ? [] : [filename]));
  const domains = from.map(({ email }) => ELEMENT + cleanText(domainOf(email)));
  return [
    elements(subject === null ? [] : [subject]),
    people(from),
    people(to),
    people(cc),
    people([...bcc, ...replyTo]),
    elements(names),
    domains.length === 0 ? '' : domains.join('') + ELEMENT,
  ].join(SECTION_END);
}

const elements = (texts: readonly string[]): string =>
  texts.map((text) => ELEMENT + foldText(cleanText(text))).join('');

/** Name and address of each: the third part of the From section is the first sender's address. */
const people = (list: readonly Address[]): string =>
  elements(list.flatMap(({ name, email }) => [name ?? '', email]));

/** Columns of `mirror.message` that make a message, as `pg` returns them. */
export interface MessageRow extends Record<string, unknown> {
  readonly uid: string;
  readonly received_at: string;
  readonly sent_at: string | null;
  readonly size: string;
  readonly seen: boolean;
  readonly flagged: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
  readonly has_attachment: boolean;
  readonly keywords: readonly string[] | null;
  readonly provider_id: string | null;
  /** Null without a `provider_id`. */
  readonly also_in: readonly number[] | null;
  /** Null where only the place was selected. */
  readonly envelope: string | null;
  /** Null without any Message-ID. */
  readonly thread_id: string | null;
  /** Null where nobody asks, and while that is unknown. */
  readonly sender_is_known: boolean | null;
}

type InColumns =
  | 'ref'
  | 'seen'
  | 'flagged'
  | 'answered'
  | 'draft'
  | 'keywords'
  | 'size'
  | 'receivedAt'
  | 'sentAt'
  | 'hasAttachments'
  | 'providerId'
  | 'alsoIn'
  | 'text'
  | 'threadId'
  | 'mergedThreads';
type Envelope = Omit<FetchedMessage, InColumns>;

const EMPTY: Envelope = {
  messageId: null,
  inReplyTo: null,
  references: [],
  subject: null,
  from: [],
  to: [],
  cc: [],
  bcc: [],
  replyTo: [],
  autoSubmitted: null,
  attachments: [],
  threadRoot: null,
};

/** Values omitted from a packed envelope. */
const DEFAULTS: Envelope = { ...EMPTY, authenticationResults: [] };

const isDefault = (name: string, value: unknown): boolean => {
  const usual = DEFAULTS[name as keyof Envelope];
  return Array.isArray(value) ? value.length === 0 && Array.isArray(usual) : value === null && usual === null;
};

const rootOf = ({ references, inReplyTo, messageId }: Envelope): string | null =>
  references[0] ?? inReplyTo ?? messageId;

/** Everything that has no column, as JSON; omits values that are empty or follow from the rest. */
function packEnvelope(message: MirroredMessage): string {
  const {
    ref,
    seen,
    flagged,
    answered,
    draft,
    keywords,
    size,
    receivedAt,
    sentAt,
    hasAttachments,
    providerId,
    alsoIn,
    text,
    threadId,
    mergedThreads,
    deleted,
    ...envelope
  } = message;
  const present = Object.entries(envelope).filter(
    ([name, value]) => !isDefault(name, value) && !(name === 'threadRoot' && value === rootOf(envelope)),
  );
  return JSON.stringify(Object.fromEntries(present));
}

function unpackEnvelope(text: string): Envelope {
  const envelope = { ...DEFAULTS, ...(JSON.parse(text) as Partial<Envelope>) };
  return { ...envelope, threadRoot: envelope.threadRoot ?? rootOf(envelope) };
}

/** The Message-IDs in a packed envelope, as the headers have them. */
export const namesInEnvelope = (
  envelope: string,
): Pick<Envelope, 'messageId' | 'inReplyTo' | 'references' | 'threadRoot'> => unpackEnvelope(envelope);
/** All people named in a packed envelope. */
export const peopleInEnvelope = (envelope: string): Pick<Envelope, 'from' | 'to' | 'cc' | 'bcc'> =>
  unpackEnvelope(envelope);
/** What of a packed envelope shows a delivery report. */
export const reportSignsInEnvelope = (
  envelope: string,
): Pick<Envelope, 'from' | 'subject' | 'autoSubmitted' | 'attachments'> => unpackEnvelope(envelope);
export const messageIdOf = (envelope: string): string | null => namesInEnvelope(envelope).messageId;

/** The message of a row, in a folder in this state. */
export function messageOfRow(
  row: MessageRow,
  folder: FolderRef,
  { uidValidity, threadsVersion }: Pick<FolderState, 'uidValidity' | 'threadsVersion'>,
): FetchedMessage {
  return {
    ref: { folder, uidValidity, uid: Number(row.uid) },
    seen: row.seen,
    flagged: row.flagged,
    answered: row.answered,
    draft: row.draft,
    keywords: row.keywords ?? [],
    size: Number(row.size),
    receivedAt: new Date(Number(row.received_at)),
    sentAt: row.sent_at === null ? null : new Date(Number(row.sent_at)),
    hasAttachments: row.has_attachment,
    ...(row.provider_id === null
      ? {}
      : { providerId: ofProviderColumn(row.provider_id), alsoIn: row.also_in ?? [] }),
    ...(row.envelope === null ? EMPTY : unpackEnvelope(row.envelope)),
    ...(threadsVersion === null || row.thread_id === null ? {} : { threadId: row.thread_id }),
  };
}

/** An unsigned 64-bit number as Postgres's signed `bigint`, and back. */
export const providerColumn = (id: string): string => String(BigInt.asIntN(64, BigInt(id)));
const ofProviderColumn = (stored: string): string => String(BigInt.asUintN(64, BigInt(stored)));

/** One value per column of both tables, without the numbers of mailbox and folder. */
export interface StoredMessage {
  readonly uid: number;
  readonly receivedAt: number;
  readonly sentAt: number | null;
  readonly size: number;
  readonly threadKey: string | null;
  readonly threadNames: readonly ThreadName[];
  readonly messageKey: string | null;
  readonly flags: StoredFlags;
  readonly hasAttachment: boolean;
  readonly providerId: string | null;
  readonly words: string;
  readonly envelope: string;
}

export function storedMessage(message: MirroredMessage, threadId: (root: string) => string): StoredMessage {
  const { ref, receivedAt, sentAt, size, threadRoot, messageId, providerId } = message;
  return {
    uid: ref.uid,
    receivedAt: receivedAt.getTime(),
    sentAt: sentAt?.getTime() ?? null,
    size,
    threadKey: threadRoot === null ? null : keyOfText(threadId(threadRoot)),
    threadNames: threadNames(message, threadId),
    messageKey: messageId === null ? null : keyOfText(bareMessageId(messageId)),
    flags: { ...message, keywords: keywordColumn(message.keywords) },
    hasAttachment: message.hasAttachments,
    providerId: providerId === undefined ? null : providerColumn(providerId),
    words: foldedWords(message),
    envelope: packEnvelope(message),
  };
}

export interface StoredFlags {
  readonly seen: boolean;
  readonly flagged: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
  readonly deleted: boolean;
  /** Joined by spaces, which no keyword contains (RFC 3501 atom); null = none. */
  readonly keywords: string | null;
}

/** Flags as the server writes them; system flags are case-insensitive (RFC 3501 2.3.2). */
export function storedFlags(flags: readonly string[]): StoredFlags {
  const system = new Set(flags.map((flag) => flag.toLowerCase()));
  return {
    seen: system.has('\\seen'),
    flagged: system.has('\\flagged'),
    answered: system.has('\\answered'),
    draft: system.has('\\draft'),
    deleted: system.has('\\deleted'),
    keywords: keywordColumn(flags.filter((flag) => !flag.startsWith('\\'))),
  };
}

const keywordColumn = (keywords: readonly string[]): string | null =>
  keywords.length === 0 ? null : keywords.join(' ');
