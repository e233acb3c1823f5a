/** Reads candidates from the index of their order, one after the other, and no further than the page needs. */
import type { Keyset, Order } from '../../commands/mail/query.ts';
import { allOf, type Condition, conditionsOf, type Parameters } from './filter-sql.ts';
import {
  beyond,
  direction,
  isTextOrder,
  limitOf,
  listed,
  ordering,
  type PageAsk,
  SAME_MESSAGE,
  valueOf,
  valueParameter,
  type Way,
} from './page-ask.ts';

/** Folder by folder, so that each is one contiguous range of the index; then merged into one order. */
export function walkedPlaces(ask: PageAsk, way: Way, parameters: Parameters): string {
  const { order, after, folderNumbers } = ask;
  const rows = isTextOrder(order) ? alongTexts(ask, way, parameters) : alongMessages(ask, way, parameters);
  const bounds = parameters.add(
    folderNumbers.map((number) => uidBound(number, after, order)),
    'bigint[]',
  );
  return `
    select place.* from unnest($2::int[], ${bounds}) as asked (number, bound)
    cross join lateral (${rows}) as place where (select yes from ready)
    ${ordering(order, 'place')} ${limitOf(ask, parameters)}`;
}

function alongMessages(ask: PageAsk, way: Way, parameters: Parameters): string {
  const conditions = conditionsOf(ask.filter, parameters);
  const plain = allOf(conditions.filter(({ readsText }) => !readsText)).sql;
  const sorted = sorting(ask, 'm');
  // Tested message by message: a join would be planned for all of them.
  const texts = textOfEach(conditions.filter(({ readsText }) => readsText));
  const found = `mirror.message m where ${stretch(ask, 'm', parameters)} and ${listed(ask)} and ${plain}`;
  const glanced =
    way.kind === 'glance'
      ? `(select * from ${found} ${sorted} limit ${String(way.most)}) m where`
      : `${found} and`;
  return `select ${columns(ask, 'm')} from ${glanced} ${texts} ${sorted} ${limitOf(ask, parameters)}`;
}

const textOfEach = (conditions: readonly Condition[]): string =>
  conditions.length === 0
    ? 'true'
    : `(select ${allOf(conditions).sql} from mirror.message_text t where ${SAME_MESSAGE})`;

function alongTexts(ask: PageAsk, way: Way, parameters: Parameters): string {
  const condition = allOf(conditionsOf(ask.filter, parameters)).sql;
  const sorted = sorting(ask, 't');
  const found = `mirror.message_text t where ${stretch(ask, 't', parameters)}`;
  const glanced =
    way.kind === 'glance'
      ? `(select * from ${found} ${sorted} limit ${String(way.most)}) t`
      : `(select * from ${found}) t`;
  return `
    select ${columns(ask, 't')} from ${glanced}
    cross join lateral (select * from mirror.message m where ${SAME_MESSAGE} offset 0) m
    where ${listed(ask)} and ${condition} ${sorted} ${limitOf(ask, parameters)}`;
}

const columns = ({ order }: PageAsk, alias: string): string =>
  `${alias}.folder_number, ${alias}.uid, ${valueOf(order)} as value`;

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
