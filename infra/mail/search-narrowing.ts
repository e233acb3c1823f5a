/**
 * Turns a filter into an IMAP SEARCH that never excludes a match (`contract.md` 4): flags, keywords, size, dates widened by
 * a day, Message-ID. Text is never narrowed by the server, whose rules of case and accents are its own.
 */
import type { SearchObject } from 'imapflow';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import { bareMessageId, type LeafKey, leafKeys } from '../../commands/mail/matches.ts';

const DAY_MS = 86_400_000;
/** RFC 3501 atom: a keyword that is not an atom cannot be on any message. */
const ATOM = /^[^\s(){%*"\\\]\u0000-\u001f\u007f-\uffff]+$/;

/** Null = the server cannot narrow it. */
type Narrowing = SearchObject | null;

/** A search that includes all messages matching the filter; null = all messages. */
export const narrowingOf = (filter: Filter): Narrowing => narrow(filter, true);

function narrow(filter: Filter, positive: boolean): Narrowing {
  const leaves = leafKeys(filter).map((key) => (positive ? HOLDS : FAILS)[key]?.(filter) ?? null);
  const all = (filter.all ?? []).map((inner) => narrow(inner, positive));
  const any = (filter.any ?? []).map((inner) => narrow(inner, positive));
  const not = filter.not ? [narrow(filter.not, !positive)] : [];
  // De Morgan: a filter fails when one of its parts fails.
  return positive
    ? and([...leaves, ...all, ...not, ...(filter.any ? [or(any)] : [])])
    : or([...leaves, ...all, ...not, ...(filter.any ? [and(any)] : [])]);
}

/** AND: parts that cannot be narrowed are omitted. */
function and(parts: readonly Narrowing[]): Narrowing {
  const known = parts.filter((part) => part !== null);
  return known.reduce<Narrowing>((joined, part) => (joined === null ? part : bothOf(joined, part)), null);
}

/** A search object holds each key once; where two need the same key, De Morgan expresses it with `not` and `or`. */
export function bothOf(a: SearchObject, b: SearchObject): SearchObject {
  const clash = Object.keys(a).some((key) => key in b);
  return clash ? { not: { or: [{ not: a }, { not: b }] } } : { ...a, ...b };
}

/** OR: as wide as its widest part. */
function or(parts: readonly Narrowing[]): Narrowing {
  const known = parts.filter((part) => part !== null);
  if (known.length < parts.length) return null;
  const [only] = known;
  return known.length === 1 && only !== undefined ? only : { or: known.map(unseenApart) };
}

/**
 * Dovecot (seen in 2.3.19) answers `OR UNSEEN UNFLAGGED` without the messages before the first unseen one. It does so for
 * UNSEEN and any other negated flag, and not where UNSEEN stands beside a set of UIDs, which here is all.
 */
function unseenApart(part: SearchObject): SearchObject {
  const { seen, not, or: any } = part;
  return {
    ...part,
    ...(seen === false && { uid: '1:*' }),
    ...(not && { not: unseenApart(not) }),
    ...(any && { or: any.map(unseenApart) }),
  };
}

const flag =
  (key: 'seen' | 'flagged' | 'answered' | 'draft', positive: boolean) =>
  (filter: Filter): Narrowing =>
    filter[key] === undefined ? null : { [key]: filter[key] === positive };

const keyword =
  (key: 'keyword' | 'not_keyword', present: boolean) =>
  (filter: Filter): Narrowing => {
    const value = filter[key];
    if (value === undefined || !isAtom(value)) return null;
    return present ? { keyword: value } : { unKeyword: value };
  };

/** The server compares days in its own or the sender's time zone: a day is added on each side. */
const fromDay = (instant: string): Date => new Date(startOfDay(instant) - DAY_MS);
const untilDay = (instant: string): Date => new Date(startOfDay(instant) + 2 * DAY_MS);
const startOfDay = (instant: string): number => Math.floor(Date.parse(instant) / DAY_MS) * DAY_MS;

const since =
  (key: 'received_after' | 'received_before') =>
  (filter: Filter): Narrowing =>
    filter[key] === undefined ? null : { since: fromDay(filter[key]) };
const before =
  (key: 'received_after' | 'received_before') =>
  (filter: Filter): Narrowing =>
    filter[key] === undefined ? null : { before: untilDay(filter[key]) };

const atLeast = (bytes: number | undefined): Narrowing =>
  bytes === undefined || bytes < 2 ? null : { larger: bytes - 1 };
const atMost = (bytes: number | undefined): Narrowing =>
  bytes === undefined ? null : { smaller: bytes + 1 };

const body = ({ body_contains }: Filter): Narrowing =>
  body_contains === undefined ? null : { body: body_contains };
const header = ({ header: field }: Filter): Narrowing =>
  field === undefined ? null : { header: { [field.name]: field.contains } };
const negated = (search: Narrowing): Narrowing => (search === null ? null : { not: search });

type Narrowers = Readonly<Partial<Record<LeafKey, (filter: Filter) => Narrowing>>>;

/** The search when the condition must hold. */
const HOLDS: Narrowers = {
  seen: flag('seen', true),
  flagged: flag('flagged', true),
  answered: flag('answered', true),
  draft: flag('draft', true),
  keyword: keyword('keyword', true),
  not_keyword: keyword('not_keyword', false),
  received_after: since('received_after'),
  received_before: before('received_before'),
  sent_after: ({ sent_after }) => (sent_after === undefined ? null : { sentSince: fromDay(sent_after) }),
  sent_before: ({ sent_before }) =>
    sent_before === undefined ? null : { sentBefore: untilDay(sent_before) },
  size_min: ({ size_min }) => atLeast(size_min),
  size_max: ({ size_max }) => atMost(size_max),
  message_id_header: ({ message_id_header }) =>
    message_id_header === undefined ? null : { header: { 'Message-ID': bareMessageId(message_id_header) } },
  body_contains: body,
  header,
};

/** The search when it must not. A message without a date fails `sent_…` and no search finds it: not narrowed. */
const FAILS: Narrowers = {
  seen: flag('seen', false),
  flagged: flag('flagged', false),
  answered: flag('answered', false),
  draft: flag('draft', false),
  keyword: keyword('keyword', false),
  not_keyword: keyword('not_keyword', true),
  received_after: before('received_after'),
  received_before: since('received_before'),
  size_min: ({ size_min }) => (size_min === undefined || size_min === 0 ? null : { smaller: size_min }),
  size_max: ({ size_max }) => (size_max === undefined || size_max === 0 ? null : { larger: size_max }),
  body_contains: (filter) => negated(body(filter)),
  header: (filter) => negated(header(filter)),
};

export const isAtom = (text: string): boolean => ATOM.test(text);
