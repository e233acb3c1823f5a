/** The rules of optimistic concurrency and idempotency, without I/O. */
import { randomUUID } from 'node:crypto';
import type { ProposedRecord } from './stored-record.ts';
import { deletedMetadata, isMetadataStream, reopenedMetadata } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';
import type { Decision, Expectation, KnownRecord, PlannedWrite, WriteRequest } from './write-request.ts';

/** What the log knows beside the stream's state. */
export interface Memory {
  /** The records of a stream from a revision on, at most `count`. */
  recordsAt(stream: string, revision: number, count: number): Promise<readonly KnownRecord[]>;
  /** A recently written record; forgotten after a restart, as a real server's cache is. */
  recentById(id: string): KnownRecord | undefined;
  /** The last position given out. */
  readonly lastPosition: number;
}

const wrongVersion = (expected: Expectation, state: StreamState): Decision => ({
  kind: 'repeat',
  outcome: { kind: 'wrong-version', expected, actual: state.head },
});

/** Decides an append or a soft delete. `state` is the stream's own state (`ownState`). */
export function decideWrite(
  request: WriteRequest,
  state: StreamState,
  memory: Memory,
): Decision | Promise<Decision> {
  if (request.action === 'delete') return decideDelete(request, state);
  const { expected } = request;
  if (expected === 'stream-exists' && state.metadata.deleted) {
    return { kind: 'repeat', outcome: { kind: 'stream-deleted' } };
  }
  if (expected === 'stream-exists' && state.head < 0) return wrongVersion(expected, state);
  if (expected === 'any' || expected === 'stream-exists') return decideLoosely(request, state, memory);
  return decideExactly(request, state, expected === 'no-stream' ? -1 : expected, memory);
}

/**
 * Exact revision or no stream: at the head it is written (even when the ids were seen before), behind the head it is a
 * repeat only if exactly these ids stand at exactly these revisions. Content is never compared.
 */
function decideExactly(
  request: WriteRequest,
  state: StreamState,
  after: number,
  memory: Memory,
): Decision | Promise<Decision> {
  const { records, expected, stream } = request;
  if (after === state.head) return records.length === 0 ? nothingAsked(state, memory) : write(request, state);
  if (after > state.head || records.length === 0) return wrongVersion(expected, state);
  return memory.recordsAt(stream, after + 1, records.length).then((known) => {
    const repeated =
      known.length === records.length && records.every((record, i) => record.id === known[i]?.id);
    if (repeated) return repeatOf(known.at(-1), state);
    return state.metadata.deleted && expected === 'no-stream'
      ? write(request, state)
      : wrongVersion(expected, state);
  });
}

/** Any / stream exists: only the cache of recent ids is asked, and the first id decides. */
function decideLoosely(request: WriteRequest, state: StreamState, memory: Memory): Decision {
  const { records, stream, expected } = request;
  if (records.length === 0) return nothingAsked(state, memory);
  const known = records
    .map(({ id }) => memory.recentById(id))
    .map((r) => (r?.stream === stream ? r : undefined));
  if (known[0] === undefined) return write(request, state);
  return known.includes(undefined) ? wrongVersion(expected, state) : repeatOf(known.at(-1), state);
}

function decideDelete(request: WriteRequest, state: StreamState): Decision {
  const { expected, stream } = request;
  const met = expected === 'any' || expected === 'stream-exists' || expected === state.head;
  if (state.head < 0 || !met) return wrongVersion(expected, state);
  return { kind: 'write', writes: [metadataWrite(stream, state, deletedMetadata())] };
}

/** Appending reopens a soft-deleted stream: revisions go on, and `$tb` hides what was deleted. */
function write(request: WriteRequest, state: StreamState): Decision {
  const first = state.head + 1;
  const own = { stream: request.stream, firstRevision: first, records: request.records };
  const reopens = state.metadata.deleted && !isMetadataStream(request.stream);
  if (!reopens) return { kind: 'write', writes: [own] };
  const metadata = reopenedMetadata(state.metadata, first);
  return { kind: 'write', writes: [metadataWrite(request.stream, state, metadata), own] };
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

const nothingAsked = (state: StreamState, memory: Memory): Decision => ({
  kind: 'repeat',
  outcome: { kind: 'written', revision: state.head, position: memory.lastPosition },
});

const repeatOf = (last: KnownRecord | undefined, state: StreamState): Decision => ({
  kind: 'repeat',
  outcome: {
    kind: 'written',
    revision: last?.revision ?? state.head,
    position: state.metadata.deleted ? null : (last?.position ?? null),
  },
});
