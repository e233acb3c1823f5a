/** What the client's errors mean to a caller. */
import { ErrorType, isCommandError } from '@eventstore/db-client';
import { GatewayError } from '../../commands/kernel/errors.ts';

/** The store cannot be reached, or has not said in time whether it did what was asked. */
export const storeUnavailable = (cause: unknown): GatewayError =>
  new GatewayError('store_unavailable', 'The event store does not answer; try again in a few seconds.', {
    cause,
  });

/** How an append that failed stands, and what to do next. */
export type AppendFailure =
  /** Nothing was written, and sending it again will not help. */
  | 'refused'
  /** Nothing was written, or it is unknown: send the identical append again. */
  | 'resend'
  /** The same, and the client has to be replaced first. */
  | 'resend-on-new-client';

const REFUSALS = new Set<string>([
  ErrorType.ACCESS_DENIED,
  ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
  ErrorType.MISSING_REQUIRED_METADATA_PROPERTY,
  ErrorType.STREAM_DELETED,
  ErrorType.WRONG_EXPECTED_VERSION,
]);

/**
 * Anything not known to be a refusal leaves the outcome open. An error that is no command error comes from the feature
 * probe, whose failure the client may keep for ever. Bad requests arrive as `UnknownError`, told apart by their text only.
 */
export function classifyAppendFailure(error: unknown): AppendFailure {
  if (!isClientError(error)) return 'resend-on-new-client';
  return REFUSALS.has(error.type) || error.message.includes('BadRequest') ? 'refused' : 'resend';
}

const isClientError = (error: unknown): error is Error & { readonly type: string } =>
  error instanceof Error && isCommandError(error);
