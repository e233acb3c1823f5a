/** What the client's errors mean to a caller. */
import { status } from '@grpc/grpc-js';
import { ErrorType, isCommandError } from '@eventstore/db-client';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { NO_SPACE_TEXT } from '../platform/disk-full.ts';

/** The store cannot be reached, or has not said in time whether it did what was asked. */
export const storeUnavailable = (cause: unknown): GatewayError =>
  new GatewayError('store_unavailable', 'The event store does not answer; try again in a few seconds.', {
    cause,
  });

/** Only its operator can mend that. */
export const DENIAL =
  'The event store denies the gateway access: check user and password in EVENTSTORE_URL, and that this user may append to ' +
  'streams and read $all.';

/** How a call that failed stands, and what to do next. */
export type StoreFailure =
  /** Nothing was written, and asking again will not help: a defect of ours, or an answer the caller understands. */
  | 'refused'
  /** The store does not let the gateway in: for its operator to mend, so callers are told to come back. */
  | 'denied'
  /** Nothing was written, or it is unknown: ask the very same again. */
  | 'again'
  /** The same, over another connection: this one is silent, or keeps a failure for ever. */
  | 'again-elsewhere';

const REFUSALS = new Set<ErrorType>([
  ErrorType.INVALID_ARGUMENT,
  ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
  ErrorType.MISSING_REQUIRED_METADATA_PROPERTY,
  ErrorType.STREAM_DELETED,
  ErrorType.WRONG_EXPECTED_VERSION,
]);

/** What the client knows no class for is told apart by the status code in a shared call's reply, or by its text. */
const REFUSING_TEXT = new RegExp(
  `^Could not recognize ${String(status.INVALID_ARGUMENT)} |MaximumAppendEventSizeExceeded|InvalidPosition`,
);

/**
 * Anything not known to be a refusal leaves the outcome open ("Server Is Not Ready" comes as `UnknownError`). An error
 * that is no command error comes from our timers, from the feature probe, whose failure the client keeps, or from finding
 * the cluster. A connection that is lost (`UnavailableError`) the client replaces by itself.
 */
export function classifyFailure(error: unknown): StoreFailure {
  if (!isClientError(error)) return 'again-elsewhere';
  if (error.type === ErrorType.ACCESS_DENIED) return 'denied';
  if (REFUSALS.has(error.type)) return 'refused';
  const isRefusal = error.code === status.INVALID_ARGUMENT || REFUSING_TEXT.test(error.message);
  return isRefusal ? 'refused' : 'again';
}

/** Says at level error what an operator has to do when the store does not know or not trust the gateway. */
export function reportFailure(log: Log, call: string, fields: Record<string, unknown>, error: unknown): void {
  const line = { call, ...fields, error: String(error) };
  if (isDenial(error)) log.error('event store: access denied', { ...line, advice: DENIAL });
  else log.warn('event store: retrying', line);
}

/** The store answers, and has no room: nothing was written. */
export const saysNoSpace = (error: unknown): boolean =>
  isClientError(error) && error.message.includes(NO_SPACE_TEXT);

type ClientError = Error & { readonly type: ErrorType; readonly code?: status };

/** Also the feature probe's plain error for a wrong password. */
export function isDenial(error: unknown): boolean {
  if (isClientError(error)) return error.type === ErrorType.ACCESS_DENIED;
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}

const isClientError = (error: unknown): error is ClientError =>
  error instanceof Error && isCommandError(error);
