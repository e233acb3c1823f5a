/**
 * The single writer with group commit: waiting requests are decided against the stream states, written in one
 * statement, and answered after the commit. One writer keeps `$all` gap-free and in commit order.
 */
import { setImmediate } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { isDiskFull } from '../../platform/disk-full.ts';
import type { CommitNotifier } from './commit-notifier.ts';
import { PendingCommit } from './pending-commit.ts';
import { decideWrite } from './decide-write.ts';
import type { RecentEvents } from './recent-events.ts';
import { recordSize, type StoredRecord } from './stored-record.ts';
import { baseStream, isMetadataStream } from './stream-state.ts';
import type { StreamStates } from './stream-states.ts';
import type { Decision, Outcome, WriteRequest } from './write-request.ts';
import type { WriterSession } from './writer-session.ts';

/** Requests and bytes of one commit; the rest waits for the next. */
const MOST_REQUESTS = 512;
const MOST_BYTES = 8 * 1_048_576;

export interface LogParts {
  readonly states: StreamStates;
  readonly recent: RecentEvents;
  readonly bells: CommitNotifier;
}

type Answer = readonly [WriteRequest, Outcome];

interface Committed {
  readonly answers: readonly Answer[];
  /** What the commit added to the log. */
  readonly written: readonly StoredRecord[];
}

export class LogWriter {
  readonly #parts: LogParts;
  readonly #onLost: (error: unknown) => void;
  #session: WriterSession | null = null;
  #queue: WriteRequest[] = [];
  #running: Promise<void> | null = null;

  /** `onLost` is called when a commit (outcome unknown) or a confirmation failed: the session is unusable. */
  constructor(parts: LogParts, onLost: (error: unknown) => void) {
    this.#parts = parts;
    this.#onLost = onLost;
  }

  /** False while every request is answered "not ready". */
  get isAttached(): boolean {
    return this.#session !== null;
  }

  /** Starts writing through a session. */
  attach(session: WriterSession): void {
    this.#parts.states.clear();
    this.#parts.recent.restart(session.lastPosition);
    this.#session = session;
    this.#parts.bells.ringAll();
  }

  /** Stops writing and answers waiting requests "not ready". Returns the session for the caller to close. */
  detach(): WriterSession | null {
    const session = this.#session;
    this.#session = null;
    this.#parts.states.clear();
    this.#refuse(this.#queue.splice(0));
    return session;
  }

  /** Resolves when the current commit is done. */
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

  /** Confirms, while idle, that this is still the writer. Never throws: a loss goes to `onLost`. */
  async confirm(): Promise<void> {
    const session = this.#session;
    await session?.confirm().catch((error: unknown) => {
      this.#giveUp(session, error);
    });
  }

  #giveUp(session: WriterSession, error: unknown): void {
    if (session === this.#session) this.#onLost(error);
  }

  async #run(): Promise<void> {
    // One turn of the event loop collects what arrived in the same read of the socket.
    await setImmediate();
    while (this.#session && this.#queue.length > 0) {
      const session = this.#session;
      const batch = this.#take();
      const committed = await this.#commit(session, batch).catch((error: unknown): Committed | null => {
        if (isRefusedForSpace(error))
          return { answers: batch.map((request) => [request, { kind: 'no-space' }]), written: [] };
        this.#giveUp(session, error);
        return null;
      });
      if (committed === null) this.#refuse(batch);
      else this.#answer(committed);
    }
  }

  /** The writers first: each waits for its answer, and subscribers, which take more time to serve, do not. */
  #answer({ answers, written }: Committed): void {
    for (const [request, outcome] of answers) request.settle(outcome);
    if (written.length > 0) this.#parts.bells.ring(written);
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

  /**
   * Streams expected to be new are assumed to be empty; if the commit finds one that is not, it decides
   * again.
   */
  async #commit(
    session: WriterSession,
    batch: readonly WriteRequest[],
    newStreams = expectedNew(batch),
  ): Promise<Committed> {
    const { states, recent } = this.#parts;
    const bases = batch.map(({ stream }) => baseStream(stream));
    const known = await states.forWriting(session.rows, bases, newStreams);
    const draft = new PendingCommit(known.states, session.logEnd);
    const memory = draft.memory(session.rows, recent);
    const answers: Answer[] = [];
    for (const request of batch) {
      const decision = decideWrite(request, draft.baseOf(request.stream), memory);
      answers.push([request, plan(draft, request, decision instanceof Promise ? await decision : decision)]);
    }
    if (draft.records.length > 0) {
      const isWritten = await session.commit(draft.records, draft.logEnd, known.takenForEmpty);
      if (!isWritten) return await this.#commit(session, batch, new Set());
      states.committed(draft.changed);
      recent.publish(draft.records);
    }
    return { answers, written: draft.records };
  }
}

/** The statement did nothing, the session survives. A server that dies of it (`PANIC`) may have written. */
const isRefusedForSpace = (error: unknown): boolean =>
  error instanceof DatabaseError && error.severity === 'ERROR' && isDiskFull(error);

/** Streams that every append of the batch expects to be missing: nearly always true, and saves a query. */
function expectedNew(batch: readonly WriteRequest[]): ReadonlySet<string> {
  const isNew = ({ action, stream, expected, records }: WriteRequest): boolean =>
    action === 'append' && expected === 'no-stream' && records.length > 0 && !isMetadataStream(stream);
  const others = new Set(batch.filter((request) => !isNew(request)).map(({ stream }) => baseStream(stream)));
  return new Set(batch.map(({ stream }) => stream).filter((stream) => !others.has(stream)));
}

/** Adds the decision to the draft; returns the answer to send after the commit. */
function plan(draft: PendingCommit, request: WriteRequest, decision: Decision): Outcome {
  if (decision.kind === 'repeat') return decision.outcome;
  if (request.expiresAtMs < draft.createdMs) return { kind: 'deadline-passed' };
  // The requested write comes first; the metadata of a reopened stream follows.
  const [last] = decision.writes.map((write) => draft.add(write));
  return { kind: 'written', revision: last?.revision ?? -1, position: last?.position ?? null };
}
