/** Turns what imapflow fetched into the port's message. */
import type {
  FetchMessageObject,
  FetchQueryObject,
  MessageAddressObject,
  MessageEnvelopeObject,
} from 'imapflow';
import { parseAddressHeader } from 'mailparser';
import { authenticationResultsOf } from '../../commands/mail/authentication-results.ts';
import { cleanText } from '../../commands/mail/fold-text.ts';
import type { MailQuery } from '../../commands/mail/query.ts';
import type { Address, FetchedMessage, MessageRef } from '../../commands/mail/message.ts';
import { attachmentsOf } from './body-structure.ts';
import { type LabelledFolder, sharedBy } from './labelled-folders.ts';
import { decodeUndeclared } from './charsets.ts';

export type Depth = MailQuery['depth'];

/** imapflow asks for labels only where the server has them (X-GM-EXT-1), and for the provider's id automatically. */
const PLACE: FetchQueryObject = { flags: true, internalDate: true, size: true, labels: true };
const LIST_HEADERS = ['List-Id', 'List-Post'];
const THREAD_HEADERS = ['References', 'Mail-Followup-To'];
const HEADERS = [...THREAD_HEADERS, ...LIST_HEADERS, 'Auto-Submitted', 'Authentication-Results'];
const ENVELOPE: FetchQueryObject = { ...PLACE, envelope: true, headers: HEADERS };

/** The items fetched for each depth. None of them sets `\Seen`: imapflow reads with PEEK. */
export const FETCH_ITEMS: Readonly<Record<Depth, FetchQueryObject>> = {
  place: PLACE,
  envelope: ENVELOPE,
  structure: { ...ENVELOPE, bodyStructure: true },
};

const RANK: Readonly<Record<Depth, number>> = { place: 0, envelope: 1, structure: 2 };

/** The one of two depths that includes the other. */
export const deeper = (a: Depth, b: Depth): Depth => (RANK[a] >= RANK[b] ? a : b);

/** More References than this are useless and may be an attack. */
const MAX_REFERENCES = 1_000;

/** The message with every text decoded. Items that were not fetched are empty. `shared`: `ImapConnection.sharedFolders`. */
export function toFetchedMessage(
  fetched: FetchMessageObject,
  { folder, uidValidity }: Pick<MessageRef, 'folder' | 'uidValidity'>,
  shared: readonly LabelledFolder[] | null,
): FetchedMessage {
  const attachments = fetched.bodyStructure ? attachmentsOf(fetched.bodyStructure) : [];
  return {
    ref: { folder, uidValidity, uid: fetched.uid },
    ...ofPlace(fetched),
    ...ofEnvelope(fetched.envelope ?? {}),
    ...ofHeaders(fetched),
    hasAttachments: attachments.some(({ inline }) => !inline),
    attachments,
    ...sharedBy(shared, fetched, folder),
  };
}

type OfPlace = 'seen' | 'flagged' | 'answered' | 'draft' | 'keywords' | 'size' | 'receivedAt';

function ofPlace(fetched: FetchMessageObject): Pick<FetchedMessage, OfPlace> {
  const flags = flagsOf(fetched);
  return {
    seen: flags.has('\\seen'),
    flagged: flags.has('\\flagged'),
    answered: flags.has('\\answered'),
    draft: flags.has('\\draft'),
    keywords: [...(fetched.flags ?? [])].filter((flag) => !flag.startsWith('\\')),
    size: fetched.size ?? 0,
    receivedAt: dateOf(fetched.internalDate) ?? new Date(0),
  };
}

type OfEnvelope = 'sentAt' | 'subject' | 'from' | 'to' | 'cc' | 'bcc' | 'replyTo';

function ofEnvelope(envelope: MessageEnvelopeObject): Pick<FetchedMessage, OfEnvelope> {
  const { date, from, to, cc, bcc, replyTo } = envelope;
  return {
    sentAt: dateOf(date),
    subject: subjectOf({ envelope }),
    from: addressesOf(from),
    to: addressesOf(to),
    cc: addressesOf(cc),
    bcc: addressesOf(bcc),
    replyTo: isSameList(replyTo, from) ? [] : addressesOf(replyTo),
  };
}

type OfHeaders =
  | 'messageId' | 'inReplyTo' | 'references' | 'threadRoot' | 'autoSubmitted' | 'authenticationResults' | 'followUpTo'; // prettier-ignore

