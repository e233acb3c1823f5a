/** A query over messages, its answer, and its orders: the sort value of a message, and how two places compare (`contract.md` 4). */
import type { Filter } from './mail-filter.ts';
import type { BodySource, FetchedMessage, FolderRef } from './message.ts';
import { foldText } from './fold-text.ts';

export const ORDERS = [
  'received_desc', 'received_asc', 'sent_desc', 'sent_asc', 'size_desc', 'size_asc', 'subject_asc', 'from_asc',
] as const; // prettier-ignore

export type Order = (typeof ORDERS)[number];

/** A keyset: the sort value and the place of the last item returned. */
export interface Keyset {
  readonly value: string | number;
  readonly folderNumber: number;
  readonly uid: number;
}

export interface MailQuery {
  /**
   * In the order of `inHomeOrder` (`commands/kernel/folders.ts`): of a message in several folders, only the
   * one in the first of them is found.
   */
  readonly folders: readonly FolderRef[];
  readonly filter: Filter;
  readonly order: Order;
  readonly limit: number;
  readonly after: Keyset | null;
  /** How much of each hit is fetched: its place, its envelope, or its structure. */
  readonly depth: 'place' | 'envelope' | 'structure';
  readonly textChars: number | null;
  /** The preferred source of the text; absent = `plain`. */
  readonly bodySource?: BodySource;
  /** Only count the hits. */
  readonly countOnly: boolean;
  /** Threads instead of messages, in the order of their first hit; `limit` and `after` count threads. */
  readonly byThread?: boolean;
  /** The `version` of the answer that the caller already has. */
  readonly knownVersion?: string;
  /** Numbers of the folders among which a message may be the first of its sender; absent = nobody asks. */
  readonly contactsIn?: readonly number[];
}

export type FirstContacts = ReadonlyMap<FetchedMessage, boolean>;

export interface MailQueryAnswer {
  readonly messages: readonly FetchedMessage[];
  readonly next: Keyset | null;
  /** Total number of hits; only with `countOnly`. */
  readonly count: number | null;
  /** False when the mail server reports changed flags only in a full fetch, and none was made just now. */
  readonly isExact?: boolean;
  /** `mail_server` when the server evaluated a filter (`body_contains`, `header`). */
  readonly evaluatedBy: 'gateway' | 'mail_server';
  /** Changes with everything the answer depends on; absent when that is unknown. */
  readonly version?: string;
  /**
   * Whether each message with a sender is the first of it in `contactsIn`; null while the mirror of one of these folders is
   * incomplete. Absent where it has to be asked of `MirrorVersions.firstContacts`.
   */
  readonly firstContacts?: FirstContacts | null;
  /** The caller's `knownVersion` is current, so the answer has no messages. */
  readonly unchanged?: true;
  /**
   * With `byThread`, instead of `messages`: the hits of each thread, newest first. Only the place of the
   * others is significant.
   */
  readonly threads?: readonly (readonly FetchedMessage[])[];
}

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
