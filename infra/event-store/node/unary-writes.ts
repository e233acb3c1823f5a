/** The Append, Delete and Tombstone calls: one write each. */
import type { ServerReadableStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { callError, handlerThrew, refusalError } from './call-errors.ts';
import type { EventLog } from './event-log.ts';
import { ProposedEvents, refuseStreamName } from './proposed-events.ts';
import { isMetadataStream } from './stream-state.ts';
import { millisOf, streamNameOf, toNumber } from './wire-values.ts';
import type { Expectation, Outcome, Refusal, WriteRequest, Written } from './write-request.ts';

const { AppendResp, DeleteResp, TombstoneResp } = streams;
const { Empty } = shared;

type WrongVersion = Extract<Refusal, { kind: 'wrong-version' }>;
type DeletionRequest = streams.DeleteReq | streams.TombstoneReq;

/** Client-streaming Append: the options first, then one event per message. */
export function appendCall(log: EventLog) {
  return (
    call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
    reply: sendUnaryData<streams.AppendResp>,
  ): void => {
    const events = new ProposedEvents();
    let options: streams.AppendReq.Options | undefined;
    call.on('data', (message: streams.AppendReq) => {
      const proposed = message.getProposedMessage();
      if (proposed) events.add(proposed);
      else options ??= message.getOptions();
    });
    call.on('end', () => {
      const stream = streamNameOf(options?.getStreamIdentifier());
      const expected = expectationOf(options);
      const refusal = refuseStreamName(stream) ?? events.refusal;
      if (options && expected === null) {
        const text = "'None' is not a valid value of ExpectedStreamRevisionOneofCase";
        reply(callError(status.INVALID_ARGUMENT, text));
      } else if (expected === null || refusal) {
        reply(refusal ? refusalError(refusal, stream) : handlerThrew());
      } else {
        log.submit({
          action: 'append',
          stream,
          expected,
          records: events.records,
          expiresAtMs: millisOf(call.getDeadline()),
          settle: (outcome) => {
            answerAppend(outcome, stream, reply);
          },
        });
      }
    });
  };
}

function answerAppend(outcome: Outcome, stream: string, reply: sendUnaryData<streams.AppendResp>): void {
  if (outcome.kind === 'written') {
    reply(null, new AppendResp().setSuccess(successMessage(outcome)));
  } else if (outcome.kind === 'wrong-version') {
    reply(null, new AppendResp().setWrongExpectedVersion(wrongVersionMessage(outcome)));
  } else reply(refusalError(outcome, stream));
}

function successMessage({ revision, position }: Written): streams.AppendResp.Success {
  const success = new AppendResp.Success();
  if (revision < 0) success.setNoStream(new Empty());
  else success.setCurrentRevision(String(revision));
  if (position === null) return success.setNoPosition(new Empty());
  const at = new AppendResp.Position();
  return success.setPosition(at.setCommitPosition(String(position)).setPreparePosition(String(position)));
}

/** Sets only the fields newer than 20.6: no client that reads the older ones can reach this node. */
function wrongVersionMessage({ expected, actual }: WrongVersion): streams.AppendResp.WrongExpectedVersion {
  const message = new AppendResp.WrongExpectedVersion();
  if (actual < 0) message.setCurrentNoStream(new Empty());
  else message.setCurrentRevision(String(actual));
  if (typeof expected === 'number') message.setExpectedRevision(String(expected));
  else if (expected === 'no-stream') message.setExpectedNoStream(new Empty());
  else if (expected === 'any') message.setExpectedAny(new Empty());
  else message.setExpectedStreamExists(new Empty());
  return message;
}

/** Hides the stream until the next append. */
export const deleteCall = (log: EventLog) =>
  deletionCall<streams.DeleteReq, streams.DeleteResp>(log, 'delete', (at) => {
    const position = new DeleteResp.Position().setCommitPosition(at).setPreparePosition(at);
    return new DeleteResp().setPosition(position);
  });

/** Ends the stream and its metadata permanently. */
export const tombstoneCall = (log: EventLog) =>
  deletionCall<streams.TombstoneReq, streams.TombstoneResp>(log, 'tombstone', (at) => {
    const position = new TombstoneResp.Position().setCommitPosition(at).setPreparePosition(at);
    return new TombstoneResp().setPosition(position);
  });

const deletionCall =
  <Req extends DeletionRequest, Resp>(
    log: EventLog,
    action: WriteRequest['action'],
    answer: (position: string) => Resp,
  ) =>
  (call: ServerUnaryCall<Req, Resp>, reply: sendUnaryData<Resp>): void => {
    const options = call.request.getOptions();
    const stream = streamNameOf(options?.getStreamIdentifier());
    const expected = expectationOf(options);
    if (expected === null || refuseStreamName(stream) || isMetadataStream(stream)) {
      reply(handlerThrew());
      return;
    }
    log.submit({
      action,
      stream,
      expected,
      records: [],
      expiresAtMs: millisOf(call.getDeadline()),
      settle: (outcome) => {
        if (outcome.kind === 'written') reply(null, answer(String(outcome.position ?? 0)));
        else reply(refusalError(outcome, stream));
      },
    });
  };

function expectationOf(
  options: streams.AppendReq.Options | ReturnType<DeletionRequest['getOptions']>,
): Expectation | null {
  if (options?.hasRevision()) return toNumber(options.getRevision());
  if (options?.hasNoStream()) return 'no-stream';
  if (options?.hasAny()) return 'any';
  return options?.hasStreamExists() ? 'stream-exists' : null;
}
