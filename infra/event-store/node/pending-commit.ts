/** The content of one commit, built decision by decision: each sees what the earlier ones planned. */
import type { Memory } from './decide-write.ts';
import type { LogRows } from './log-rows.ts';
import type { RecentEvents } from './recent-events.ts';
import { recordSize } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { EMPTY_STREAM, baseStream, isMetadataStream, metadataOf } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';
import type { KnownRecord, PlannedWrite } from './write-request.ts';

export class PendingCommit {
  readonly records: StoredRecord[] = [];
  /** States of the base streams this commit changes. */
  readonly changed = new Map<string, StreamState>();
  readonly createdMs = Date.now();
  readonly #states: Map<string, StreamState>;
  readonly #byId = new Map<string, StoredRecord>();
  #logEnd: number;

  /** `states` contains every base stream of the commit; the draft updates it. */
  constructor(states: Map<string, StreamState>, logEnd: number) {
    this.#states = states;
    this.#logEnd = logEnd;
  }

  /** The end of the log after this commit. */
  get logEnd(): number {
    return this.#logEnd;
  }

  /** The state of the stream, or of the stream its metadata describes, as the next decision sees it. */
  baseOf(stream: string): StreamState {
    return this.#states.get(baseStream(stream)) ?? EMPTY_STREAM;
  }

  /** Plans the records; returns the last. */
  add({ stream, firstRevision, records }: PlannedWrite): StoredRecord | undefined {
    let revision = firstRevision;
    for (const proposed of records) {
      const place = { position: this.#logEnd, stream, revision, createdMs: this.createdMs };
      const record: StoredRecord = { ...place, ...proposed };
      this.records.push(record);
      if (!this.#byId.has(record.id)) this.#byId.set(record.id, record);
      this.#logEnd += recordSize(record);
      revision += 1;
    }
    const base = baseStream(stream);
    const before = this.baseOf(stream);
    const last = records.at(-1);
    const after: StreamState = isMetadataStream(stream)
      ? { ...before, metaHead: revision - 1, metadata: last ? metadataOf(last) : before.metadata }
      : { ...before, head: revision - 1 };
    this.#states.set(base, after);
    this.changed.set(base, after);
    return this.records.at(-1);
  }

  /** The log as the next decision sees it: committed and planned records. */
  memory(rows: LogRows, recent: RecentEvents): Memory {
    return {
      lastPosition: recent.lastPosition,
      nowMs: this.createdMs,
      recentById: (id) => recent.byId(id) ?? this.#byId.get(id),
      recordsAt: async (stream, revision, count): Promise<readonly KnownRecord[]> => {
        const planned = this.records.filter(
          (r) => r.stream === stream && r.revision >= revision && r.revision < revision + count,
        );
        if (planned[0]?.revision === revision) return planned;
        return [...(await rows.knownFrom(stream, revision, count)), ...planned];
      },
    };
  }
}