function ofHeaders({ envelope, headers: raw }: FetchMessageObject): Pick<FetchedMessage, OfHeaders> {
  const headers = headerLines(raw);
  const references = messageIds(headers.get('references')?.[0]).slice(0, MAX_REFERENCES);
  const messageId = messageIdOf({ envelope });
  const inReplyTo = firstMessageId(envelope?.inReplyTo);
  return {
    messageId,
    inReplyTo,
    references,
    threadRoot: references[0] ?? inReplyTo ?? messageId,
    autoSubmitted: headers.get('auto-submitted')?.[0]?.toLowerCase() ?? null,
    authenticationResults: authenticationResultsOf(headers.get('authentication-results') ?? []),
    ...followUpOf(headers),
  };
}

/** Used only on mailing lists: elsewhere it is one more field by which a stranger chooses where replies go. */
function followUpOf(headers: ReadonlyMap<string, readonly string[]>): Pick<FetchedMessage, 'followUpTo'> {
  const isOfList = LIST_HEADERS.some((name) => headers.has(name.toLowerCase()));
  const [value] = isOfList ? (headers.get('mail-followup-to') ?? []) : [];
  const { value: entries } = parseAddressHeader(value);
  const addresses = addressesOf(entries.map(({ name, address = '' }) => ({ name, address })));
  return addresses.length > 0 ? { followUpTo: addresses } : {};
}

/** Decoded; null when the message has none. */
export const subjectOf = ({ envelope }: Pick<FetchMessageObject, 'envelope'>): string | null =>
  envelope?.subject === undefined ? null : cleanText(envelope.subject);

/** RFC 5322 Message-ID with its brackets; null when the message has none. */
export const messageIdOf = ({ envelope }: Pick<FetchMessageObject, 'envelope'>): string | null =>
  firstMessageId(envelope?.messageId);

const flagsOf = ({ flags }: Pick<FetchMessageObject, 'flags'>): ReadonlySet<string> =>
  new Set([...(flags ?? [])].map((flag) => flag.toLowerCase()));

/** Another client marked it for removal; it is no longer listed. */
export const isDeleted = (fetched: Pick<FetchMessageObject, 'flags'>): boolean =>
  flagsOf(fetched).has('\\deleted');

/** imapflow leaves an unreadable date as text; some programs write dots into the time. */
function dateOf(value: Date | string | undefined): Date | null {
  const date =
    typeof value === 'string'
      ? new Date(value.replace(/\b(\d{1,2})\.(\d{2})(?:\.(\d{2}))?\b/, dottedTime))
      : value;
  return date === undefined || Number.isNaN(date.getTime()) ? null : date;
}

const dottedTime = (_: string, hour: string, minute: string, second = '00'): string =>
  `${hour}:${minute}:${second}`;

/** What Dovecot, Cyrus and UW imapd write where a header has no domain or no mailbox. */
const MADE_BY_SERVER =
  /^missing_mailbox@|@(?:missing_domain|unspecified-domain|\.missing-host-name\.|\.syntax-error\.)$/i;

/** Group names (RFC 5322 3.4) and words that are not addresses have none, and are omitted. */
const addressesOf = (list: readonly MessageAddressObject[] | undefined): readonly Address[] =>
  (list ?? []).flatMap(({ name, address }) =>
    address && !MADE_BY_SERVER.test(address)
      ? [{ name: name === undefined || name === '' ? null : cleanText(name), email: cleanText(address) }]
      : [],
  );

/** ENVELOPE repeats From where there is no Reply-To (RFC 3501 7.4.2). */
const isSameList = (
  a: readonly MessageAddressObject[] | undefined,
  b: readonly MessageAddressObject[] | undefined,
): boolean =>
  a?.length === b?.length && (a ?? []).every(({ address }, index) => address === b?.[index]?.address);

const messageIds = (text: string | undefined): readonly string[] => text?.match(/<[^<>\s]+>/g) ?? [];

/** Some senders omit the angle brackets, or write more than one id. */
const firstMessageId = (text: string | undefined): string | null => {
  const trimmed = text?.trim() ?? '';
  return messageIds(trimmed)[0] ?? (trimmed === '' ? null : trimmed);
};

/** The values of each field by lower-case name, unfolded (RFC 5322 2.2.3), in header order; raw 8-bit text decoded. */
function headerLines(raw: unknown): ReadonlyMap<string, readonly string[]> {
  // imapflow gives `false` for NIL, as Dovecot answers for a message that is removed meanwhile.
  const text = Buffer.isBuffer(raw) ? decodeUndeclared(raw) : '';
  const lines = text.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name === '') continue;
    const values = headers.get(name);
    if (values) values.push(line.slice(colon + 1).trim());
    else headers.set(name, [line.slice(colon + 1).trim()]);
  }
  return headers;
}
