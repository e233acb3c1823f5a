/** The call all appends of a client share, kept from ending the process or swallowing appends. */
import type { Duplex } from 'node:stream';
import { Metadata, status } from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Log } from '../../commands/ports/ports.ts';

type Deliver = (reply: streams.BatchAppendResp) => void;

/**
 * Guards the call in place, before its first message:
 * - a reply to no pending append (a second one, a late one) throws inside the client, where nobody can catch it;
 * - a write the client queues behind a full buffer becomes an unhandled rejection when the call breaks, so the buffer
 *   never says that it is full: the number of appends under way bounds it;
 * - a call that ends without an error stays in the client's cache, and every later append would wait on it for ever.
 */
export function guardSharedAppendCall(call: Duplex, log: Log): Duplex {
  const listeners = call.listeners('data') as Deliver[];
  call.removeAllListeners('data');
  call.on('data', (reply: streams.BatchAppendResp) => {
    withCode(reply);
    try {
      for (const deliver of listeners) deliver(reply);
    } catch (error) {
      log.warn('event store: answer without a pending append dropped', { error: String(error) });
    }
  });
  const write = call.write.bind(call) as (message: unknown) => boolean;
  call.write = (message: unknown) => {
    write(message);
    return true;
  };
  let hasFailed = false;
  call.once('error', () => {
    hasFailed = true;
  });
  call.once('end', () => {
    if (!hasFailed) call.destroy(endedWithoutError());
  });
  return call;
}

/** Puts the status code before the message, as in every other gRPC error: the client keeps only the message. */
function withCode(reply: streams.BatchAppendResp): void {
  const error = reply.getError();
  error?.setMessage(`${String(error.getCode())} ${error.getMessage()}`);
}

/** In the form the client takes for a lost server, so that it opens the call again. */
function endedWithoutError(): Error {
  const details = 'the server ended the call';
  return Object.assign(new Error(`14 UNAVAILABLE: ${details}`), {
    code: status.UNAVAILABLE,
    details,
    metadata: new Metadata(),
  });
}
