/** An event as the node keeps it. Positions and revisions are numbers here: a log of 2⁵³ bytes is never reached. */
export interface StoredRecord {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  /** Milliseconds since the Unix epoch. */
  readonly createdMs: number;
  /** The finished answer message, kept so that many live subscribers share one encoding. */
  encoded?: Buffer;
}

/** Revision of a tombstone, the last event of a stream for ever. It stands for 2⁶³ − 1, which no number here can be. */
export const TOMBSTONE_REVISION = Number.MAX_SAFE_INTEGER;

/** What a caller wants stored, checked. */
export interface ProposedRecord {
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Most bytes of data one append may carry; as on a real server, types and metadata do not count. */
export const MAX_APPEND_BYTES = 1_048_576;

/** Most bytes of types, metadata and overhead of one append: with its data an event still fits the client's 17 MiB message. */
export const MAX_UNCOUNTED_BYTES = 15 * 1_048_576;

/** Events a page of a read holds at most. */
export const PAGE_EVENTS = 1_000;

/**
 * Bytes of a page of a read, one event more at most. It is what each paused reader keeps in memory, so it bounds the
 * memory of the node as much as the number of its callers does.
 */
export const PAGE_BYTES = 128 * 1_024;

/** Name, id and the rest, counted flat. */
export const RECORD_OVERHEAD = 96;

/** How far a record moves the end of the log. */
export const recordSize = (record: ProposedRecord): number =>
  RECORD_OVERHEAD + record.type.length + record.data.length + record.metadata.length;
