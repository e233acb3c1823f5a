/** One change of a mailbox as its feed tells it, and places in that feed. */
import type { Position } from '../values/position.ts';

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
