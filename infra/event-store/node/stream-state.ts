/** The state of a stream and its metadata stream: enough to decide every append and bound every read. */
import { isJsonObject } from '../../../commands/values/json-object.ts';
import { TOMBSTONE_REVISION } from './stored-record.ts';
import type { ProposedRecord } from './stored-record.ts';

export interface StreamState {
  /** Revision of the last event; -1 if none. */
  readonly head: number;
  /** The same of the metadata stream `$$name`. */
  readonly metaHead: number;
  readonly metadata: StreamMetadata;
}

export interface StreamMetadata {
  /** Soft-deleted: `$tb` is the maximum revision. */
  readonly deleted: boolean;
  /** Events below this revision are hidden. */
  readonly truncateBefore: number;
  readonly maxCount: number;
  /** Older events are hidden; infinite without a limit. */
  readonly maxAgeSeconds: number;
  /** The stored metadata of a soft-deleted stream, in which reopening rewrites `$tb`; otherwise empty. */
  readonly json: Uint8Array;
}

/** `$tb` of a soft-deleted stream: 2⁶³ − 1, which a JavaScript number cannot represent. */
const DELETED_TB = '9223372036854775807';

export const NO_METADATA: StreamMetadata = {
  deleted: false,
  truncateBefore: 0,
  maxCount: Number.POSITIVE_INFINITY,
  maxAgeSeconds: Number.POSITIVE_INFINITY,
  json: new Uint8Array(0),
};

export const EMPTY_STREAM: StreamState = { head: -1, metaHead: -1, metadata: NO_METADATA };

/** A limit in the metadata; anything but a positive number means no limit. */
const limit = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? value : Number.POSITIVE_INFINITY;

/** Parses stream metadata; anything but a JSON object is accepted and ignored, as on a real server. */
export function parseStreamMetadata(bytes: Uint8Array): StreamMetadata {
  const fields = parseObject(bytes);
  if (fields === null) return NO_METADATA;
  const { $tb, $maxCount, $maxAge } = fields;
  const truncateBefore = typeof $tb === 'number' && $tb > 0 ? $tb : 0;
  const deleted = truncateBefore >= Number(DELETED_TB);
  return {
    deleted,
    truncateBefore,
    maxCount: limit($maxCount),
    maxAgeSeconds: limit($maxAge),
    // A copy: these bytes may be part of a whole message.
    json: deleted ? Uint8Array.from(bytes) : NO_METADATA.json,
  };
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** The metadata an event of the metadata stream sets; none when it is not marked as JSON. */
export const metadataOf = ({ isJson, data }: ProposedRecord): StreamMetadata =>
  isJson ? parseStreamMetadata(data) : NO_METADATA;

/** The metadata a soft delete writes; it replaces the stream's metadata. */
export const deletedMetadata = (): Buffer => Buffer.from(`{"$tb":${DELETED_TB}}`);

/** Metadata for reopening, with `$tb` at the first visible revision; null when `json` is not an object. */
export function reopenedMetadata(json: Uint8Array, tb: number): Buffer | null {
  const fields = parseObject(json);
  return fields && Buffer.from(JSON.stringify({ ...fields, $tb: tb }));
}

/** The lowest revision a read may return, ignoring the age of events. */
export const firstVisible = (state: StreamState): number =>
  Math.ceil(Math.max(state.metadata.truncateBefore, state.head - state.metadata.maxCount + 1, 0));

export const isMetadataStream = (name: string): boolean => name.startsWith('$$');

/**
 * The stream whose state contains this one: a metadata stream is part of the state of the stream it
 * describes.
 */
export const baseStream = (name: string): string => (isMetadataStream(name) ? name.slice(2) : name);

/** Deleted permanently, together with its metadata stream. */
export const isTombstoned = ({ head }: StreamState): boolean => head === TOMBSTONE_REVISION;

/** The state of the named stream alone; of a metadata stream only the last event is visible. */
export const ownState = (name: string, base: StreamState): StreamState =>
  isMetadataStream(name) && !isTombstoned(base)
    ? { head: base.metaHead, metaHead: -1, metadata: { ...NO_METADATA, maxCount: 1 } }
    : base;
