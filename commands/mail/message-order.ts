/** The orders of a collection: the sort value of a message, and how two places compare (`contract.md` 4). */
import { foldText } from './fold-text.ts';
import type { Keyset, Order } from './query.ts';
import type { FetchedMessage } from './message.ts';

type OrderField = 'received' | 'sent' | 'size' | 'subject' | 'from';

const VALUE_OF: Readonly<Record<OrderField, (message: FetchedMessage) => string | number>> = {
  received: ({ receivedAt }) => receivedAt.getTime(),
  // A message without a Date header sorts by its arrival.
  sent: ({ sentAt, receivedAt }) => (sentAt ?? receivedAt).getTime(),
  size: ({ size }) => size,
  subject: ({ subject }) => sortText(subject ?? ''),
  from: ({ from }) => sortText(from[0]?.email ?? ''),
};

/** Code points of a text that an order compares: a cursor carries them. */
export const SORTED_CHARS = 200;

const sortText = (text: string): string => {
  const folded = foldText(text);
  // Twice as many code units contain them all, so a long text is not split completely.
  return Array.from(folded.slice(0, SORTED_CHARS * 2))
    .slice(0, SORTED_CHARS)
    .join('')
    .toWellFormed();
};

/** The field that an order compares. */
export const orderField = (order: Order): OrderField => order.slice(0, order.lastIndexOf('_')) as OrderField;

/** The place of a message in an order: a page continues after the keyset of its last message. */
export function keysetOf(message: FetchedMessage, order: Order): Keyset {
  const { folder, uid } = message.ref;
  return { value: VALUE_OF[orderField(order)](message), folderNumber: folder.number, uid };
}

/**
 * Negative when `a` comes first. Total: value, then folder number, then UID; a descending order reverses all
 * three.
 */
export function compareKeysets(order: Order, a: Keyset, b: Keyset): number {
  const ascending = compareValues(a.value, b.value) || a.folderNumber - b.folderNumber || a.uid - b.uid;
  return order.endsWith('_desc') ? -ascending : ascending;
}

function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  // By code point, like bytes of UTF-8 and Postgres's collation "C": every process must page through one
  // order.
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}
