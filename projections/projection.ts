/** A read model: versioned tables, filled from events, and the views for queries. */
import { type PastFact, readEvent, type StoredEvent } from '../commands/values/event.ts';
import type { Sql } from '../commands/ports/ports.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import type { Position } from '../commands/values/position.ts';
import { type AnyEvent, eventCatalogue } from '../commands/event-catalogue.ts';

/** A stored event, upcast and validated, with its place. */
export interface ProjectedEvent {
  readonly id: string;
  readonly streamName: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly fact: PastFact<AnyEvent>;
  /** As stored in the log: data of the version it was written in, sealed texts sealed. */
  readonly stored: StoredEvent;
}

/** Opens a sealed text; null when its owner was erased. */
export type Open = (sealed: Sealed) => Promise<string | null>;

export interface Projection {
  readonly name: string;
  /** Increment it when tables or `apply` change: the model is then rebuilt beside the old one. */
  readonly version: number;
  /** Set on the copy that a rebuild fills beside the live one: its tables are in a schema of this name. */
  readonly slot?: 'rebuild';
  /** Views that queries use, each on the table of this name and version in schema `read`. */
  readonly tables: readonly string[];
  /** DDL of the tables, given the name of each in this version. */
  create(tableOf: (table: string) => string): readonly string[];
  /** DDL of indexes that only queries use, not `apply`: a rebuild creates them once, after the rows. */
  indexes?(tableOf: (table: string) => string): readonly string[];
  /**
   * It also takes events that no reader knows or can read, and leaves none out: its failure stops all projections instead of
   * parking the event.
   */
  readonly everyEvent?: true;
  /** Types of events that a worker waits for: no batch that has one gathers more. */
  readonly prompt?: readonly string[];
  /** Applies events in order, in the transaction that also moves the checkpoint. Each event comes exactly once. */
  apply(batch: Batch): Promise<void>;
  /** Called when an event of it could not be read or applied; in the transaction that parks the event. */
  parked?(event: StoredEvent, tables: Tables): Promise<void>;
  /** Called when a rebuilt copy replaced the live tables; in the transaction that replaces them. */
  rebuilt?(sql: Sql): Promise<void>;
}

export interface Tables {
  readonly sql: Sql;
  readonly tableOf: (table: string) => string;
}

/** An event of the log as a projection with `everyEvent` takes it. */
export interface LoggedEvent {
  readonly stored: StoredEvent;
  /** Null for an unknown type, and for an event that cannot be read. */
  readonly projected: ProjectedEvent | null;
}

export interface Batch extends Tables {
  readonly events: readonly ProjectedEvent[];
  /** Every event of the batch: for a projection with `everyEvent`. */
  readonly log: readonly LoggedEvent[];
  readonly open: Open;
}

/** The event upcast and validated; null for an unknown type. Throws when it does not match its schema. */
export function projectedEvent(stored: StoredEvent): ProjectedEvent | null {
  const fact = readEvent(eventCatalogue, stored);
  const { id, streamName, revision, position } = stored;
  return fact && { id, streamName, revision, position, stored, fact: fact as PastFact<AnyEvent> };
}

type Version = Pick<Projection, 'version' | 'slot'>;

/** The table behind a view, in one version of its projection. A table of a rebuild has the name of the live one. */
export const tableName = (table: string, { version, slot }: Version): string =>
  `${slot ?? 'read'}.${table}_v${String(version)}`;

/** Identifies one version of a projection: its row in `read.checkpoint`, its lock. */
export const checkpointKey = ({ name, version, slot }: Version & Pick<Projection, 'name'>): string =>
  `${slot === undefined ? '' : `${slot}.`}${name}_v${String(version)}`;

/** The category and id of a stream name; the category ends at the first dash. */
export function splitStreamName(streamName: string): { readonly category: string; readonly id: string } {
  const dash = streamName.indexOf('-');
  return { category: streamName.slice(0, dash), id: streamName.slice(dash + 1) };
}
