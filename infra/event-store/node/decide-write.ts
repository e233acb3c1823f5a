/** The rules of optimistic concurrency and idempotency, without I/O. */
import { randomUUID } from 'node:crypto';
import { TOMBSTONE_REVISION } from './stored-record.ts';
import type { ProposedRecord } from './stored-record.ts';
import {
  baseStream,
  deletedMetadata,
  firstVisible,
  isMetadataStream,
  isTombstoned,
  ownState,
  reopenedMetadata,
} from './stream-state.ts';
import type { StreamState } from './stream-state.ts';
import type { Decision, Expectation, KnownRecord, PlannedWrite, WriteRequest } from './write-request.ts';

/** What the log knows besides the stream's state. */
export interface Memory {
  /** The records of a stream from a revision on, at most `count`. */
  recordsAt(stream: string, revision: number, count: number): Promise<readonly KnownRecord[]>;
  /** The first place of a recently written id; lost on restart, like a real server's cache. */
  recentById(id: string): KnownRecord | undefined;
  /** The last assigned position. */
  readonly lastPosition: number;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

/** Neither events nor metadata: a stream with only metadata can be deleted, and exists for an append. */
const isMissing = (state: StreamState): boolean => state.head < 0 && state.metaHead < 0;

const wrongVersion = (expected: Expectation, state: StreamState): Decision => ({
  kind: 'repeat',
  outcome: { kind: 'wrong-version', expected, actual: state.head },
});

const streamDeleted: Decision = { kind: 'repeat', outcome: { kind: 'stream-deleted' } };

/**
 * Decides an append or a deletion; `base` is the state of the stream or of the one its metadata describes.
 */
export function decideWrite(
  request: WriteRequest,
  base: StreamState,
  memory: Memory,
): Decision | Promise<Decision> {
  const state = ownState(request.stream, base);
  const write = (): Decision => ({ kind: 'write', writes: plannedWrites(request, base) });
  const { expected } = request;
  if (isTombstoned(base)) return streamDeleted;
  if (expected === 'stream-exists' && state.metadata.deleted) return streamDeleted;
  if (request.action !== 'append') return decideDeletion(request, state);
  if (expected === 'stream-exists' && isMissing(state)) return wrongVersion(expected, state);
  if (expected === 'any' || expected === 'stream-exists')
    return decideLoosely(request, { state, memory, write });
  return decideExactly(request, expected === 'no-stream' ? -1 : expected, { state, memory, write });
}

interface Facts {
  readonly state: StreamState;
  readonly memory: Memory;
  readonly write: () => Decision;
}

/**
 * Exact revision or no stream. At the head it is written, even when the ids were seen before. Behind the head
 * it is a repeat only if exactly these ids are stored at exactly these revisions. Content is never compared.
 */
function decideExactly(
  request: WriteRequest,
  after: number,
  { state, memory, write }: Facts,
): Decision | Promise<Decision> {
  const { records, expected, stream } = request;
  if (after === state.head) return records.length === 0 ? nothingAsked(state, memory) : write();
  if (after > state.head || records.length === 0) return wrongVersion(expected, state);
  return memory.recordsAt(stream, after + 1, records.length).then((known) => {
    const repeated =
      known.length === records.length && records.every((record, i) => record.id === known[i]?.id);
    if (repeated) return repeatOf(known.at(-1), state, memory);
    // A deleted stream is reopened only if the first id is new: otherwise part of this append was written
    // before.
    const isNew = known[0]?.id !== records[0]?.id;
    return isNew && state.metadata.deleted && expected === 'no-stream'
      ? write()
      : wrongVersion(expected, state);
  });
}

/** Any / stream exists: only the cache of recent ids is used, and the first id decides. */
function decideLoosely(request: WriteRequest, { state, memory, write }: Facts): Decision {
  const { records, stream, expected } = request;
  if (records.length === 0) return nothingAsked(state, memory);
  const known = records
    .map(({ id }) => memory.recentById(id))
    .map((r) => (r?.stream === stream ? r : undefined));
  if (known[0] === undefined) return write();
  return known.includes(undefined) ? wrongVersion(expected, state) : repeatOf(known.at(-1), state, memory);
}

/** A missing stream can be tombstoned, but not soft-deleted. */
function decideDeletion({ action, expected, stream }: WriteRequest, state: StreamState): Decision {
  const met =
    expected === 'no-stream'
      ? state.head < 0 || state.metadata.deleted
      : expected === 'any' || expected === state.head || (expected === 'stream-exists' && !isMissing(state));
  if (!met || (action === 'delete' && isMissing(state))) return wrongVersion(expected, state);
  const write =
    action === 'delete'
      ? metadataWrite(stream, state, deletedMetadata())
      : { stream, firstRevision: TOMBSTONE_REVISION, records: [tombstone()] };
  return { kind: 'write', writes: [write] };
}

/**
 * An append reopens a soft-deleted stream, and so does a write of its metadata: revisions continue, and `$tb`
 * hides the deleted events. The node writes that metadata after the requested records.
 */
function plannedWrites({ stream, records }: WriteRequest, base: StreamState): readonly PlannedWrite[] {
  const firstRevision = ownState(stream, base).head + 1;
  const own = { stream, firstRevision, records };
  if (!base.metadata.deleted) return [own];
  const isMetadata = isMetadataStream(stream);
  const given = isMetadata ? records.at(-1)?.data : undefined;
  const reopened = reopenedMetadata(given ?? base.metadata.json, base.head + 1);
  if (reopened === null) return [own];
  const hiding = metadataWrite(baseStream(stream), base, reopened);
  return [own, isMetadata ? { ...hiding, firstRevision: firstRevision + records.length } : hiding];
}

const metadataWrite = (stream: string, state: StreamState, data: Uint8Array): PlannedWrite => ({
  stream: `$$${stream}`,
  firstRevision: state.metaHead + 1,
  records: [metadataRecord(data)],
});

const metadataRecord = (data: Uint8Array): ProposedRecord => ({
  id: randomUUID(),
  type: '$metadata',
  isJson: true,
  data,
  metadata: new Uint8Array(0),
});

const tombstone = (): ProposedRecord => ({
  id: randomUUID(),
  type: '$streamDeleted',
  isJson: false,
  data: new Uint8Array(0),
  metadata: new Uint8Array(0),
});

const nothingAsked = (state: StreamState, memory: Memory): Decision => ({
  kind: 'repeat',
  outcome: { kind: 'written', revision: state.head, position: memory.lastPosition },
});

/** The position is returned only for an event that can be read. */
function repeatOf(last: KnownRecord | undefined, state: StreamState, { nowMs }: Memory): Decision {
  const revision = last?.revision ?? state.head;
  const isHidden =
    revision < firstVisible(state) ||
    nowMs - (last?.createdMs ?? nowMs) > 1_000 * state.metadata.maxAgeSeconds;
  return {
    kind: 'repeat',
    outcome: { kind: 'written', revision, position: isHidden ? null : (last?.position ?? null) },
  };
}
