/** Finite reads: a stream or `$all`, in either direction, up to a count. */
import { status } from '@grpc/grpc-js';
import type { AnswerStream } from './answer-stream.ts';
import { callError, refusalError } from './call-errors.ts';
import type { EventLog } from './event-log.ts';
import { encoderFor, lowestVisible } from './visible-events.ts';
import type { Encode } from './visible-events.ts';
import { eventAnswer, streamNotFoundAnswer } from './read-answers.ts';
import type { AllRead, StreamRead } from './read-plan.ts';
import type { StoredRecord } from './stored-record.ts';
import { isTombstoned } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

/** Sends records; resolves when the caller can receive more. */
export async function sendAll(
  answers: AnswerStream,
  records: readonly StoredRecord[],
  encode: Encode,
): Promise<void> {
  for (const record of records) {
    if (answers.gone) return;
    const answer = encode(record);
    if (!answers.send(answer instanceof Promise ? await answer : answer)) await answers.drained();
  }
}

/** Inclusive both ways, without hidden events; a missing or soft-deleted stream is a "not found" message. */
export async function readStream(log: EventLog, plan: StreamRead, answers: AnswerStream): Promise<void> {
  const { stream, direction } = plan;
  const state = await log.states.read(stream);
  refuseTombstoned(stream, state);
  if (state.head < 0 || state.metadata.deleted) {
    answers.send(streamNotFoundAnswer(stream));
    return;
  }
  const lowest = await lowestVisible(log, stream, state);
  const encode = encoderFor(log, plan, eventAnswer);
  const forwards = direction === 'forwards';
  let next = forwards ? Math.max(toRevision(plan.from), lowest) : Math.min(toRevision(plan.from), state.head);
  // What was appended since is not asked for: the read ends where the stream ended when it began.
  let left = forwards ? Math.min(plan.count, state.head - next + 1) : plan.count;
  while (left > 0 && next >= lowest && !answers.gone) {
    const page = await pageFrom(log, plan, next, left);
    await sendAll(answers, forwards ? page : page.filter(({ revision }) => revision >= lowest), encode);
    const last = page.at(-1);
    if (!last) return;
    left -= page.length;
    next = last.revision + (forwards ? 1 : -1);
  }
}

/** From memory what is there, and from the database what is older. */
async function pageFrom(
  log: EventLog,
  { stream, direction }: StreamRead,
  revision: number,
  most: number,
): Promise<readonly StoredRecord[]> {
  const recent = direction === 'forwards' ? log.recent.streamFrom(stream, revision, most) : null;
  return recent ?? (await log.rows.streamFrom(stream, revision, direction, most));
}

/** Throws the final status of a call on a tombstoned stream. */
export function refuseTombstoned(stream: string, state: StreamState): void {
  if (isTombstoned(state)) throw refusalError({ kind: 'stream-deleted' }, stream);
}

const toRevision = (origin: StreamRead['from']): number =>
  origin === 'start' ? 0 : origin === 'end' ? Number.MAX_SAFE_INTEGER : origin;

/** From a position: forwards inclusive, backwards exclusive. Counts the events that pass the filter. */
export async function readAll(log: EventLog, plan: AllRead, answers: AnswerStream): Promise<void> {
  const forwards = plan.direction === 'forwards';
  await refuseInvalidPosition(log, plan.from, status.UNKNOWN);
  let left = plan.count;
  let cursor = startOfAll(log, plan);
  while (left > 0 && !answers.gone) {
    const page = forwards ? await log.rows.allAfter(cursor) : await log.rows.allBefore(cursor);
    const last = page.at(-1);
    if (!last) return;
    const { filter } = plan;
    const wanted = (filter ? page.filter((record) => filter.matches(record)) : page).slice(0, left);
    await sendAll(answers, wanted, encoderFor(log, plan));
    left -= wanted.length;
    cursor = last.position;
  }
}

function startOfAll(log: EventLog, { from, direction }: AllRead): number {
  if (from === 'start') return 0;
  if (from === 'end') return log.recent.lastPosition + 1;
  return direction === 'forwards' ? from - 1 : from;
}

/** A position inside the log must be a record's. Throws the status of a real server. */
export async function refuseInvalidPosition(
  log: EventLog,
  origin: AllRead['from'],
  code: status.UNKNOWN | status.INVALID_ARGUMENT,
): Promise<void> {
  if (typeof origin !== 'number' || origin === 0 || origin > log.recent.lastPosition) return;
  if (await log.rows.holdsPosition(origin)) return;
  throw code === status.UNKNOWN
    ? callError(code, 'Unexpected ReadAllResult: InvalidPosition')
    : callError(code, 'Trying to read from an invalid position.');
}
