/** A query over messages, and its answer. */
import type { Filter } from './mail-filter.ts';
import type { FolderRef, FetchedMessage, BodySource } from './message.ts';

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
}

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
  /** The caller's `knownVersion` is current, so the answer has no messages. */
  readonly unchanged?: true;
  /**
   * With `byThread`, instead of `messages`: the hits of each thread, newest first. Only the place of the
   * others is significant.
   */
  readonly threads?: readonly (readonly FetchedMessage[])[];
}
