/** BatchAppend: many appends over one call, each in one or more chunks and answered exactly once. */
import { status } from '@grpc/grpc-js';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import anyMessages from 'google-protobuf/google/protobuf/any_pb.js';
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js';
import codes from '@eventstore/db-client/generated/code_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { NO_SPACE_TEXT } from '../../platform/disk-full.ts';
import { callError } from './call-errors.ts';
import type { EventLog } from './event-log.ts';
import type { OpenCalls } from './open-calls.ts';
import { ProposedEvents, refuseStreamName } from './proposed-events.ts';
import { MAX_APPEND_BYTES } from './stored-record.ts';
import { streamNameOf, toNumber, uuidText } from './wire-values.ts';
import type { Expectation, Outcome, Refusal, Written } from './write-request.ts';

const { BatchAppendResp } = streams;
const { Empty } = emptyMessages;
const { Code } = codes;
type Code = codes.Code;

type BatchCall = ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;

/** An append whose last chunk has not arrived yet. */
interface OpenAppend {
  readonly correlationId: shared.UUID;
  readonly options: streams.BatchAppendReq.Options;
  readonly events: ProposedEvents;
  /** As `performance.now()`. */
  readonly begunAt: number;
}

/** Limits of one call on appends that wait for their commit; beyond them the call stops reading. */
const MOST_WAITING = { appends: 2_000, bytes: 16 * 1_048_576 };

/** Limits of one call on incomplete appends, whose last chunk may never arrive. */
const MOST_OPEN = { appends: 1_000, bytes: 32 * 1_048_576, ms: 30_000 };

/** The call stays open when the client ends its side; it ends with its connection or when it is cancelled. */
export function batchAppendCall(log: EventLog, calls: OpenCalls) {
  return (call: BatchCall): void => {
    calls.add(call);
    const open = new Map<string, OpenAppend>();
    const waiting = { appends: 0, bytes: 0 };
    const isFull = (): boolean =>
      waiting.appends >= MOST_WAITING.appends || waiting.bytes >= MOST_WAITING.bytes;
    call.on('data', (message: streams.BatchAppendReq) => {
      const append = collect(open, message);
      if (holdsTooMuch(open)) {
        open.clear();
        call.emit(
          'error',
          callError(status.RESOURCE_EXHAUSTED, 'Too many appends were begun and not finished.'),
        );
        return;
      }
      if (!append) return;
      const { bytes } = append.events;
      waiting.appends += 1;
      waiting.bytes += bytes;
      if (isFull()) call.pause();
      submit(log, append, (answer) => {
        waiting.appends -= 1;
        waiting.bytes -= bytes;
        if (!isFull() && call.isPaused()) call.resume();
        if (!call.cancelled) call.write(answer);
      });
    });
  };
}

/** Adds a chunk; returns a complete append. Ignores a first chunk without options, as a real server does. */
function collect(open: Map<string, OpenAppend>, message: streams.BatchAppendReq): OpenAppend | null {
  const correlationId = message.getCorrelationId() ?? new shared.UUID();
  const key = uuidText(correlationId);
  const options = message.getOptions();
  const append =
    (key === null ? undefined : open.get(key)) ??
    (options
      ? { correlationId, options, events: new ProposedEvents(), begunAt: performance.now() }
      : undefined);
  if (!append) return null;
  for (const proposed of message.getProposedMessagesList()) append.events.add(proposed);
  // Chunks without a valid correlation id are refused one by one.
  if (message.getIsFinal() || key === null) {
    open.delete(key ?? '');
    return append;
  }
  open.set(key, append);
  return null;
}

/** Drops incomplete appends that are too old; true when the rest exceeds the limits of one call. */
function holdsTooMuch(open: Map<string, OpenAppend>): boolean {
  let bytes = 0;
  for (const [key, { begunAt, events }] of open) {
    if (performance.now() - begunAt > MOST_OPEN.ms) open.delete(key);
    else bytes += events.bytes;
  }
  return open.size > MOST_OPEN.appends || bytes > MOST_OPEN.bytes;
}

