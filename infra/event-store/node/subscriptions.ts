/** Reads that never end: confirmation, what there is, caught up, then what comes. */
import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import type { AnswerStream } from './answer-stream.ts';
import type { EventLog } from './event-log.ts';
import type { EventFilter } from './event-filter.ts';
import { refuseInvalidPosition, sendAll } from './finite-reads.ts';
import { PAGE_EVENTS } from './log-rows.ts';
import { caughtUpAnswer, checkpointAnswer, confirmationAnswer, eventAnswer } from './read-answers.ts';
import type { AllSubscription, StreamSubscription } from './read-plan.ts';
import type { StoredRecord } from './stored-record.ts';
import { firstVisible } from './stream-state.ts';

/** Follows a stream from after a revision; a stream that does not exist yet is waited for. */
export async function followStream(
  log: EventLog,
  { stream, after }: StreamSubscription,
  answers: AnswerStream,
): Promise<void> {
  answers.send(confirmationAnswer(randomUUID()));
  let cursor = typeof after === 'number' ? after : -1;
  if (after === 'end') cursor = (await log.states.read(stream)).head;
  let live = false;
  while (!answers.gone) {
    const seen = log.recent.lastPosition;
    const state = await log.states.read(stream);
    if (state.metadata.deleted || cursor >= state.head) {
      if (!live) answers.send(caughtUpAnswer());
      live = true;
      await log.recent.moreThan(seen, answers.signal);
      continue;
    }
    const from = Math.max(cursor + 1, firstVisible(state));
    const page = await log.rows.streamFrom(stream, from, 'forwards');
    live = live && page.length < PAGE_EVENTS;
    await sendAll(answers, page);
    cursor = page.at(-1)?.revision ?? state.head;
  }
}

/** Follows `$all` from after a position, filtered or not. From beyond the end it stays silent for ever, as really. */
export async function followAll(
  log: EventLog,
  { after, filter }: AllSubscription,
  answers: AnswerStream,
): Promise<void> {
  answers.send(confirmationAnswer(randomUUID()));
  await refuseInvalidPosition(log, after, status.INVALID_ARGUMENT);
  let cursor = after === 'start' ? 0 : after === 'end' ? log.recent.lastPosition : after;
  const checkpoints = filter ? new Checkpoints(filter, cursor) : null;
  let live = false;
  while (!answers.gone) {
    const recent = log.recent.after(cursor);
    const page = recent ?? (await log.rows.allAfter(cursor));
    const last = page.at(-1);
    if (last) {
      live = live && recent !== null;
      await sendMatching(answers, page, { filter, checkpoints, live });
      cursor = last.position;
      continue;
    }
    if (!live) {
      const position = checkpoints?.beforeLive();
      if (position !== undefined) answers.send(checkpointAnswer(position));
      answers.send(caughtUpAnswer());
      live = true;
    }
    await log.recent.moreThan(cursor, answers.signal);
  }
}

async function sendMatching(
  answers: AnswerStream,
  page: readonly StoredRecord[],
  {
    filter,
    checkpoints,
    live,
  }: { filter: EventFilter | null; checkpoints: Checkpoints | null; live: boolean },
): Promise<void> {
  for (const record of page) {
    if (answers.gone) return;
    const matches = !filter || filter.matches(record);
    let room = !matches || answers.send(eventAnswer(record));
    const checkpoint = checkpoints?.considered(record.position, matches, live);
    if (checkpoint !== undefined) room = answers.send(checkpointAnswer(checkpoint));
    if (!room) await answers.drained();
  }
}

/**
 * When a filtered subscription tells how far it has looked. Catching up it names the end of the window before the one
 * just read, so it lags; live it names every n-th event looked at; and once before going live the last event delivered.
 */
class Checkpoints {
  readonly #every: number;
  #considered = 0;
  #windowStart: number;
  #delivered: number | undefined;
  #sent = -1;

  constructor(filter: EventFilter, after: number) {
    this.#every = filter.checkpointEvery;
    this.#windowStart = after;
  }

  /** Counts an event; the position to send a checkpoint for, if one is due. */
  considered(position: number, delivered: boolean, live: boolean): number | undefined {
    if (delivered) this.#delivered = position;
    this.#considered += 1;
    if (this.#considered < this.#every) return undefined;
    this.#considered = 0;
    this.#sent = live ? position : this.#windowStart;
    this.#windowStart = position;
    return this.#sent;
  }

  beforeLive(): number | undefined {
    if (this.#delivered === undefined || this.#delivered <= this.#sent) return undefined;
    this.#sent = this.#delivered;
    return this.#sent;
  }
}
