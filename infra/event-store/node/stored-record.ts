/** An event as the node stores it. Positions and revisions are numbers: a log never reaches 2⁵³ bytes. */
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
  /** The encoded answer of a kept record: live subscribers share one encoding. */
  readonly encoded?: Buffer;
}

/** A record that pins no memory besides its encoded answer. */
export interface KeptRecord extends StoredRecord {
  readonly encoded: Buffer;
}

/** Revision of a tombstone, the final event of a stream. Represents 2⁶³ − 1, which does not fit a number. */
export const TOMBSTONE_REVISION = Number.MAX_SAFE_INTEGER;

/** A validated event to be stored. */
export interface ProposedRecord {
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Maximum bytes of data per append; as on a real server, types and metadata do not count. */
export const MAX_APPEND_BYTES = 1_048_576;

/**
 * Maximum bytes of types, metadata and overhead per append: with its data an event still fits into the
 * client's 17 MiB message.
 */
export const MAX_UNCOUNTED_BYTES = 15 * 1_048_576;

/** Maximum events in a page of a read. */
export const PAGE_EVENTS = 1_000;

/**
 * Bytes in a page of a read, plus one event at most. Each paused reader keeps a page in memory, so this size
 * and the number of callers bound the memory of the node.
 */
export const PAGE_BYTES = 128 * 1_024;

/** Name, id and the other fields, as a flat size. */
export const RECORD_OVERHEAD = 96;

/** How far a record moves the end of the log. */
export const recordSize = (record: ProposedRecord): number =>
  RECORD_OVERHEAD + record.type.length + record.data.length + record.metadata.length;
