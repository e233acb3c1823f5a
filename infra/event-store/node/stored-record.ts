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

/** What a caller wants stored, checked. */
export interface ProposedRecord {
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** Most bytes of data and of metadata one append may carry: each 1 MiB, so a record never exceeds one page of a read. */
export const MAX_APPEND_BYTES = 1_048_576;

/** Bytes of a record that are neither data nor metadata, counted flat; only growth of the log depends on it. */
const RECORD_OVERHEAD = 96;

/** How far a record moves the end of the log. */
export const recordSize = (record: ProposedRecord): number =>
  RECORD_OVERHEAD + record.data.length + record.metadata.length;

/** No record is longer than this, so a span of that many positions always holds the next one. */
export const MAX_RECORD_SIZE = RECORD_OVERHEAD + 2 * MAX_APPEND_BYTES;
