/** The Delete and Tombstone calls. */
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { handlerThrew, refusalError } from './call-errors.ts';
import type { EventLog } from './event-log.ts';
import { refuseStreamName } from './proposed-events.ts';
import { isMetadataStream } from './stream-state.ts';
import { millisOf, streamNameOf, toNumber } from './wire-values.ts';
import type { Expectation, WriteRequest } from './write-request.ts';

const { DeleteResp, TombstoneResp } = streams;

type Request = streams.DeleteReq | streams.TombstoneReq;
type Options = streams.DeleteReq.Options | streams.TombstoneReq.Options;

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
  <Req extends Request, Resp>(
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

function expectationOf(options: Options | undefined): Expectation | null {
  if (options?.hasRevision()) return toNumber(options.getRevision());
  if (options?.hasNoStream()) return 'no-stream';
  if (options?.hasAny()) return 'any';
  return options?.hasStreamExists() ? 'stream-exists' : null;
}
