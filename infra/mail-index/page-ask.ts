/** What a page is asked by, and the words of SQL that follow from its order. */
import type { Filter } from '../../commands/mail/mail-filter.ts';
import type { Keyset, Order } from '../../commands/mail/query.ts';
import { orderField, SORTED_CHARS } from '../../commands/mail/message-order.ts';
import type { Parameters } from './filter-sql.ts';
import type { WholeMailbox } from './folder-mirror.ts';

/**
 * Ways to the candidates. `walk`: down the index of the order until the page is full. `glance`: the same, but at most so many
 * messages are looked at, matching or not. `sift`: all that match, then sorted.
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
  /** Only messages of the threads that have one of these names. */
  readonly threadKeys: readonly string[] | null;
  /** Whether the messages themselves are wanted, or only their places. */
  readonly withEnvelope: boolean;
}

export const SAME_MESSAGE =
  't.mailbox_number = m.mailbox_number and t.folder_number = m.folder_number and t.uid = m.uid';
export const TEXT_JOIN = `join mirror.message_text t on ${SAME_MESSAGE}`;

/**
 * A message that lies in several folders is found in the first of those asked for (`$2`), as `isHome` says. `\Deleted` or
 * not: the mark at home decides.
 */
const AT_HOME = `(m.provider_id is null or not exists (select from mirror.message other
  where other.mailbox_number = $1::int and other.provider_id = m.provider_id
    and array_position($2::int[], other.folder_number) < array_position($2::int[], m.folder_number)))`;

/** What the answer may hold of the folders asked for, before any filter. */
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

/** What `keysetOf` reads off a message, written as the indexes of `mirror` write it. */
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
