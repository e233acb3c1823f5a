/** A read model: tables of its own version, filled from events, and the view its queries use. */
import type { PastFact } from '../commands/kernel/event.ts';
import type { Position, Sealed, Sql } from '../commands/kernel/ports.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';

/** A stored event, upcast and checked, with its place. */
export interface ProjectedEvent {
  readonly id: string;
  readonly streamName: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly fact: PastFact<AnyEvent>;
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
}

export interface Batch {
  readonly events: readonly ProjectedEvent[];
  readonly sql: Sql;
  readonly open: Open;
  readonly tableOf: (table: string) => string;
}

/** The table behind a view, in one version of its projection. */
export const tableName = (table: string, version: number): string => `read.${table}_v${String(version)}`;

/** What `<category>-<id>` names; the category ends at the first dash. */
export function splitStreamName(streamName: string): { readonly category: string; readonly id: string } {
  const dash = streamName.indexOf('-');
  return { category: streamName.slice(0, dash), id: streamName.slice(dash + 1) };
}
