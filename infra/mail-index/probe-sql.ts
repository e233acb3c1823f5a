/**
 * A page of messages with some words, in one statement that finds out whether they are common: that shows among the first
 * messages of the order. Common words fill the page in a glance; of rare ones the index of words names every message. One
 * plan serves all words, so few messages are read whatever they are, and the statement reports where that is not enough.
 */
import { allOf, conditionsOf, type Parameters, wordPatterns } from './filter-sql.ts';
import {
  isTextOrder,
  keysetAfter,
  limitOf,
  listed,
  ordering,
  type PageAsk,
  SAME_MESSAGE,
  valueOf,
  walkedMessages,
} from './walk-sql.ts';

/** Messages among which a word counts as common or rare. */
const FIRST = 128;
/** Messages of a glance. */
export const GLANCED = 512;
/** Messages of the mailbox with the words that are read one by one. */
const MOST_SOUGHT = 1_024;
/** A share of the page: where no more than that is expected, no more messages are looked at. */
export const PROMISING = 0.5;

/** A probe needs words that their index supports, and an order of `mirror.message`. */
export const canProbe = ({ filter, order, limit }: PageAsk): boolean =>
  limit !== null && wordPatterns(filter).length > 0 && !isTextOrder(order);

interface ProbeSql {
  /** The tables before `page`. */
  readonly before: string;
  readonly page: string;
  /** A column: true when the page is full or has every match; else it has none, as too many messages have the words. */
  readonly isComplete: string;
}

export function probeSql(ask: PageAsk, parameters: Parameters): ProbeSql {
  const { order, after } = ask;
  const full = ask.full ?? ask.limit ?? 0;
  const enough = parameters.add(Math.ceil((full * PROMISING * FIRST) / GLANCED), 'int');
  const isFull = `(select count(*) >= ${parameters.add(full, 'int')} from glanced)`;
  const areFew = `(select count(*) <= ${String(MOST_SOUGHT)} from sought)`;
  const glance = (most: number, when: string): string =>
    walkedMessages(ask, { kind: 'glance', most }, parameters, when);
  // Not as parameters of the search itself, for which Postgres would plan anew each time.
  const patterns = wordPatterns(ask.filter).map((pattern) => parameters.add(pattern, 'text'));
  const words = patterns.map((_, at) => `t.words like (select w${String(at)} from asked_words)`);
  const wanted = [
    `m.folder_number = any($2::int[]) and ${listed(ask)}`,
    allOf(conditionsOf(ask.filter, parameters)).sql,
    ...(after === null ? [] : [keysetAfter(after, order, parameters)]),
    `not ${isFull} and ${areFew}`,
  ];
  return {
    before: `
      first_ones as materialized (${glance(FIRST, '(select yes from ready)')}),
      glanced as materialized (${glance(GLANCED, `(select count(*) >= ${enough} from first_ones)`)}),
      asked_words as materialized (select ${patterns.map((each, at) => `${each} as w${String(at)}`).join(', ')}),
      sought as materialized (
        select t.folder_number, t.uid from mirror.message_text t
        where t.mailbox_number = $1::int and ${words.join(' and ')} and (select yes from ready) and not ${isFull}
        limit ${String(MOST_SOUGHT + 1)}),`,
    page: `
      select * from glanced where ${isFull}
      union all
      (select m.*, ${valueOf(order)} as value from sought
       cross join lateral (select * from mirror.message m where m.mailbox_number = $1::int
         and m.folder_number = sought.folder_number and m.uid = sought.uid offset 0) m
       cross join lateral (select * from mirror.message_text t where ${SAME_MESSAGE} offset 0) t
       where ${wanted.join(' and ')} ${ordering(order, 'm', valueOf(order))} ${limitOf(ask)})`,
    isComplete: `${isFull} or ${areFew}`,
  };
}
