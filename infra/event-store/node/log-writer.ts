/**
 * The single writer with group commit: everything that waits is decided against the stream states, written in one
 * statement, and answered after the commit. One writer makes `$all` gap-free in commit order.
 */
import { setImmediate } from 'node:timers/promises';
import { decideWrite } from './decide-write.ts';
import type { Memory } from './decide-write.ts';
import type { LogRows } from './log-rows.ts';
import type { RecentEvents } from './recent-events.ts';
import { recordSize } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { EMPTY_STREAM, baseStream, isMetadataStream, ownState, parseStreamMetadata } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';
import type { StreamStates } from './stream-states.ts';
import type { Decision, KnownRecord, Outcome, PlannedWrite, WriteRequest } from './write-request.ts';
import type { WriterSession } from './writer-session.ts';

/** One commit takes at most so many requests and bytes; the rest waits for the next. */
const MOST_REQUESTS = 512;
const MOST_BYTES = 8 * 1_048_576;

export interface LogParts {
  readonly states: StreamStates;
  readonly recent: RecentEvents;
}

/** What one commit is going to do, built request by request. */
interface Draft {
  readonly states: Map<string, StreamState>;
  readonly changed: Map<string, StreamState>;
  readonly records: StoredRecord[];
  readonly answers: (readonly [WriteRequest, Outcome])[];
  logEnd: number;
  readonly createdMs: number;
}

export class LogWriter {
  readonly #parts: LogParts;
  readonly #onLost: (error: unknown) => void;
  #session: WriterSession | null = null;
  #queue: WriteRequest[] = [];
  #running: Promise<void> | null = null;

  /** `onLost` is told when a commit failed: its outcome is unknown, and the session has been given up. */
  constructor(parts: LogParts, onLost: (error: unknown) => void) {
    this.#parts = parts;
    this.#onLost = onLost;
  }

  /** Begins to write through a session. */
  attach(session: WriterSession): void {
    this.#parts.states.clear();
    this.#parts.recent.restart(session.logEnd - 1);
    this.#session = session;
  }

  /** Stops writing: everything that waits is answered "not ready". Returns the session, to be closed. */
  detach(): WriterSession | null {
    const session = this.#session;
    this.#session = null;
    this.#refuse(this.#queue.splice(0));
    return session;
  }

  /** Resolves when the commit under way is done. */
  async idle(): Promise<void> {
    await this.#running;
  }

  submit(request: WriteRequest): void {
    if (!this.#session) {
      this.#refuse([request]);
      return;
    }
    this.#queue.push(request);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  async #run(): Promise<void> {
    // One turn of the event loop gathers what arrived in the same read of the socket.
    await setImmediate();
    while (this.#session && this.#queue.length > 0) {
      const session = this.#session;
      const batch = this.#take();
      const answers = await this.#commit(session, batch).catch((error: unknown) => {
        this.#onLost(error);
        return null;
      });
      if (answers === null) this.#refuse(batch);
      else for (const [request, outcome] of answers) request.settle(outcome);
    }
  }

  #take(): WriteRequest[] {
    let bytes = 0;
    let count = 0;
    for (const request of this.#queue) {
      for (const record of request.records) bytes += recordSize(record);
      if (count > 0 && (bytes > MOST_BYTES || count === MOST_REQUESTS)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  #refuse(requests: readonly WriteRequest[]): void {
    for (const request of requests) request.settle({ kind: 'not-ready' });
  }

  async #commit(session: WriterSession, batch: readonly WriteRequest[]): Promise<Draft['answers']> {
    const draft: Draft = {
      states: await this.#parts.states.forWriting(
        session.rows,
        batch.map(({ stream }) => baseStream(stream)),
      ),
      changed: new Map(),
      records: [],
      answers: [],
      logEnd: session.logEnd,
      createdMs: Date.now(),
    };
    for (const request of batch) {
      const decision = decideWrite(
        request,
        stateIn(draft, request.stream),
        this.#memory(session.rows, draft),
      );
      this.#plan(draft, request, decision instanceof Promise ? await decision : decision);
    }
    if (draft.records.length > 0) {
      await session.commit(draft.records, draft.logEnd);
      this.#parts.states.committed(draft.changed);
      this.#parts.recent.publish(draft.records);
    }
    return draft.answers;
  }

  #plan(draft: Draft, request: WriteRequest, decision: Decision): void {
    if (decision.kind === 'repeat') {
      draft.answers.push([request, decision.outcome]);
      return;
    }
    if (request.expiresAtMs < draft.createdMs) {
      draft.answers.push([request, { kind: 'deadline-passed' }]);
      return;
    }
    for (const write of decision.writes) addToDraft(draft, write);
    const last = draft.records.at(-1);
    draft.answers.push([
      request,
      { kind: 'written', revision: last?.revision ?? -1, position: last?.position ?? null },
    ]);
  }

  /** The log as the next decision sees it: what is committed, and what this commit has planned so far. */
  #memory(rows: LogRows, draft: Draft): Memory {
    const { recent } = this.#parts;
    return {
      lastPosition: recent.lastPosition,
      recentById: (id) => draft.records.find((record) => record.id === id) ?? recent.byId(id),
      recordsAt: async (stream, revision, count): Promise<readonly KnownRecord[]> => {
        const planned = draft.records.filter(
          (r) => r.stream === stream && r.revision >= revision && r.revision < revision + count,
        );
        if (planned[0]?.revision === revision) return planned;
        return [...(await rows.knownFrom(stream, revision, count)), ...planned];
      },
    };
  }
}

const stateIn = (draft: Draft, stream: string): StreamState =>
  ownState(stream, draft.states.get(baseStream(stream)) ?? EMPTY_STREAM);

function addToDraft(draft: Draft, { stream, firstRevision, records }: PlannedWrite): void {
  let revision = firstRevision;
  for (const record of records) {
    draft.records.push({
      position: draft.logEnd,
      stream,
      revision,
      createdMs: draft.createdMs,
      ...record,
    });
    draft.logEnd += recordSize(record);
    revision += 1;
  }
  const base = baseStream(stream);
  const before = draft.states.get(base) ?? EMPTY_STREAM;
  const last = records.at(-1);
  const after: StreamState = isMetadataStream(stream)
    ? { ...before, metaHead: revision - 1, metadata: last ? parseStreamMetadata(last.data) : before.metadata }
    : { ...before, head: revision - 1 };
  draft.states.set(base, after);
  draft.changed.set(base, after);
}
