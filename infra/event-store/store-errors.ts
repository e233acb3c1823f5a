/** Classifies the client's errors. */
import { status } from '@grpc/grpc-js';
import { ErrorType, isCommandError } from '@eventstore/db-client';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { NO_SPACE_TEXT } from '../platform/disk-full.ts';

/** The store cannot be reached, or has not answered in time. */
export const storeUnavailable = (cause: unknown): GatewayError =>
  new GatewayError('store_unavailable', 'The event store does not answer; try again in a few seconds.', {
    cause,
  });

/** Only its operator can fix that. */
export const DENIAL =
  'The event store denies the gateway access: check user and password in EVENTSTORE_URL, and that this user may append to ' +
  'streams and read $all.';

/** The class of a failed call, and what to do next. */
export type StoreFailure =
  /** Nothing was written, and a retry will not help: a defect of ours, or an error the caller understands. */
  | 'refused'
  /** The store denies the gateway access: its operator has to fix that, callers are asked to retry later. */
  | 'denied'
  /** Nothing was written, or the outcome is unknown: repeat the identical call. */
  | 'again'
  /** The same, over another connection: this one is silent, or keeps a failure permanently. */
  | 'again-elsewhere';

const REFUSALS = new Set<ErrorType>([
  ErrorType.INVALID_ARGUMENT,
  ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
  ErrorType.MISSING_REQUIRED_METADATA_PROPERTY,
  ErrorType.STREAM_DELETED,
  ErrorType.WRONG_EXPECTED_VERSION,
]);

/**
 * Errors without a class in the client are recognised by the status code in a shared call's reply, or by
 * their text.
 */
const REFUSING_TEXT = new RegExp(
  `^Could not recognize ${String(status.INVALID_ARGUMENT)} |MaximumAppendEventSizeExceeded|InvalidPosition`,
);

/**
 * Any other error leaves the outcome unknown ("Server Is Not Ready" is an `UnknownError`). An error that is
 * not a command error comes from our timers, from the feature probe, whose failure the client keeps, or from
 * cluster discovery. The client replaces a lost connection (`UnavailableError`) automatically.
 */
export function classifyFailure(error: unknown): StoreFailure {
  if (!isClientError(error)) return 'again-elsewhere';
  if (error.type === ErrorType.ACCESS_DENIED) return 'denied';
  if (REFUSALS.has(error.type)) return 'refused';
  const isRefusal = error.code === status.INVALID_ARGUMENT || REFUSING_TEXT.test(error.message);
  return isRefusal ? 'refused' : 'again';
}

/** Logs a denial at level error with advice for the operator, any other failure at level warn. */
export function reportFailure(log: Log, call: string, fields: Record<string, unknown>, error: unknown): void {
  const line = { call, ...fields, error: String(error) };
  if (isDenial(error)) log.error('event store: access denied', { ...line, advice: DENIAL });
  else log.warn('event store: retrying', line);
}

/** True when the store reports a full disk: nothing was written. */
export const saysNoSpace = (error: unknown): boolean =>
  isClientError(error) && error.message.includes(NO_SPACE_TEXT);

type ClientError = Error & { readonly type: ErrorType; readonly code?: status };

/** Includes the feature probe's plain error for a wrong password. */
export function isDenial(error: unknown): boolean {
  if (isClientError(error)) return error.type === ErrorType.ACCESS_DENIED;
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}

const isClientError = (error: unknown): error is ClientError =>
  error instanceof Error && isCommandError(error);
