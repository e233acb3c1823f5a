/**
 * A filter as SQL over `m` (`mirror.message`) and `t` (`mirror.message_text`). Where SQL cannot express exactly what
 * `matches` decides, the condition includes more and says so; it never excludes a match.
 */
import { foldText, isCleanText } from '../../commands/mail/fold-text.ts';
import type { Filter } from '../../commands/mail/mail-filter.ts';
import { bareMessageId, domainOf, foldKeyword, type LeafKey, leafKeys } from '../../commands/mail/matches.ts';
import { ELEMENT, type Section, SECTION_END, SECTIONS } from './message-row.ts';
import { keyOfText, namesOfThreads } from './threads.ts';

export interface Condition {
  readonly sql: string;
  /** True when nothing remains to be checked. */
  readonly isExact: boolean;
  /** True when it reads `t`. */
  readonly readsText: boolean;
}

/** Values of a statement; `add` returns the placeholder. */
export class Parameters {
  readonly values: unknown[] = [];
  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${String(this.values.length)}::${type}`;
  }
}

export const ALL: Condition = { sql: 'true', isExact: true, readsText: false };
const NONE: Condition = { ...ALL, sql: 'false' };
const UNKNOWN: Condition = { ...ALL, isExact: false };

/** Conditions that must all hold: the top-level parts of the filter, so that they can be tested one after the other. */
export function conditionsOf(filter: Filter, parameters: Parameters): readonly Condition[] {
  return partsOf(filter, true, parameters);
}

/** All of them hold. */
export const allOf = (parts: readonly Condition[]): Condition => join(parts, 'and', ALL);

function partsOf(filter: Filter, holds: boolean, parameters: Parameters): readonly Condition[] {
  const { all = [], any, not } = filter;
  const inner = (each: Filter): Condition => conditionOf(each, holds, parameters);
  // De Morgan: where a filter must fail, "any" of its groups becomes "all".
  const anyOf = any && join(any.map(inner), holds ? 'or' : 'and', holds ? NONE : ALL);
  return [
    ...leafKeys(filter).map((key) => leafOf(key, filter, holds, parameters)),
    ...all.map(inner),
    ...(anyOf ? [anyOf] : []),
    ...(not ? [conditionOf(not, !holds, parameters)] : []),
  ];
}

/** The filter holds, or it fails. */
const conditionOf = (filter: Filter, holds: boolean, parameters: Parameters): Condition =>
  join(partsOf(filter, holds, parameters), holds ? 'and' : 'or', holds ? ALL : NONE);

function join(parts: readonly Condition[], word: 'and' | 'or', empty: Condition): Condition {
  const [first] = parts;
  if (first === undefined) return empty;
  return {
    sql: parts.length === 1 ? first.sql : `(${parts.map(({ sql }) => sql).join(` ${word} `)})`,
    isExact: parts.every(({ isExact }) => isExact),
    readsText: parts.some(({ readsText }) => readsText),
  };
}

function leafOf(key: LeafKey, filter: Filter, holds: boolean, parameters: Parameters): Condition {
  // A condition that includes too much would, when negated, exclude matches.
  if (!holds && FOUND_BY_KEY.has(key)) return UNKNOWN;
  const value = filter[key];
  // The table maps each key to the SQL of its own value; TypeScript cannot follow that through a variable key.
  const leaf = (LEAVES[key] as (value: unknown, parameters: Parameters) => Condition)(value, parameters);
  return holds ? leaf : { ...leaf, sql: negated(leaf.sql) };
}

const FOUND_BY_KEY: ReadonlySet<LeafKey> = new Set(['message_id_header', 'body_contains', 'header']);

/** Bare columns stay recognisable to partial indexes. */
const negated = (sql: string): string => (sql.startsWith('not m.') ? sql.slice('not '.length) : `not ${sql}`);

type Leaves = {
  readonly [K in LeafKey]: (value: Exclude<Filter[K], undefined>, parameters: Parameters) => Condition;
};

const exact = (sql: string): Condition => ({ sql, isExact: true, readsText: false });
const flag = (column: string) => (value: boolean) => exact(value ? `m.${column}` : `not m.${column}`);
const instant = (parameters: Parameters, text: string): string => parameters.add(Date.parse(text), 'bigint');

const section = (name: Section): string =>
  `split_part(t.words, E'\\x${SECTION_END.charCodeAt(0).toString(16)}', ${String(SECTIONS[name])})`;

/** A text in one of the sections contains the part. A row without such a text has an empty section. */
const contains =
  (...names: readonly Section[]) =>
  (part: string, parameters: Parameters): Condition => {
    const folded = foldText(part);
    if (!isCleanText(folded)) return NONE;
    const pattern = folded === '' ? null : parameters.add(likePattern(folded), 'text');
    const each = names.map((name) =>
      pattern === null ? `${section(name)} <> ''` : `${section(name)} like ${pattern}`,
    );
    return { sql: `(${each.join(' or ')})`, isExact: true, readsText: true };
  };

/** A `like` pattern that finds the text anywhere. */
export const likePattern = (folded: string): string => `%${folded.replaceAll(/[\\%_]/g, '\\$&')}%`;

/** A domain between element marks must match completely. */
const fromDomain = (domain: string, parameters: Parameters): Condition => {
  const wanted = domainOf(domain);
  if (!isCleanText(wanted)) return NONE;
  const text = parameters.add(ELEMENT + wanted + ELEMENT, 'text');
  return { sql: `(strpos(${section('fromDomains')}, ${text}) > 0)`, isExact: true, readsText: true };
};

const keyword = (parameters: Parameters, value: string): string => {
  const folded = parameters.add(foldKeyword(value), 'text');
  return `exists (select from unnest(m.keywords) as own where lower(own collate "C") = ${folded})`;
};

const key = (column: string, text: string, parameters: Parameters): Condition => ({
  sql: `(m.${column} = ${parameters.add(keyOfText(text), 'bigint')})`,
  isExact: false,
  readsText: false,
});

/**
 * The message is in one of the threads with these names. Nothing remains to be checked: keys come from keyed hashes, so
 * that names with colliding keys cannot be chosen.
 */
export const inThreads = (nameKeys: readonly string[], parameters: Parameters): Condition =>
  exact(
    `(m.thread_key is not null and m.thread_key = any(${namesOfThreads(parameters.add(nameKeys, 'bigint[]'))}))`,
  );

const LEAVES: Leaves = {
  seen: flag('seen'),
  flagged: flag('flagged'),
  answered: flag('answered'),
  draft: flag('draft'),
  has_attachment: flag('has_attachment'),
  from_contains: contains('from'),
  to_contains: contains('to'),
  cc_contains: contains('cc'),
  any_address: contains('from', 'to', 'cc', 'others'),
  from_domain: fromDomain,
  subject_contains: contains('subject'),
  // Only the mail server can decide these: a query with them never comes here.
  body_contains: () => UNKNOWN,
  header: () => UNKNOWN,
  received_after: (text, parameters) => exact(`(m.received_at >= ${instant(parameters, text)})`),
  received_before: (text, parameters) => exact(`(m.received_at < ${instant(parameters, text)})`),
  sent_after: (text, parameters) =>
    exact(`(m.sent_at is not null and m.sent_at >= ${instant(parameters, text)})`),
  sent_before: (text, parameters) =>
    exact(`(m.sent_at is not null and m.sent_at < ${instant(parameters, text)})`),
  size_min: (bytes, parameters) => exact(`(m.size >= ${parameters.add(bytes, 'bigint')})`),
  size_max: (bytes, parameters) => exact(`(m.size <= ${parameters.add(bytes, 'bigint')})`),
  keyword: (value, parameters) => exact(`(${keyword(parameters, value)})`),
  not_keyword: (value, parameters) => exact(`(not ${keyword(parameters, value)})`),
  thread_id: (id, parameters) => inThreads([keyOfText(id)], parameters),
  message_id_header: (id, parameters) => key('message_key', bareMessageId(id), parameters),
  attachment_name_contains: contains('attachments'),
};

/** LIKE patterns that `words` of every match fits and that a trigram index supports: three letters in a row. */
export function wordPatterns(filter: Filter): readonly string[] {
  const own = TEXT_KEYS.flatMap((name) => filter[name] ?? [])
    .map(foldText)
    .filter(isCleanText);
  const domains = filter.from_domain === undefined ? [] : [domainOf(filter.from_domain)].filter(isCleanText);
  const texts = [...own, ...domains.map((domain) => ELEMENT + domain + ELEMENT)];
  const usable = texts.filter((text) => /[\p{L}\p{N}]{3}/u.test(text)).map(likePattern);
  return [...usable, ...(filter.all ?? []).flatMap(wordPatterns)];
}

const TEXT_KEYS = [
  'subject_contains',
  'from_contains',
  'to_contains',
  'cc_contains',
  'any_address',
  'attachment_name_contains',
] as const;
