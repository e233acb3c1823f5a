/** The statements behind a page: candidates in order after a keyset, with the state of the copies in the same snapshot. */
import type { Filter } from '../../commands/kernel/mail-filter.ts';
import type { Keyset, Order } from '../../commands/kernel/mail-port.ts';
import { orderField, SORTED_CHARS } from '../../commands/kernel/message-order.ts';
import { allOf, type Condition, conditionsOf, Parameters, wordPatterns } from './filter-sql.ts';

/**
 * Ways to the candidates. `walk`: down the received order until the page is full. `glance`: the same, but at most so many
 * messages are looked at, matching or not. `sift`: all that match, then sorted.
 */
export type Way = { readonly kind: 'walk' | 'sift' } | { readonly kind: 'glance'; readonly most: number };

export interface PageAsk {
  readonly mailboxNumber: number;
  readonly folderNumbers: readonly number[];
  readonly filter: Filter;
  readonly order: Order;
  readonly after: Keyset | null;
  /** Null = all of them. */
  readonly limit: number | null;
  /** Only messages of these threads. */
  readonly threadKeys: readonly string[] | null;
  /** Whether the messages themselves are wanted, or only their places. */
  readonly withEnvelope: boolean;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

const SAME_MESSAGE =
  't.mailbox_number = m.mailbox_number and t.folder_number = m.folder_number and t.uid = m.uid';
const TEXT_JOIN = `join mirror.message_text t on ${SAME_MESSAGE}`;
const TEXT_OF_M = `mirror.message_text t where ${SAME_MESSAGE}`;

/**
 * One row per folder asked for, and in its place one per message of the page. No message is looked for unless the copies
 * of all folders are there, complete and trusted.
 */
const around = (page: string, columns: string, joins: string, ordered: string): string => `
  with state as materialized (
    select folder_number, uid_validity, uid_next, indexed, highest_modseq, feed_position,
      indexed_from = 1 and trusted = distrusts as usable, coalesce(vouched_until > now(), false) as vouched
    from mirror.folder where mailbox_number = $1::int and folder_number = any($2::int[])),
  ready as materialized (
    select count(*) = cardinality($2::int[]) and bool_and(usable) as yes from state),
  page as materialized (${page})
  select state.*, ${columns}
  from state left join ${joins} on found.folder_number = state.folder_number
  ${ordered}`;

const PLACE_COLUMNS =
  'found.uid, found.received_at, found.sent_at, found.size, found.seen, found.flagged, found.answered, found.draft, found.has_attachment, found.keywords';

/** The statement for a page. */
export function pageStatement(ask: PageAsk, way: Way): Statement {
  const parameters = new Parameters();
  parameters.add(ask.mailboxNumber, 'int');
  parameters.add(ask.folderNumbers, 'int[]');
  const places = way.kind === 'sift' ? siftedPlaces(ask, parameters) : walkedPlaces(ask, way, parameters);
  const text = ask.withEnvelope ? `left ${TEXT_JOIN}` : '';
  const envelope = ask.withEnvelope ? 't.envelope' : 'null::text as envelope';
  const found = `
    (select m.*, page.value, ${envelope} from page join mirror.message m on m.mailbox_number = $1::int
      and m.folder_number = page.folder_number and m.uid = page.uid ${text}) as found`;
  return {
    text: around(places, `${PLACE_COLUMNS}, found.envelope`, found, ordering(ask.order, 'found')),
    values: parameters.values,
  };
}

/** The statement that counts the matches of an exact filter; the number comes back in `count`. */
export function countStatement(ask: PageAsk): Statement {
  const parameters = new Parameters();
  parameters.add(ask.mailboxNumber, 'int');
  parameters.add(ask.folderNumbers, 'int[]');
  const { condition, join } = filtered(ask, parameters);
  const page = `
    select m.folder_number, count(*) as count from mirror.message m ${join}
    where m.mailbox_number = $1::int and m.folder_number = any($2::int[]) and not m.deleted and ${condition.sql}
      and (select yes from ready) group by m.folder_number`;
  const columns = 'null::bigint as uid, found.count';
  return { text: around(page, columns, 'page as found', ''), values: parameters.values };
}

/** True when SQL alone decides, so that what it finds needs no check and may be counted there. */
export const isExactInSql = (filter: Filter): boolean =>
  allOf(conditionsOf(filter, new Parameters())).isExact;

const direction = (order: Order): 'asc' | 'desc' => (order.endsWith('_desc') ? 'desc' : 'asc');
const beyond = (order: Order): '<' | '>' => (direction(order) === 'desc' ? '<' : '>');

const ordering = (order: Order, alias: string): string => {
  const turn = direction(order);
  return `order by ${alias}.value ${turn}, ${alias}.folder_number ${turn}, ${alias}.uid ${turn}`;
};

const limitOf = ({ limit }: PageAsk, parameters: Parameters): string =>
  limit === null ? '' : `limit ${parameters.add(limit, 'bigint')}`;

/** The filter and the threads as one condition, and the join it needs. */
function filtered(ask: PageAsk, parameters: Parameters): { condition: Condition; join: string } {
  const condition = allOf([...threadsOf(ask, parameters), ...conditionsOf(ask.filter, parameters)]);
  return { condition, join: condition.readsText ? TEXT_JOIN : '' };
}

const threadsOf = ({ threadKeys }: PageAsk, parameters: Parameters): readonly Condition[] =>
  threadKeys === null
    ? []
    : [
        {
          sql: `m.thread_key = any(${parameters.add(threadKeys, 'bigint[]')})`,
          isExact: false,
          readsText: false,
        },
      ];

/** Folder by folder, so that each is one stretch of the index; only then all in one order. */
function walkedPlaces(ask: PageAsk, way: Way, parameters: Parameters): string {
  const { order, after } = ask;
  const turn = direction(order);
  const conditions = conditionsOf(ask.filter, parameters);
  const begin = after === null ? '' : `and ${rangeAfter(after, order, parameters)}`;
  const limit = limitOf(ask, parameters);
  const sorted = `order by m.received_at ${turn}, m.uid ${turn}`;
  const inFolder = `m.mailbox_number = $1::int and m.folder_number = number and not m.deleted ${begin}`;
  const plain = allOf(conditions.filter(({ readsText }) => !readsText)).sql;
  const ofText = conditions.filter(({ readsText }) => readsText);
  // Asked of one message after the other, and no further than the page needs: a join would be planned for all of them.
  const texts = ofText.length === 0 ? 'true' : `(select ${allOf(ofText).sql} from ${TEXT_OF_M})`;
  const columns = 'm.folder_number, m.uid, m.received_at as value';
  const rows =
    way.kind === 'glance'
      ? `select ${columns} from (
          select * from mirror.message m where ${inFolder} and ${plain} ${sorted} limit ${String(way.most)}) m
        where ${texts} ${sorted} ${limit}`
      : `select ${columns} from mirror.message m where ${inFolder} and ${plain} and ${texts} ${sorted} ${limit}`;
  const bounds = parameters.add(
    ask.folderNumbers.map((number) => uidBound(number, after, order)),
    'bigint[]',
  );
  return `
    select place.* from unnest($2::int[], ${bounds}) as asked (number, bound)
    cross join lateral (${rows}) as place where (select yes from ready)
    ${ordering(order, 'place')} ${limit}`;
}

const rangeAfter = (after: Keyset, order: Order, parameters: Parameters): string =>
  `(m.received_at, m.uid) ${beyond(order)} (${parameters.add(after.value, 'bigint')}, asked.bound)`;

/** UIDs are 32 bits (RFC 3501 2.3.1.1). */
const BEYOND_UIDS = 2 ** 32;

/** Among messages of the keyset's date the folder decides first: all of a folder come after the keyset, or none. */
function uidBound(folderNumber: number, after: Keyset | null, order: Order): number {
  if (after === null || folderNumber === after.folderNumber) return after?.uid ?? 0;
  const comesAfter =
    direction(order) === 'desc' ? folderNumber < after.folderNumber : folderNumber > after.folderNumber;
  return comesAfter === (direction(order) === 'desc') ? BEYOND_UIDS : -1;
}

/** `value` as `keysetOf` reads it off a message. */
const VALUES = {
  received: 'm.received_at',
  sent: 'coalesce(m.sent_at, m.received_at)',
  size: 'm.size',
  subject: `left(substr(split_part(t.words, E'\\x1e', 1), 2), ${String(SORTED_CHARS)})`,
  from: `left(split_part(split_part(t.words, E'\\x1e', 2), E'\\n', 3), ${String(SORTED_CHARS)})`,
} as const;

function siftedPlaces(ask: PageAsk, parameters: Parameters): string {
  const field = orderField(ask.order);
  const value = VALUES[field];
  const isText = field === 'subject' || field === 'from';
  const { condition } = filtered(ask, parameters);
  const patterns = wordPatterns(ask.filter).map(
    (pattern) => `t.words like ${parameters.add(pattern, 'text')}`,
  );
  const join = condition.readsText || isText || patterns.length > 0 ? TEXT_JOIN : '';
  const wanted = [
    'm.mailbox_number = $1::int and m.folder_number = any($2::int[]) and not m.deleted',
    ...(join === '' ? [] : ['t.mailbox_number = $1::int and t.folder_number = any($2::int[])']),
    ...patterns,
    condition.sql,
    ...(ask.after === null ? [] : [keysetAfter(ask.after, ask.order, value, parameters)]),
    '(select yes from ready)',
  ];
  return `
    select place.* from (
      select m.folder_number, m.uid, ${value} as value from mirror.message m ${join}
      where ${wanted.join(' and ')}) as place
    ${ordering(ask.order, 'place')} ${limitOf(ask, parameters)}`;
}

function keysetAfter(after: Keyset, order: Order, value: string, parameters: Parameters): string {
  const isText = typeof after.value === 'string';
  const begin = parameters.add(after.value, isText ? 'text' : 'bigint');
  const folder = parameters.add(after.folderNumber, 'int');
  const uid = parameters.add(after.uid, 'bigint');
  return `(${value}, m.folder_number, m.uid) ${beyond(order)} (${begin}, ${folder}, ${uid})`;
}
