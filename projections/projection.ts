/** A read model: tables of its own version, filled from events, and the view its queries use. */
import { type PastFact, readEvent } from '../commands/kernel/event.ts';
import type { Position, Sealed, Sql, StoredEvent } from '../commands/kernel/ports.ts';
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
  /** Views that queries use, each on the table of this name and version in schema `read`. */
  readonly tables: readonly string[];
  /** DDL of the tables, given the name each has in this version. */
  create(tableOf: (table: string) => string): readonly string[];
  /** Applies events in order, in the transaction that also moves the checkpoint. Each event comes exactly once. */
  apply(batch: Batch): Promise<void>;
  /** What has to follow when an event of it could not be read or applied; in the transaction that parks the event. */
  parked?(event: StoredEvent, tables: Tables): Promise<void>;
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

/** The table behind a view, in one version of its projection. */
export const tableName = (table: string, version: number): string => `read.${table}_v${String(version)}`;

/** Names one version of a projection: its row in `read.checkpoint`, its lock. */
export const checkpointKey = ({ name, version }: Pick<Projection, 'name' | 'version'>): string =>
  `${name}_v${String(version)}`;

/** What `<category>-<id>` names; the category ends at the first dash. */
export function splitStreamName(streamName: string): { readonly category: string; readonly id: string } {
  const dash = streamName.indexOf('-');
  return { category: streamName.slice(0, dash), id: streamName.slice(dash + 1) };
}
