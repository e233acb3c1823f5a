/** A read model: tables of its own version, filled from events, and the view its queries use. */
import { type PastFact, readEvent } from '../commands/values/event.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { StoredEvent } from '../commands/values/event.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import type { Position } from '../commands/values/position.ts';
import { type AnyEvent, eventCatalogue } from '../commands/event-catalogue.ts';

/** A stored event, upcast and checked, with its place. */
export interface ProjectedEvent {
  readonly id: string;
  readonly streamName: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly fact: PastFact<AnyEvent>;
  /** As it lies in the log: data of the version it was written in, sealed texts sealed. */
  readonly stored: StoredEvent;
}

/** Opens a sealed text; null when its owner was erased. */
export type Open = (sealed: Sealed) => Promise<string | null>;

export interface Projection {
  readonly name: string;
  /** Counts up when tables or `apply` change: the model is then built anew beside the old one. */
  readonly version: number;
  /** Set on the copy that a rebuild fills beside the live one: its tables lie in a schema of this name. */
  readonly slot?: 'rebuild';
  /** Views that queries use, each on the table of this name and version in schema `read`. */
  readonly tables: readonly string[];
  /** DDL of the tables, given the name each has in this version. */
  create(tableOf: (table: string) => string): readonly string[];
  /** DDL of indexes that only queries use, not `apply`: a rebuild makes them once, when the rows are there. */
  indexes?(tableOf: (table: string) => string): readonly string[];
  /** Applies events in order, in the transaction that also moves the checkpoint. Each event comes exactly once. */
  apply(batch: Batch): Promise<void>;
  /** What has to follow when an event of it could not be read or applied; in the transaction that parks the event. */
  parked?(event: StoredEvent, tables: Tables): Promise<void>;
  /** What has to follow when a rebuilt copy took the place of the live tables; in the transaction that does it. */
  rebuilt?(sql: Sql): Promise<void>;
}

export interface Tables {
  readonly sql: Sql;
  readonly tableOf: (table: string) => string;
}

export interface Batch extends Tables {
  readonly events: readonly ProjectedEvent[];
  readonly open: Open;
}

/** The event upcast and checked; null for a type this version does not know. Throws when it does not fit its schema. */
export function projectedEvent(stored: StoredEvent): ProjectedEvent | null {
  const fact = readEvent(eventCatalogue, stored);
  const { id, streamName, revision, position } = stored;
  return fact && { id, streamName, revision, position, stored, fact: fact as PastFact<AnyEvent> };
}

type Version = Pick<Projection, 'version' | 'slot'>;

/** The table behind a view, in one version of its projection. Where it lies apart, its name is that of the live one. */
export const tableName = (table: string, { version, slot }: Version): string =>
  `${slot ?? 'read'}.${table}_v${String(version)}`;

/** Names one version of a projection: its row in `read.checkpoint`, its lock. */
export const checkpointKey = ({ name, version, slot }: Version & Pick<Projection, 'name'>): string =>
  `${slot === undefined ? '' : `${slot}.`}${name}_v${String(version)}`;

/** What `<category>-<id>` names; the category ends at the first dash. */
export function splitStreamName(streamName: string): { readonly category: string; readonly id: string } {
  const dash = streamName.indexOf('-');
  return { category: streamName.slice(0, dash), id: streamName.slice(dash + 1) };
}
