/** The request for a page, the SQL that follows from its order, and the walk down the index of that order. */
import type { Filter } from '../../commands/mail/mail-filter.ts';
import { type Keyset, type Order, orderField, SORTED_CHARS } from '../../commands/mail/query.ts';
import { allOf, type Condition, conditionsOf, type Parameters } from './filter-sql.ts';
import type { WholeMailbox } from './folder-mirror.ts';

/**
 * Ways to find the candidates. `walk`: down the index of the order until the page is full. `glance`: the same, but at most
 * a given number of messages is read, matching or not. `sift`: all matches, then sorted. `probe`: a glance where the first
 * messages promise a full page, else all matches, if few messages have the words (`probe-sql.ts`).
 */
export type Way =
  { readonly kind: 'walk' | 'sift' | 'probe' } | { readonly kind: 'glance'; readonly most: number };

export interface PageAsk {
  readonly mailbox: WholeMailbox;
  readonly folderNumbers: readonly number[];
  readonly filter: Filter;
  readonly order: Order;
  readonly after: Keyset | null;
  /** Null = all of them. */
  readonly limit: number | null;
  /** A page is full with so many, where the limit was rounded up; absent = the limit. */
  readonly full?: number | null;
  /** Only messages of the threads with one of these names. */
  readonly threadKeys: readonly string[] | null;
  /** Whether to select the messages themselves, or only their places. */
  readonly withEnvelope: boolean;
  /** The folders in which a message may be the first of its sender; null where nobody asks. With the envelope. */
  readonly contactsIn: readonly number[] | null;
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

export const ordering = (order: Order, alias: string, value = `${alias}.value`): string => {
  const turn = direction(order);
  return `order by ${value} ${turn}, ${alias}.folder_number ${turn}, ${alias}.uid ${turn}`;
};

/** In the text: for a limit as a parameter Postgres plans for a tenth of the rows, and then plans for the values each time. */
export const limitOf = ({ limit }: PageAsk): string => (limit === null ? '' : `limit ${String(limit)}`);

/** The value `keysetOf` reads from a message, written as in the indexes of `mirror`. */
const VALUES = {
  received: 'm.received_at',
  sent: 'coalesce(m.sent_at, m.received_at)',
  size: 'm.size',
  subject: `left(substr(split_part(t.words, E'\\x1e', 1), 2), ${String(SORTED_CHARS)})`,
  from: `left(split_part(split_part(t.words, E'\\x1e', 2), E'\\n', 3), ${String(SORTED_CHARS)})`,
} as const;

export const valueOf = (order: Order): string => VALUES[orderField(order)];

/** The address of the first sender, as the index of the order by sender has it. */
export const SENDER = valueOf('from_asc');

/** True for the orders whose value is in `mirror.message_text`. */
export const isTextOrder = (order: Order): boolean => valueOf(order).includes('t.words');

/** The place is after the keyset. */
export function keysetAfter(after: Keyset, order: Order, parameters: Parameters): string {
  const value = valueParameter(after, parameters);
  const folder = parameters.add(after.folderNumber, 'int');
  const uid = parameters.add(after.uid, 'bigint');
  return `(${valueOf(order)}, m.folder_number, m.uid) ${beyond(order)} (${value}, ${folder}, ${uid})`;
}

/** The keyset's value as a parameter. */
export const valueParameter = ({ value }: Keyset, parameters: Parameters): string =>
  parameters.add(value, typeof value === 'string' ? 'text' : 'bigint');

/**
 * Messages with the `value` they are ordered by, all columns of both. Folder by folder, so that each is one contiguous
 * range of the index; then merged into one order. A glance ends after the first messages of the merged order: were it to
 * end in each folder, a folder with hits farther down would lose them to others with older hits.
 */
export function walkedMessages(
  ask: PageAsk,
  way: Way,
  parameters: Parameters,
  when = '(select yes from ready)',
): string {
  const { order } = ask;
  const { alias, looked, found } = isTextOrder(order)
    ? alongTexts(ask, parameters)
    : alongMessages(ask, parameters);
  const asked = askedFolders(ask, parameters);
  const inFolder = sorting(ask, alias);
  if (way.kind !== 'glance') {
    return `
      select walked.* from ${asked}
      cross join lateral (${found(looked)} ${inFolder} ${limitOf(ask)}) as walked where ${when}
      ${ordering(order, 'walked')} ${limitOf(ask)}`;
  }
  const most = `limit ${String(way.most)}`;
  const merged = `
    select looked.* from ${asked} cross join lateral (${looked} ${inFolder} ${most}) as looked
    where ${when} ${ordering(order, 'looked')} ${most}`;
  return `${found(merged)} ${ordering(order, alias)} ${limitOf(ask)}`;
}

/** The folders with the bound of each after the keyset. */
function askedFolders({ order, after, folderNumbers }: PageAsk, parameters: Parameters): string {
  const bounds = parameters.add(
    folderNumbers.map((number) => uidBound(number, after, order)),
    'bigint[]',
  );
  // For an array as a parameter Postgres assumes ten elements, and then plans for the values each time.
  return folderNumbers.length === 1
    ? `(select ($2::int[])[1], (${bounds})[1]) as asked (number, bound)`
    : `unnest($2::int[], ${bounds}) as asked (number, bound)`;
}

/** The rows of one folder that are looked at, and the messages found among such rows. */
interface Walk {
  /** Of the rows in both texts. */
  readonly alias: 'm' | 't';
  readonly looked: string;
  readonly found: (looked: string) => string;
}

function alongMessages(ask: PageAsk, parameters: Parameters): Walk {
  const conditions = conditionsOf(ask.filter, parameters);
  const plain = allOf(conditions.filter(({ readsText }) => !readsText)).sql;
  // Tested message by message: a join would be planned for all of them.
  const texts = textOfEach(conditions.filter(({ readsText }) => readsText));
  return {
    alias: 'm',
    looked: `
      select m.*, ${valueOf(ask.order)} as value from mirror.message m
      where ${stretch(ask, 'm', parameters)} and ${listed(ask)} and ${plain}`,
    found: (looked) => `select m.* from (${looked}) m where ${texts}`,
  };
}

const textOfEach = (conditions: readonly Condition[]): string =>
  conditions.length === 0
    ? 'true'
    : `(select ${allOf(conditions).sql} from mirror.message_text t where ${SAME_MESSAGE})`;

function alongTexts(ask: PageAsk, parameters: Parameters): Walk {
  const condition = allOf(conditionsOf(ask.filter, parameters)).sql;
  return {
    alias: 't',
    looked: `
      select t.*, ${valueOf(ask.order)} as value from mirror.message_text t
      where ${stretch(ask, 't', parameters)}`,
    found: (looked) => `
      select m.*, t.value from (${looked}) t
      cross join lateral (select * from mirror.message m where ${SAME_MESSAGE} offset 0) m
      where ${listed(ask)} and ${condition}`,
  };
}

const sorting = ({ order }: PageAsk, alias: string): string =>
  `order by ${valueOf(order)} ${direction(order)}, ${alias}.uid ${direction(order)}`;

/** The part of one folder's index after the keyset. */
function stretch({ order, after }: PageAsk, alias: string, parameters: Parameters): string {
  const inFolder = `${alias}.mailbox_number = $1::int and ${alias}.folder_number = asked.number`;
  if (after === null) return inFolder;
  const value = valueParameter(after, parameters);
  return `${inFolder} and (${valueOf(order)}, ${alias}.uid) ${beyond(order)} (${value}, asked.bound)`;
}

/** UIDs are 32 bits (RFC 3501 2.3.1.1). */
const BEYOND_UIDS = 2 ** 32;

/** Among messages with the keyset's value the folder decides first: all of a folder come after the keyset, or none. */
function uidBound(folderNumber: number, after: Keyset | null, order: Order): number {
  if (after === null || folderNumber === after.folderNumber) return after?.uid ?? 0;
  const isDescending = direction(order) === 'desc';
  const comesAfter = isDescending ? folderNumber < after.folderNumber : folderNumber > after.folderNumber;
  return comesAfter === isDescending ? BEYOND_UIDS : -1;
}
