/** The request for a page, and the SQL that follows from its order. */
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { Keyset, Order } from '../../commands/mail/query.ts';
import { orderField, SORTED_CHARS } from '../../commands/mail/query.ts';
import type { Parameters } from './filter-sql.ts';
import type { WholeMailbox } from './folder-mirror.ts';

/**
 * Ways to find the candidates. `walk`: down the index of the order until the page is full. `glance`: the same, but at most
 * a given number of messages is read, matching or not. `sift`: all matches, then sorted.
 */
export type Way = { readonly kind: 'walk' | 'sift' } | { readonly kind: 'glance'; readonly most: number };

export interface PageAsk {
  readonly mailbox: WholeMailbox;
  readonly folderNumbers: readonly number[];
  readonly filter: Filter;
  readonly order: Order;
  readonly after: Keyset | null;
  /** Null = all of them. */
  readonly limit: number | null;
  /** Only messages of the threads with one of these names. */
  readonly threadKeys: readonly string[] | null;
  /** Whether to select the messages themselves, or only their places. */
  readonly withEnvelope: boolean;
}

export const SAME_MESSAGE =
  't.mailbox_number = m.mailbox_number and t.folder_number = m.folder_number and t.uid = m.uid';
export const TEXT_JOIN = `join mirror.message_text t on ${SAME_MESSAGE}`;

/**
 * A message that is in several folders is reported in the first of those requested (`$2`), as `isHome` decides. `\Deleted`
 * or not: the mark in that folder decides.
 */
const AT_HOME = `(m.provider_id is null or not exists (select from mirror.message other
  where other.mailbox_number = $1::int and other.provider_id = m.provider_id
    and array_position($2::int[], other.folder_number) < array_position($2::int[], m.folder_number)))`;

/** Messages of the requested folders that may be listed, before any filter. */
export const listed = ({ folderNumbers }: Pick<PageAsk, 'folderNumbers'>): string =>
  folderNumbers.length > 1 ? `not m.deleted and ${AT_HOME}` : 'not m.deleted';

export const direction = (order: Order): 'asc' | 'desc' => (order.endsWith('_desc') ? 'desc' : 'asc');
export const beyond = (order: Order): '<' | '>' => (direction(order) === 'desc' ? '<' : '>');

export const ordering = (order: Order, alias: string): string => {
  const turn = direction(order);
  return `order by ${alias}.value ${turn}, ${alias}.folder_number ${turn}, ${alias}.uid ${turn}`;
};

export const limitOf = ({ limit }: PageAsk, parameters: Parameters): string =>
  limit === null ? '' : `limit ${parameters.add(limit, 'bigint')}`;

/** The value `keysetOf` reads from a message, written as in the indexes of `mirror`. */
const VALUES = {
  received: 'm.received_at',
  sent: 'coalesce(m.sent_at, m.received_at)',
  size: 'm.size',
  subject: `left(substr(split_part(t.words, E'\\x1e', 1), 2), ${String(SORTED_CHARS)})`,
  from: `left(split_part(split_part(t.words, E'\\x1e', 2), E'\\n', 3), ${String(SORTED_CHARS)})`,
} as const;

export const valueOf = (order: Order): string => VALUES[orderField(order)];

/** True for the orders whose value is in `mirror.message_text`. */
export const isTextOrder = (order: Order): boolean => valueOf(order).includes('t.words');

/** The keyset's value as a parameter. */
export const valueParameter = ({ value }: Keyset, parameters: Parameters): string =>
  parameters.add(value, typeof value === 'string' ? 'text' : 'bigint');
