/** Subscriptions: the confirmation, existing events, "caught up", then new events. */
import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import type { AnswerStream } from './answer-stream.ts';
import type { EventLog } from './event-log.ts';
import type { EventFilter } from './event-filter.ts';
import type { Encode } from './visible-events.ts';
import { encoderFor, lowestVisible } from './visible-events.ts';
import { refuseInvalidPosition, refuseTombstoned, sendAll } from './finite-reads.ts';
import { caughtUpAnswer, checkpointAnswer, confirmationAnswer, eventAnswer } from './read-answers.ts';
import type { AllSubscription, StreamSubscription } from './read-plan.ts';
import { TOMBSTONE_REVISION } from './stored-record.ts';
import type { StoredRecord } from './stored-record.ts';
import { isTombstoned } from './stream-state.ts';
import type { StreamState } from './stream-state.ts';

/** Follows a stream after a revision; waits for a stream that does not exist yet. */
export async function followStream(
  log: EventLog,
  plan: StreamSubscription,
  answers: AnswerStream,
): Promise<void> {
  const { stream, after } = plan;
  const encode = encoderFor(log, plan);
  using news = log.bells.listen(stream);
  let cursor = typeof after === 'number' ? after : -1;
  const begun = await log.states.read(stream);
  refuseTombstoned(stream, begun);
  if (after === 'end') cursor = begun.head;
  // After reading the head: events appended after the confirmation must be behind it.
  answers.send(confirmationAnswer(randomUUID()));
  let live = false;
  while (!answers.gone) {
    const state = await log.states.read(stream);
    if (isTombstoned(state)) {
      await endAtTombstone(log, { plan, cursor, state }, answers);
      return;
    }
    if (state.metadata.deleted || cursor >= state.head) {
      if (!live) answers.send(caughtUpAnswer());
      live = true;
      await news.sleep(answers.signal);
      continue;
    }
    const from = Math.max(cursor + 1, await lowestVisible(log, stream, state));
    const page = await log.rows.streamFrom(stream, from, 'forwards');
    cursor = page.at(-1)?.revision ?? state.head;
    live = live && cursor >= state.head;
    await sendAll(answers, page, encode);
  }
}

/** Sends the events before the tombstone and the tombstone, then throws the final status of the call. */
async function endAtTombstone(
  log: EventLog,
  { plan, cursor, state }: { plan: StreamSubscription; cursor: number; state: StreamState },
  answers: AnswerStream,
): Promise<void> {
  const { stream } = plan;
  let page = await log.rows.streamFrom(stream, cursor + 1, 'forwards');
  while (page.length > 0 && !answers.gone) {
    await sendAll(answers, page, encoderFor(log, plan));
    const last = page.at(-1)?.revision ?? TOMBSTONE_REVISION;
    page = last < TOMBSTONE_REVISION ? await log.rows.streamFrom(stream, last + 1, 'forwards') : [];
  }
  refuseTombstoned(stream, state);
}

/** Follows `$all` after a position. Beyond the end of the log it stays silent, as a real server does. */
export async function followAll(
  log: EventLog,
  { after, filter, resolveLinks }: AllSubscription,
  answers: AnswerStream,
): Promise<void> {
  answers.send(confirmationAnswer(randomUUID()));
  await refuseInvalidPosition(log, after, status.INVALID_ARGUMENT);
  let cursor = after === 'start' ? 0 : after === 'end' ? log.recent.lastPosition : after;
  const checkpoints = filter ? new Checkpoints(filter, cursor) : null;
  using news = log.bells.listen();
  const encodeCold = encoderFor(log, { resolveLinks });
  // Only events in shared memory are encoded once for all subscribers.
  const encodeRecent = encoderFor(log, { resolveLinks }, eventAnswer);
  let live = false;
  while (!answers.gone) {
    const recent = log.recent.after(cursor);
    const page = recent ?? (await log.rows.allAfter(cursor));
    const last = page.at(-1);
    if (last) {
      live = live && recent !== null;
      const encode = recent === null ? encodeCold : encodeRecent;
      await sendMatching(answers, page, { filter, checkpoints, live, encode });
      cursor = last.position;
      continue;
    }
    if (!live) {
      const position = checkpoints?.beforeLive();
      if (position !== undefined) answers.send(checkpointAnswer(position));
      answers.send(caughtUpAnswer());
      live = true;
    }
    await news.sleep(answers.signal);
  }
}

interface Sending {
  readonly filter: EventFilter | null;
  readonly checkpoints: Checkpoints | null;
  readonly live: boolean;
  readonly encode: Encode;
}

async function sendMatching(
  answers: AnswerStream,
  page: readonly StoredRecord[],
  { filter, checkpoints, live, encode }: Sending,
): Promise<void> {
  for (const record of page) {
    if (answers.gone) return;
    const matches = !filter || filter.matches(record);
    const answer = matches ? encode(record) : null;
    let room = answer === null || answers.send(answer instanceof Promise ? await answer : answer);
    const checkpoint = checkpoints?.considered(record.position, matches, live);
    if (checkpoint !== undefined) room = answers.send(checkpointAnswer(checkpoint));
    if (!room) await answers.drained();
  }
}

/**
 * The checkpoints of a filtered subscription. While catching up, a checkpoint is the start of the search
 * window just searched, so it lags; live, it is every n-th event considered; once before going live, it is
 * the last event delivered.
 */
class Checkpoints {
  readonly #window: number;
  readonly #every: number;
  #considered = 0;
  #windowStart: number;
  #last: number;
  #delivered: number | undefined;
  #sent = -1;

  constructor(filter: EventFilter, after: number) {
    this.#window = filter.searchWindow;
    this.#every = filter.checkpointEvery;
    this.#windowStart = after;
    this.#last = after;
  }

  /** Counts an event; returns the position of a checkpoint if one is due. */
  considered(position: number, delivered: boolean, live: boolean): number | undefined {
    if (this.#considered % this.#window === 0) this.#windowStart = this.#last;
    this.#last = position;
    if (delivered) this.#delivered = position;
    this.#considered += 1;
    if (this.#considered < this.#every) return undefined;
    this.#considered = 0;
    this.#sent = live ? position : this.#windowStart;
    return this.#sent;
  }

  beforeLive(): number | undefined {
    if (this.#delivered === undefined || this.#delivered <= this.#sent) return undefined;
    this.#sent = this.#delivered;
    return this.#sent;
  }
}