function submit(
  log: EventLog,
  { correlationId, options, events }: OpenAppend,
  answer: (message: streams.BatchAppendResp) => void,
): void {
  const stream = streamNameOf(options.getStreamIdentifier());
  const expected = expectationOf(options);
  const settle = (outcome: Outcome): void => {
    const message = new BatchAppendResp().setCorrelationId(correlationId);
    message.setStreamIdentifier(options.getStreamIdentifier() ?? new shared.StreamIdentifier());
    if (outcome.kind === 'written') message.setSuccess(successMessage(outcome));
    else message.setError(errorMessage(outcome, options));
    answer(message);
  };
  const refusal = refuseStreamName(stream) ?? events.refusal;
  if (uuidText(correlationId) === null) settle({ kind: 'bad-request', message: 'No correlation id.' });
  else if (refusal) settle(refusal);
  else if (expected === null) settle({ kind: 'bad-request', message: 'No expected revision.' });
  else {
    const expiresAtMs = options.getDeadline()?.toDate().getTime() ?? Infinity;
    log.submit({ action: 'append', stream, expected, records: events.records, expiresAtMs, settle });
  }
}

function expectationOf(options: streams.BatchAppendReq.Options): Expectation | null {
  if (options.hasStreamPosition()) return toNumber(options.getStreamPosition());
  if (options.hasNoStream()) return 'no-stream';
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream-exists' : null;
}

function successMessage({ revision, position }: Written): streams.BatchAppendResp.Success {
  const success = new BatchAppendResp.Success();
  if (revision < 0) success.setNoStream(new Empty());
  else success.setCurrentRevision(String(revision));
  if (position === null) return success.setNoPosition(new Empty());
  const at = new shared.AllStreamPosition();
  return success.setPosition(at.setCommitPosition(String(position)).setPreparePosition(String(position)));
}

/** Code, message and detail of each refusal; on a real server "not ready" also has code 0 and no detail. */
function errorMessage(refusal: Refusal, options: streams.BatchAppendReq.Options): statusMessages.Status {
  const error = (code: Code, text: string, type: string, bytes: Uint8Array): statusMessages.Status => {
    const details = new anyMessages.Any();
    details.setTypeUrl(`type.googleapis.com/${type}`);
    details.setValue(bytes);
    return new statusMessages.Status().setCode(code).setMessage(text).setDetails(details);
  };
  const own = (code: Code, name: string, detail: { serializeBinary(): Uint8Array }) =>
    error(code, name, `event_store.client.${name}`, detail.serializeBinary());
  switch (refusal.kind) {
    case 'wrong-version':
      return own(Code.ALREADY_EXISTS, 'WrongExpectedVersion', wrongVersionDetail(refusal));
    case 'stream-deleted':
      return own(
        Code.NOT_FOUND,
        'StreamDeleted',
        new shared.StreamDeleted().setStreamIdentifier(options.getStreamIdentifier()),
      );
    case 'too-large':
      return own(
        Code.INVALID_ARGUMENT,
        'MaximumAppendSizeExceeded',
        new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES),
      );
    case 'deadline-passed':
      return own(Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout());
    case 'missing-property':
      return own(
        Code.INVALID_ARGUMENT,
        'BadRequest',
        new shared.BadRequest().setMessage('An event lacks type or content-type.'),
      );
    case 'bad-request':
      return own(Code.INVALID_ARGUMENT, 'BadRequest', new shared.BadRequest().setMessage(refusal.message));
    case 'no-space':
      return error(
        Code.RESOURCE_EXHAUSTED,
        NO_SPACE_TEXT,
        'google.protobuf.Empty',
        new Empty().serializeBinary(),
      );
    case 'not-ready':
      return error(Code.OK, 'Server Is Not Ready', 'google.protobuf.Empty', new Empty().serializeBinary());
  }
}

function wrongVersionDetail({
  expected,
  actual,
}: Extract<Refusal, { kind: 'wrong-version' }>): shared.WrongExpectedVersion {
  const detail = new shared.WrongExpectedVersion();
  if (actual < 0) detail.setCurrentNoStream(new Empty());
  else detail.setCurrentStreamRevision(String(actual));
  if (typeof expected === 'number') detail.setExpectedStreamPosition(String(expected));
  else if (expected === 'no-stream') detail.setExpectedNoStream(new Empty());
  else if (expected === 'any') detail.setExpectedAny(new Empty());
  else detail.setExpectedStreamExists(new Empty());
  return detail;
}
