/** Read: one call for every kind of read and subscription. */
import type { ServerWritableStream } from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Log } from '../../../commands/ports/ports.ts';
import { AnswerStream } from './answer-stream.ts';
import { notReady } from './call-errors.ts';
import type { EventLog } from './event-log.ts';
import { readAll, readStream } from './finite-reads.ts';
import type { OpenCalls } from './open-calls.ts';
import { parseRead } from './read-plan.ts';
import type { ReadPlan } from './read-plan.ts';
import { followAll, followStream } from './subscriptions.ts';

export function readCall(eventLog: EventLog, calls: OpenCalls, log: Log) {
  return (call: ServerWritableStream<streams.ReadReq, Buffer>): void => {
    calls.add(call);
    const answers = new AnswerStream(call);
    serve(eventLog, call.request, answers).then(
      () => call.end(),
      (error: unknown) => {
        if (answers.gone) return;
        if (isCallError(error)) call.emit('error', error);
        else {
          log.warn('event node: read failed', { error: String(error) });
          call.emit('error', notReady());
        }
      },
    );
  };
}

async function serve(log: EventLog, request: streams.ReadReq, answers: AnswerStream): Promise<void> {
  const plan: ReadPlan = parseRead(request.getOptions());
  if (!log.isReady) throw notReady();
  switch (plan.kind) {
    case 'read-stream':
      return readStream(log, plan, answers);
    case 'read-all':
      return readAll(log, plan, answers);
    case 'follow-stream':
      return followStream(log, plan, answers);
    case 'follow-all':
      return followAll(log, plan, answers);
  }
}

const isCallError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number';
