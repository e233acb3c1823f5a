/**
 * Separates the errors of Postgres and its client: "the database is unreachable" or "the statement is wrong".
 */
import { DatabaseError } from 'pg';
import { GatewayError } from '../../commands/values/errors.ts';
import { isDiskFull, DiskFull } from '../platform/disk-full.ts';

/** SQLSTATE classes and codes: connection, resources, shutdown, and a statement stopped by its timeout. */
const AWAY = /^(?:08...|53...|57P0[1-5]|57014|25P03)$/;

/** Messages of `pg` without a code. */
const CLIENT_MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'The server does not support SSL connections',
  'Cannot use a pool after calling end on the pool',
];

/**
 * True for a failure of the connection: the outcome of the statement is unknown, and the connection is
 * unusable.
 */
export function isConnectionFailure(error: unknown): error is Error {
  if (error instanceof DatabaseError) {
    return error.severity === 'FATAL' || AWAY.test(error.code ?? '');
  }
  if (!(error instanceof Error)) return false;
  // When every address of a host name refuses, the error is one AggregateError.
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  if ('syscall' in error) return true;
  return CLIENT_MESSAGES.some((message) => error.message.startsWith(message));
}

/**
 * The error for the rest of the gateway: `store_unavailable` for a connection failure, `DiskFull` (also
 * `store_unavailable`) for a full disk, else unchanged.
 */
export function asGatewayError(error: unknown): unknown {
  if (isDiskFull(error)) return new DiskFull(error);
  if (!isConnectionFailure(error)) return error;
  return new GatewayError('store_unavailable', 'The database cannot be reached; try again shortly.', {
    cause: error,
  });
}
