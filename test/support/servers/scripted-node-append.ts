/** One append as a script of a scripted node sees it, the same for the shared call and for a unary call. */
import { status } from '@grpc/grpc-js';
import type { ServerDuplexStream, ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import anyMessages from 'google-protobuf/google/protobuf/any_pb.js';
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js';
import codes from '@eventstore/db-client/generated/code_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { callError } from '../../../infra/event-store/node/call-errors.ts';
import type { ProposedEvent, WriteOutcome } from './scripted-node-log.ts';

const { Code } = codes;
const { AppendReq, AppendResp, BatchAppendReq, BatchAppendResp } = streams;

/** A refusal: the status of a unary call, or `code`, `message` and detail name in the shared call. */
export interface ScriptedRefusal {
  readonly code: keyof typeof status;
  readonly message: string;
  readonly detail?: string;
}

export interface ScriptedAppend {
  readonly stream: string;
  /** -1 = no stream. */
  readonly expected: number;
  readonly events: readonly ProposedEvent[];
  readonly ids: string;
  /** The client's deadline for the write. */
  readonly deadline: Date | number | undefined;
  /** Reports the log's outcome. */
  tell(outcome: WriteOutcome & { readonly withoutPosition?: boolean }): void;
  refuse(refusal: ScriptedRefusal): void;
  /** Ends the call, shared or not, with an error. */
  fail(code: status, details: string, trailers?: Record<string, string>): void;
}

export type SharedCall = ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;

type Message = streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage;

const proposedOf = (message: Message): ProposedEvent => ({
  id: message.getId()?.getString() ?? '',
  type: message.getMetadataMap().get('type') ?? '',
  data: message.getData_asU8(),
});

const nameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();

const idsOf = (events: readonly ProposedEvent[]): string => events.map(({ id }) => id).join();

/** An append of the shared call; every append of these tests fits one message. */
export function sharedAppend(call: SharedCall, message: streams.BatchAppendReq): ScriptedAppend {
  const options = message.getOptions() ?? new BatchAppendReq.Options();
  const events = message.getProposedMessagesList().map(proposedOf);
  const reply = (): streams.BatchAppendResp =>
    new BatchAppendResp()
      .setCorrelationId(message.getCorrelationId())
      .setStreamIdentifier(options.getStreamIdentifier());
  const refuse = (
    { code, message: text, detail }: ScriptedRefusal,
    bytes: Uint8Array = new Uint8Array(),
  ): void => {
    const details = new anyMessages.Any();
    details.setTypeUrl(`type.googleapis.com/${detail ?? 'google.protobuf.Empty'}`);
    details.setValue(bytes);
    const error = new statusMessages.Status().setCode(Code[code]).setMessage(text).setDetails(details);
    call.write(reply().setError(error));
  };
  return {
    stream: nameOf(options.getStreamIdentifier()),
    expected: options.hasNoStream() ? -1 : Number(options.getStreamPosition()),
    events,
    ids: idsOf(events),
    deadline: options.getDeadline()?.toDate(),
    refuse,
    fail: (...error) => {
      call.emit('error', callError(...error));
    },
    tell: (outcome) => {
      if ('actual' in outcome) {
        const detail = new shared.WrongExpectedVersion();
        if (outcome.actual >= 0) detail.setCurrentStreamRevision(String(outcome.actual));
        const name = 'event_store.client.WrongExpectedVersion';
        refuse(
          { code: 'ALREADY_EXISTS', message: 'WrongExpectedVersion', detail: name },
          detail.serializeBinary(),
        );
        return;
      }
      const success = new BatchAppendResp.Success().setCurrentRevision(String(outcome.revision));
      const at = String(outcome.position);
      if (outcome.withoutPosition) success.setNoPosition(new emptyMessages.Empty());
      else success.setPosition(new shared.AllStreamPosition().setCommitPosition(at).setPreparePosition(at));
      call.write(reply().setSuccess(success));
    },
  };
}

/** An append as a unary call, once all its messages have arrived. */
export function unaryAppend(
  call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
  reply: sendUnaryData<streams.AppendResp>,
  run: (append: ScriptedAppend) => void,
): void {
  let options = new AppendReq.Options();
  const events: ProposedEvent[] = [];
  call.on('data', (message: streams.AppendReq) => {
    const proposed = message.getProposedMessage();
    if (proposed) events.push(proposedOf(proposed));
    else options = message.getOptions() ?? options;
  });
  call.on('end', () => {
    const fail: ScriptedAppend['fail'] = (...error) => {
      reply(callError(...error));
    };
    run({
      stream: nameOf(options.getStreamIdentifier()),
      expected: options.hasNoStream() ? -1 : Number(options.getRevision()),
      events,
      ids: idsOf(events),
      deadline: call.getDeadline(),
      fail,
      refuse: ({ code, message }) => {
        // Code 0 in the shared call corresponds to "unavailable" here.
        fail(code === 'OK' ? status.UNAVAILABLE : status[code], message);
      },
      tell: (outcome) => {
        reply(null, unaryReply(outcome));
      },
    });
  });
}

function unaryReply(outcome: Parameters<ScriptedAppend['tell']>[0]): streams.AppendResp {
  if ('actual' in outcome) {
    const wrong = new AppendResp.WrongExpectedVersion();
    if (outcome.actual >= 0) wrong.setCurrentRevision(String(outcome.actual));
    return new AppendResp().setWrongExpectedVersion(wrong);
  }
  const success = new AppendResp.Success().setCurrentRevision(String(outcome.revision));
  const at = String(outcome.position);
  if (outcome.withoutPosition) success.setNoPosition(new shared.Empty());
  else success.setPosition(new AppendResp.Position().setCommitPosition(at).setPreparePosition(at));
  return new AppendResp().setSuccess(success);
}
