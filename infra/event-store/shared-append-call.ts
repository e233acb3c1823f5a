/** Guards the call that all appends of a client share, so that it cannot end the process or lose appends. */
import type { Duplex } from 'node:stream';
import { Metadata, status } from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Log } from '../../commands/ports/ports.ts';

type Deliver = (reply: streams.BatchAppendResp) => void;

/**
 * Guards the call in place, before its first message:
 * - A reply to no pending append (a duplicate or a late one) throws inside the client, where no caller can
 *   catch it.
 * - A write that the client queues behind a full buffer becomes an unhandled rejection when the call breaks.
 *   So the buffer never reports that it is full; the number of concurrent appends bounds it.
 * - A call that ends without an error stays in the client's cache, and every later append would wait on it
 *   forever.
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

/** Prefixes the message with the status code, as other gRPC errors do: the client keeps only the message. */
function withCode(reply: streams.BatchAppendResp): void {
  const error = reply.getError();
  error?.setMessage(`${String(error.getCode())} ${error.getMessage()}`);
}

/** The error the client treats as a lost server, so that it reopens the call. */
function endedWithoutError(): Error {
  const details = 'the server ended the call';
  return Object.assign(new Error(`14 UNAVAILABLE: ${details}`), {
    code: status.UNAVAILABLE,
    details,
    metadata: new Metadata(),
  });
}
