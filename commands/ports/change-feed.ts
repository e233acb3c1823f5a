/**
 * What changes outside, as this process follows it: every wait is answered from here, so that nobody who waits asks the
 * mail server or the database (`contract.md` 5).
 */
import type { Position } from '../values/position.ts';

/** How long a cursor is good for, and how far back changes are looked for. */
export const FEED_DAYS = 7;

export interface ChangesSoFar {
  /** Oldest first. */
  readonly changes: readonly ObservedChange[];
  /** Nothing up to here is missing. */
  readonly upTo: Position;
}

/** Somebody's eye on mailboxes or operations, by id; to be disposed of. */
export interface FeedWatch extends Disposable {
  /** True when something of them was noted since it was asked last, and at first. */
  take(): boolean;
  /** Resolves as soon as `take` would be true, after `ms`, or at once when waiting has an end. */
  wait(ms: number): Promise<void>;
}

export interface ChangeFeed {
  /** Every event up to here was noted, and whoever watches it told. */
  readonly reached: Position;
  /** The end of the log as it is now, also where it is not about mail. Throws `store_unavailable`. */
  head(): Promise<Position>;
  /** True once the process ends: whoever waits answers now. */
  readonly isEnding: boolean;
  /** The end of `signal` ends each `wait`. */
  watch(ids: readonly string[], signal: AbortSignal): FeedWatch;
  /**
   * The changes of a mailbox after a place, of the last `FEED_DAYS` days: from memory when that goes back far enough, else from
   * the mailbox's own streams. Throws `store_unavailable`.
   */
  changesAfter(mailboxId: string, after: FeedPlace): Promise<ChangesSoFar>;
}

/** A place between two changes. */
export interface FeedPlace {
  /** The last event known. */
  readonly position: Position;
  /** Index of the last change known inside that event; null = all of them. */
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
  /** Of an `updated` message, before the change; null of one that lay in `alsoIn` and is shown in this folder now. */
  readonly flagsBefore: readonly string[] | null;
  /** The own operation that did this. */
  readonly operationId: string | null;
  /** The other folders the message lay in then; empty where no message lies in two. */
  readonly alsoIn: readonly number[];
}

/** True when a change lies after the place. */
export const isAfter = (
  { position, index }: Pick<ObservedChange, 'position' | 'index'>,
  place: FeedPlace,
): boolean =>
  position > place.position || (position === place.position && place.index !== null && index > place.index);
