/** What the node knows of a stream and its metadata stream: enough to decide every append and bound every read. */
import { isJsonObject } from '../../../commands/values/json-object.ts';
import { TOMBSTONE_REVISION } from './stored-record.ts';
import type { ProposedRecord } from './stored-record.ts';

export interface StreamState {
  /** Revision of the last event, -1 when there is none. */
  readonly head: number;
  /** The same of the metadata stream `$$name`. */
  readonly metaHead: number;
  readonly metadata: StreamMetadata;
}

export interface StreamMetadata {
  /** Soft deleted: `$tb` is the largest revision there is. */
  readonly deleted: boolean;
  /** Events below this revision are hidden. */
  readonly truncateBefore: number;
  readonly maxCount: number;
  /** Older events are hidden; infinite when there is no such limit. */
  readonly maxAgeSeconds: number;
  /** Of a soft-deleted stream as it was stored, for `$tb` to be rewritten in it; else nothing. */
  readonly json: Uint8Array;
}

/** `$tb` of a soft-deleted stream: 2⁶³ − 1, which no JSON number of JavaScript can write. */
const DELETED_TB = '9223372036854775807';

export const NO_METADATA: StreamMetadata = {
  deleted: false,
  truncateBefore: 0,
  maxCount: Number.POSITIVE_INFINITY,
  maxAgeSeconds: Number.POSITIVE_INFINITY,
  json: new Uint8Array(0),
};

export const EMPTY_STREAM: StreamState = { head: -1, metaHead: -1, metadata: NO_METADATA };

/** A limit of the metadata; what is not a positive number limits nothing. */
const limit = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? value : Number.POSITIVE_INFINITY;

/** Reads stream metadata; what is not a JSON object is accepted and ignored, as a real server does. */
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
    // A copy: these bytes may lie inside a whole message.
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

/** The metadata an event of the metadata stream sets; what is not marked as JSON sets none. */
export const metadataOf = ({ isJson, data }: ProposedRecord): StreamMetadata =>
  isJson ? parseStreamMetadata(data) : NO_METADATA;

/** What a soft delete writes: it replaces the stream's metadata. */
export const deletedMetadata = (): Buffer => Buffer.from(`{"$tb":${DELETED_TB}}`);

/** What reopening writes: the metadata with `$tb` at the first revision to be seen again; null when there is no object. */
export function reopenedMetadata(json: Uint8Array, tb: number): Buffer | null {
  const fields = parseObject(json);
  return fields && Buffer.from(JSON.stringify({ ...fields, $tb: tb }));
}

/** The lowest revision a read may return, apart from the age of events. */
export const firstVisible = (state: StreamState): number =>
  Math.max(state.metadata.truncateBefore, state.head - state.metadata.maxCount + 1, 0);

export const isMetadataStream = (name: string): boolean => name.startsWith('$$');

/** The stream whose state holds this one: a metadata stream lives in the state of the stream it describes. */
export const baseStream = (name: string): string => (isMetadataStream(name) ? name.slice(2) : name);

/** Deleted for ever; its metadata stream is as well. */
export const isTombstoned = ({ head }: StreamState): boolean => head === TOMBSTONE_REVISION;

/** The state of the named stream seen by itself: a metadata stream shows its last event only. */
export const ownState = (name: string, base: StreamState): StreamState =>
  isMetadataStream(name) && !isTombstoned(base)
    ? { head: base.metaHead, metaHead: -1, metadata: { ...NO_METADATA, maxCount: 1 } }
    : base;
