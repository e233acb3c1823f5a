/** Which of Postgres' and its client's errors mean "the database is away" rather than "the statement is wrong". */
import { DatabaseError } from 'pg';
import { GatewayError } from '../../commands/values/errors.ts';
import { isDiskFull, DiskFull } from '../platform/disk-full.ts';

/** SQLSTATE classes and codes: connection, resources, shutdown, a statement stopped by its timeout. */
const AWAY = /^(?:08...|53...|57P0[1-5]|57014|25P03)$/;

/** Messages of `pg` that carry no code. */
const CLIENT_MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'The server does not support SSL connections',
  'Cannot use a pool after calling end on the pool',
];

/** True for a failure of the connection: nothing is known of the statement, and the connection is of no more use. */
export function isConnectionFailure(error: unknown): error is Error {
  if (error instanceof DatabaseError) {
    return error.severity === 'FATAL' || AWAY.test(error.code ?? '');
  }
  if (!(error instanceof Error)) return false;
  // A refusal by every address of a host name comes as one AggregateError.
  if (error instanceof AggregateError) return error.errors.some(isConnectionFailure);
  if ('syscall' in error) return true;
  return CLIENT_MESSAGES.some((message) => error.message.startsWith(message));
}

/**
 * The error as the rest of the gateway should see it: `store_unavailable` for a connection failure and, as `NoSpaceLeft`,
 * for a full disk; else unchanged.
 */
export function asGatewayError(error: unknown): unknown {
  if (isDiskFull(error)) return new DiskFull(error);
  if (!isConnectionFailure(error)) return error;
  return new GatewayError('store_unavailable', 'The database cannot be reached; try again shortly.', {
    cause: error,
  });
}
