/** A parsed Read request. */
import { status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { callError, handlerThrew } from './call-errors.ts';
import { BadFilter, parseFilter } from './event-filter.ts';
import type { EventFilter } from './event-filter.ts';
import type { Direction } from './log-rows.ts';
import { streamNameOf, toNumber } from './wire-values.ts';

type Options = streams.ReadReq.Options;

/** The start of a read: the start, the end, or a revision or position. */
export type Origin = 'start' | 'end' | number;

export interface StreamRead {
  readonly kind: 'read-stream';
  readonly stream: string;
  readonly from: Origin;
  readonly direction: Direction;
  readonly count: number;
  readonly resolveLinks: boolean;
}

export interface AllRead {
  readonly kind: 'read-all';
  readonly from: Origin;
  readonly direction: Direction;
  readonly count: number;
  readonly filter: EventFilter | null;
  readonly resolveLinks: boolean;
}

export interface StreamSubscription {
  readonly kind: 'follow-stream';
  readonly stream: string;
  readonly after: Origin;
  readonly resolveLinks: boolean;
}

export interface AllSubscription {
  readonly kind: 'follow-all';
  readonly after: Origin;
  readonly filter: EventFilter | null;
  readonly resolveLinks: boolean;
}

export type ReadPlan = StreamRead | AllRead | StreamSubscription | AllSubscription;

const unknownResult = (what: string): ServiceError =>
  callError(status.UNKNOWN, `Unexpected ${what}ReadResult: Error`);

/** Throws the final status of the call when the request is invalid. */
export function parseRead(options: Options | undefined): ReadPlan {
  if (!options) throw handlerThrew();
  const { ReadDirection } = streams.ReadReq.Options;
  const backwards = options.getReadDirection() === ReadDirection.BACKWARDS;
  const plan = options.hasStream()
    ? streamPlan(options, backwards ? 'backwards' : 'forwards')
    : allPlan(options, backwards ? 'backwards' : 'forwards');
  if (backwards && options.hasSubscription()) {
    const combination = `(${options.hasStream() ? 'Stream' : 'All'}, Subscription, Backwards, NoFilter)`;
    throw callError(status.INVALID_ARGUMENT, `The combination of ${combination} is invalid.`);
  }
  return plan;
}

const countOf = (options: Options): number => (options.hasCount() ? toNumber(options.getCount()) : Infinity);

function streamPlan(options: Options, direction: Direction): StreamRead | StreamSubscription {
  const wanted = options.getStream();
  const stream = streamNameOf(wanted?.getStreamIdentifier());
  if (!wanted || stream === '' || stream.includes('\u0000')) throw handlerThrew();
  const from = wanted.hasRevision() ? toNumber(wanted.getRevision()) : wanted.hasEnd() ? 'end' : 'start';
  const resolveLinks = options.getResolveLinks();
  if (options.hasSubscription()) return { kind: 'follow-stream', stream, after: from, resolveLinks };
  const count = countOf(options);
  const beyondAll = from === 'end' || from === Number.MAX_SAFE_INTEGER;
  if (count === 0 || (direction === 'forwards' && beyondAll)) throw unknownResult('Stream');
  return { kind: 'read-stream', stream, from, direction, count, resolveLinks };
}

function allPlan(options: Options, direction: Direction): AllRead | AllSubscription {
  const wanted = options.getAll();
  if (!wanted) throw handlerThrew();
  const at = wanted.getPosition();
  const from = at ? toNumber(at.getCommitPosition()) : wanted.hasEnd() ? 'end' : 'start';
  if (at && toNumber(at.getPreparePosition()) > toNumber(at.getCommitPosition())) throw unknownResult('All');
  const filter = filterOf(options);
  const resolveLinks = options.getResolveLinks();
  return options.hasSubscription()
    ? { kind: 'follow-all', after: from, filter, resolveLinks }
    : { kind: 'read-all', from, direction, count: countOf(options), filter, resolveLinks };
}

function filterOf(options: Options): EventFilter | null {
  const filter = options.getFilter();
  if (!filter) return null;
  try {
    return parseFilter(filter);
  } catch (error) {
    if (error instanceof BadFilter) throw callError(status.UNKNOWN, error.message);
    throw error;
  }
}
