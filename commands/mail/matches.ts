/**
 * The one definition of a filter's meaning (`contract.md` 4): a pure predicate over a decoded message, used
 * by every path that answers a selection.
 */
import { containsFolded } from './fold-text.ts';
import type { Filter } from './mail-filter.ts';
import type { Address, FetchedMessage } from './message.ts';

/** A condition that only the mail server can evaluate. */
export type ServerLeaf =
  | { readonly key: 'body_contains'; readonly value: string }
  | { readonly key: 'header'; readonly value: { readonly name: string; readonly contains: string } };

export interface MatchContext {
  /** The mail server's answer for this message. */
  readonly serverSays: (leaf: ServerLeaf, message: FetchedMessage) => boolean;
}

export type LeafKey = Exclude<keyof Filter, 'any' | 'all' | 'not'>;
type LeafTests = {
  readonly [K in LeafKey]: (
    message: FetchedMessage,
    value: Exclude<Filter[K], undefined>,
    context: MatchContext,
  ) => boolean;
};

const inAddress = ({ name, email }: Address, part: string): boolean =>
  containsFolded(name, part) || containsFolded(email, part);
const inAny = (addresses: readonly Address[], part: string): boolean =>
  addresses.some((address) => inAddress(address, part));

/** The part that `from_domain` compares: everything after the last `@`, in lower case. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase();
const everyAddress = ({ from, to, cc, bcc, replyTo }: FetchedMessage): readonly Address[] => [
  ...from, ...to, ...cc, ...bcc, ...replyTo,
]; // prettier-ignore

/** RFC 3501 2.3.2: keywords are case-insensitive. They are atoms, so ASCII case is enough. */
export const foldKeyword = (keyword: string): string =>
  keyword.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const hasKeyword = ({ keywords }: FetchedMessage, keyword: string): boolean =>
  keywords.some((own) => foldKeyword(own) === foldKeyword(keyword));

/** A Message-ID without its angle brackets, as `message_id_header` compares it. */
export const bareMessageId = (messageId: string): string => messageId.trim().replace(/^<([^]*)>$/, '$1');
const isFrom = (date: Date | null, instant: string): boolean =>
  date !== null && date.getTime() >= Date.parse(instant);
const isBefore = (date: Date | null, instant: string): boolean =>
  date !== null && date.getTime() < Date.parse(instant);

const LEAF_TESTS: LeafTests = {
  seen: (message, value) => message.seen === value,
  flagged: (message, value) => message.flagged === value,
  answered: (message, value) => message.answered === value,
  draft: (message, value) => message.draft === value,
  has_attachment: (message, value) => message.hasAttachments === value,
  from_contains: (message, part) => inAny(message.from, part),
  to_contains: (message, part) => inAny(message.to, part),
  cc_contains: (message, part) => inAny(message.cc, part),
  any_address: (message, part) => inAny(everyAddress(message), part),
  from_domain: (message, domain) => message.from.some(({ email }) => domainOf(email) === domainOf(domain)),
  subject_contains: (message, part) => containsFolded(message.subject, part),
  body_contains: (message, value, { serverSays }) => serverSays({ key: 'body_contains', value }, message),
  header: (message, value, { serverSays }) => serverSays({ key: 'header', value }, message),
  received_after: (message, instant) => isFrom(message.receivedAt, instant),
  received_before: (message, instant) => isBefore(message.receivedAt, instant),
  sent_after: (message, instant) => isFrom(message.sentAt, instant),
  sent_before: (message, instant) => isBefore(message.sentAt, instant),
  size_min: (message, bytes) => message.size >= bytes,
  size_max: (message, bytes) => message.size <= bytes,
  keyword: hasKeyword,
  not_keyword: (message, keyword) => !hasKeyword(message, keyword),
  thread_id: ({ threadId, mergedThreads = [] }, id) => threadId === id || mergedThreads.includes(id),
  message_id_header: (message, id) =>
    message.messageId !== null && bareMessageId(message.messageId) === bareMessageId(id),
  attachment_name_contains: (message, part) =>
    message.attachments.some(({ filename }) => containsFolded(filename, part)),
};

/** The filter's own conditions, without its groups. */
export const leafKeys = (filter: Filter): readonly LeafKey[] =>
  (Object.keys(LEAF_TESTS) as LeafKey[]).filter((key) => filter[key] !== undefined);

type LeafTest = (message: FetchedMessage, value: unknown, context: MatchContext) => boolean;

function leafHolds(key: LeafKey, filter: Filter, message: FetchedMessage, context: MatchContext): boolean {
  // The table pairs each key with the test of its value; TypeScript cannot follow that through a variable
  // key.
  return (LEAF_TESTS[key] as LeafTest)(message, filter[key], context);
}

/** True when every condition and every group of the filter holds; an empty filter holds for all messages. */
export function matches(message: FetchedMessage, filter: Filter, context: MatchContext): boolean {
  return (
    leafKeys(filter).every((key) => leafHolds(key, filter, message, context)) &&
    (filter.all ?? []).every((inner) => matches(message, inner, context)) &&
    (filter.any === undefined || filter.any.some((inner) => matches(message, inner, context))) &&
    (filter.not === undefined || !matches(message, filter.not, context))
  );
}

const FLAG_LEAVES: readonly LeafKey[] = ['seen', 'flagged', 'answered', 'draft', 'keyword', 'not_keyword'];

/** True when the result depends on flags. */
export function asksForFlags(filter: Filter): boolean {
  const inner = [...(filter.any ?? []), ...(filter.all ?? []), ...(filter.not ? [filter.not] : [])];
  return leafKeys(filter).some((key) => FLAG_LEAVES.includes(key)) || inner.some(asksForFlags);
}

/** The server-defined conditions of a filter, including its groups, each once. */
export function serverLeaves(filter: Filter): readonly ServerLeaf[] {
  const own: ServerLeaf[] = [];
  if (filter.body_contains !== undefined) own.push({ key: 'body_contains', value: filter.body_contains });
  if (filter.header !== undefined) own.push({ key: 'header', value: filter.header });
  const inner = [...(filter.any ?? []), ...(filter.all ?? []), ...(filter.not ? [filter.not] : [])];
  const all = [...own, ...inner.flatMap(serverLeaves)];
  return [...new Map(all.map((leaf) => [leafName(leaf), leaf])).values()];
}

/**
 * True when the matches reveal something of the messages' text: such a filter requires `messages:body` and is
 * a recorded read.
 */
export const looksIntoText = (filter: Filter | undefined): boolean =>
  filter !== undefined && serverLeaves(filter).some(({ key }) => key === 'body_contains');

/** Equal conditions have the same name. */
export const leafName = (leaf: ServerLeaf): string =>
  leaf.key === 'header'
    ? JSON.stringify([leaf.key, leaf.value.name, leaf.value.contains])
    : JSON.stringify([leaf.key, leaf.value]);
