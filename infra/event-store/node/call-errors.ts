/** Status and trailers of failed calls, as a real server sends them. */
import { Metadata, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { NO_SPACE_TEXT } from '../../platform/disk-full.ts';
import { MAX_APPEND_BYTES } from './stored-record.ts';
import type { Expectation, Refusal } from './write-request.ts';

/** An error that ends a call. `trailers` carry the `exception` by which the client recognises it. */
export function callError(
  code: status,
  details: string,
  trailers: Readonly<Record<string, string>> = {},
): ServiceError {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return Object.assign(new Error(details), { code, details, metadata });
}

export const notReady = (): ServiceError => callError(status.UNAVAILABLE, 'Server Is Not Ready');

export const handlerThrew = (): ServiceError => callError(status.UNKNOWN, 'Exception was thrown by handler.');

/** Expectations as the numbers of the old protocol: no stream −1, any −2, exists −4. */
function expectationNumber(expected: Expectation): string {
  if (typeof expected === 'number') return String(expected);
  return { 'no-stream': '-1', any: '-2', 'stream-exists': '-4' }[expected];
}

/** A refusal as the status of a unary call. A wrong version of an append is a message instead. */
export function refusalError(refusal: Refusal, stream: string): ServiceError {
  switch (refusal.kind) {
    case 'wrong-version': {
      const expected = expectationNumber(refusal.expected);
      const actual = String(refusal.actual);
      return callError(
        status.FAILED_PRECONDITION,
        `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, ` +
          `Actual version: ${actual}`,
        {
          exception: 'wrong-expected-version',
          'stream-name': stream,
          'expected-version': expected,
          'actual-version': actual,
        },
      );
    }
    case 'stream-deleted':
      return callError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
        exception: 'stream-deleted',
        'stream-name': stream,
      });
    case 'too-large':
      return callError(
        status.INVALID_ARGUMENT,
        `Maximum Append Size of ${String(MAX_APPEND_BYTES)} Exceeded.`,
        { exception: 'maximum-append-size-exceeded', 'maximum-append-size': String(MAX_APPEND_BYTES) },
      );
    case 'missing-property':
      return callError(status.INVALID_ARGUMENT, "Required Metadata Property 'type' is missing", {
        exception: 'missing-required-metadata-property',
        'required-metadata-properties': 'type,content-type',
      });
    case 'bad-request':
      return handlerThrew();
    case 'deadline-passed':
      return callError(status.DEADLINE_EXCEEDED, 'Deadline Exceeded');
    case 'no-space':
      return callError(status.RESOURCE_EXHAUSTED, NO_SPACE_TEXT);
    case 'not-ready':
      return notReady();
  }
}
