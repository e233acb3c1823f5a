/** A query over messages, and its answer. */
import type { Filter } from './mail-filter.ts';
import type { FolderRef, FetchedMessage, BodySource } from './message.ts';

export const ORDERS = [
  'received_desc', 'received_asc', 'sent_desc', 'sent_asc', 'size_desc', 'size_asc', 'subject_asc', 'from_asc',
] as const; // prettier-ignore

export type Order = (typeof ORDERS)[number];

/** A keyset: the sort value of the last item handed out, and where it lies. */
export interface Keyset {
  readonly value: string | number;
  readonly folderNumber: number;
  readonly uid: number;
}

export interface MailQuery {
  /** In home order (`home-folder.ts`): of a message that lies in several, only the one in the first of them is found. */
  readonly folders: readonly FolderRef[];
  readonly filter: Filter;
  readonly order: Order;
  readonly limit: number;
  readonly after: Keyset | null;
  /** How much is fetched of each hit: only its place, the envelope, everything, or the text too. */
  readonly depth: 'place' | 'envelope' | 'structure';
  readonly textChars: number | null;
  /** Where the text is taken from; `plain` when absent. */
  readonly bodySource?: BodySource;
  /** Only count the hits. */
  readonly countOnly: boolean;
  /** Whole threads instead of messages, in the order of their first hit; `limit` and `after` count threads. */
  readonly byThread?: boolean;
  /** The `version` of an answer to this query that the caller still has. */
  readonly knownVersion?: string;
}

export interface MailQueryAnswer {
  readonly messages: readonly FetchedMessage[];
  readonly next: Keyset | null;
  /** Hits in all; only with `countOnly`. */
  readonly count: number | null;
  /** False where the mail server tells of changed flags only when it is asked for all of them, and was not just now. */
  readonly isExact?: boolean;
  /** `mail_server` when a filter was evaluated by the server (`body_contains`, `header`). */
  readonly evaluatedBy: 'gateway' | 'mail_server';
  /** Changes with whatever the answer depends on; absent where that cannot be known. */
  readonly version?: string;
  /** The caller's `knownVersion` is still true, so the answer has no messages. */
  readonly unchanged?: true;
  /** With `byThread`, instead of `messages`: the hits of each thread, newest first; of the others only the place counts. */
  readonly threads?: readonly (readonly FetchedMessage[])[];
}
