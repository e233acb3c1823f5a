/**
 * External changes, as this process follows them. Every wait is answered from here, so that a waiting caller
 * costs no request to the mail server or the database (`contract.md` 5).
 */
import type { Position } from '../values/position.ts';

/** How long a cursor is valid, and how far back changes are read. */
export const FEED_DAYS = 7;

export interface ChangesSoFar {
  /** Oldest first. */
  readonly changes: readonly ObservedChange[];
  /** No change up to here is missing. */
  readonly upTo: Position;
}

/** A watch on mailboxes, operations, deliveries or endpoints, by id; the caller disposes of it. */
export interface FeedWatch extends Disposable {
  /** True when an event of one of them was noted since the last call, and at the first call. */
  take(): boolean;
  /** Resolves as soon as `take` would return true, after `ms`, or at once when waiting ends. */
  wait(ms: number): Promise<void>;
}

export interface ChangeFeed {
  /** Every event up to here was noted, and its watches were notified. */
  readonly reached: Position;
  /** The current end of the log, of events about anything. Throws `store_unavailable`. */
  head(): Promise<Position>;
  /** True once the process ends: every waiting caller is answered then. */
  readonly isEnding: boolean;
  /** Aborting `signal` ends each `wait`. */
  watch(ids: readonly string[], signal: AbortSignal): FeedWatch;
  /**
   * The changes of a mailbox after a place, in the last `FEED_DAYS` days: from memory when that goes back far
   * enough, else from the mailbox's own streams. Throws `store_unavailable`.
   */
  changesAfter(mailboxId: string, after: FeedPlace): Promise<ChangesSoFar>;
}

/** A place between two changes. */
export interface FeedPlace {
  /** The last known event. */
  readonly position: Position;
  /** Index of the last known change in that event; null = all of them. */
  readonly index: number | null;
}

export interface ObservedChange {
  readonly position: Position;
  readonly index: number;
  readonly kind: 'received' | 'updated' | 'moved' | 'deleted';
  readonly folderNumber: number;
  readonly uidValidity: number;
  readonly uid: number;
  readonly flags: readonly string[];
  /**
   * The flags of an `updated` message before the change; null for one that was in `alsoIn` and is now
   * reported in this folder.
   */
  readonly flagsBefore: readonly string[] | null;
  /** The operation of the gateway that made this change. */
  readonly operationId: string | null;
  /** The other folders the message was in then; empty where no message is in two folders. */
  readonly alsoIn: readonly number[];
}

/** True when a change is after the place. */
export const isAfter = (
  { position, index }: Pick<ObservedChange, 'position' | 'index'>,
  place: FeedPlace,
): boolean =>
  position > place.position || (position === place.position && place.index !== null && index > place.index);
