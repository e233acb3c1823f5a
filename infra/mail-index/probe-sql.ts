/**
 * A page of messages with some words, in one statement that finds out whether they are common: that shows among the newest
 * messages. Common words fill the page in a glance; of rare ones the index of words names every message. One plan serves
 * all words, so it is bounded, and reports where it is not enough.
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
const NEWEST = 128;
/** Messages of a glance. */
export const GLANCED = 512;
/** Messages with the words that are read one by one. */
const MOST_SOUGHT = 1_024;
/** A share of the page: what promises no more than that is not looked at further. */
export const PROMISING = 0.5;

/**
 * `complete`: every match was found, or the page is full. `newest`: only matches among the newest messages. `too_many`:
 * nothing, as too many messages have the words.
 */
export type Probed = 'complete' | 'newest' | 'too_many';

/** A probe needs words that their index supports, and an order of `mirror.message`. */
export const canProbe = ({ filter, order, limit }: PageAsk): boolean =>
  limit !== null && wordPatterns(filter).length > 0 && !isTextOrder(order);

interface ProbeSql {
  /** The tables before `page`. */
  readonly before: string;
  readonly page: string;
  /** A column of `Probed`. */
  readonly probed: string;
}

export function probeSql(ask: PageAsk, parameters: Parameters): ProbeSql {
  const enough = Math.ceil(((ask.limit ?? 0) * PROMISING * NEWEST) / GLANCED);
  const isCommon = `(select count(*) >= ${String(enough)} from newest)`;
  const glance = (most: number, when: string): string =>
    walkedMessages(ask, { kind: 'glance', most }, parameters, when);
  // Not as parameters of the search itself, for which Postgres would plan anew each time.
  const patterns = wordPatterns(ask.filter).map((pattern) => parameters.add(pattern, 'text'));
  const words = patterns.map((_, at) => `t.words like (select w${String(at)} from asked_words)`);
  const condition = allOf(conditionsOf(ask.filter, parameters));
  const { order, after } = ask;
  const wanted = [
    `(select count(*) <= ${String(MOST_SOUGHT)} from sought)`,
    listed(ask),
    condition.sql,
    ...(after === null ? [] : [keysetAfter(after, order, parameters)]),
  ];
  return {
    before: `
      newest as materialized (${glance(NEWEST, '(select yes from ready)')}),
      glanced as materialized (${glance(GLANCED, isCommon)}),
      asked_words as materialized (select ${patterns.map((each, at) => `${each} as w${String(at)}`).join(', ')}),
      sought as materialized (
        select t.folder_number, t.uid from mirror.message_text t
        where t.mailbox_number = $1::int and t.folder_number = any($2::int[]) and ${words.join(' and ')}
          and (select yes from ready) and not ${isCommon}
        limit ${String(MOST_SOUGHT + 1)}),`,
    page: `
      select * from glanced
      union all
      (select m.*, ${valueOf(order)} as value from sought
       cross join lateral (select * from mirror.message m where m.mailbox_number = $1::int
         and m.folder_number = sought.folder_number and m.uid = sought.uid offset 0) m
       cross join lateral (select * from mirror.message_text t where ${SAME_MESSAGE} offset 0) t
       where ${wanted.join(' and ')} ${ordering(order, 'm', valueOf(order))} ${limitOf(ask)})`,
    probed: `
      case when ${isCommon} then 'newest'
        when (select count(*) > ${String(MOST_SOUGHT)} from sought) then 'too_many' else 'complete' end`,
  };
}
