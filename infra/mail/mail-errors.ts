/**
 * Maps failures of the IMAP and SMTP clients to errors of the gateway. Server texts stay out of messages: they may contain
 * addresses.
 */
import { GatewayError } from '../../commands/values/errors.ts';

/** Fields the clients set on their errors; all optional. */
interface ClientError {
  readonly code?: unknown;
  readonly authenticationFailed?: unknown;
  readonly serverResponseCode?: unknown;
  readonly oauthError?: unknown;
  readonly responseStatus?: unknown;
  readonly tlsFailed?: unknown;
}

const fieldsOf = (error: unknown): ClientError => (typeof error === 'object' && error !== null ? error : {});

const RETRY_SECONDS = 5;

export const unavailable = (reason: string, message: string, cause?: unknown): GatewayError =>
  new GatewayError('mailbox_unavailable', message, {
    details: { reason },
    retryAfterSeconds: RETRY_SECONDS,
    cause,
  });

/** The connection ended, or went silent, after it had been in use. */
export const connectionLost = (cause?: unknown): GatewayError =>
  unavailable('connection_lost', 'The connection to the mail server broke; try again.', cause);

export const commandTimeout = (): GatewayError =>
  unavailable('timeout', 'The mail server did not answer in time; try again.');

/**
 * True when the server itself says that it rejects these credentials. A connection limit or an overloaded server also sets
 * `authenticationFailed` (imapflow), so that flag alone proves nothing.
 */
const isDefiniteRefusal = ({ authenticationFailed, serverResponseCode, oauthError }: ClientError): boolean =>
  authenticationFailed === true &&
  (serverResponseCode === 'AUTHENTICATIONFAILED' || oauthError !== undefined);

/** Why connecting or logging in failed: `mailbox_auth_failed` only on a definite refusal, else `mailbox_unavailable`. */
export function connectError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const fields = fieldsOf(error);
  if (isDefiniteRefusal(fields)) {
    return new GatewayError(
      'mailbox_auth_failed',
      'The mail server refuses the stored credentials; store new ones.',
      { details: { reason: 'login_refused' }, cause: error },
    );
  }
  if (fields.authenticationFailed === true) {
    const code = typeof fields.serverResponseCode === 'string' ? fields.serverResponseCode : 'NO';
    const message =
      'The mail server accepts no logins at the moment (not a wrong password); try again later.';
    return new GatewayError('mailbox_unavailable', message, {
      details: { reason: HELD_BACK, server_code: code },
      retryAfterSeconds: 30,
      cause: error,
    });
  }
  const reason = reasonOf(fields);
  return unavailable(reason, MESSAGES[reason], error);
}

/** The server accepts no login at the moment, for example because of too many connections of the user or load. */
export const isHeldBack = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.details['reason'] === HELD_BACK;

const HELD_BACK = 'login_unavailable';

type Reason = 'tls' | 'timeout' | 'refused' | 'protocol' | 'unreachable';
const MESSAGES: Readonly<Record<Reason, string>> = {
  tls: 'The mail server offers no TLS connection that can be trusted; check port, security and certificate.',
  timeout: 'The mail server did not answer in time; try again.',
  refused: 'The mail server does not accept connections on this port; check host and port, or try again.',
  protocol: 'The server on this port does not speak the expected protocol; check host, port and security.',
  unreachable: 'The mail server cannot be reached; try again.',
};

const TLS_CODES =
  /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_OSSL|EPROTO$|ETLS$|STARTTLS|UPGRADE)/;
const TIMEOUT_CODES = new Set(['CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'ETIMEOUT', 'ETIMEDOUT']);

function reasonOf({ code, tlsFailed }: ClientError): Reason {
  if (tlsFailed === true) return 'tls';
  if (typeof code !== 'string') return 'unreachable';
  if (TLS_CODES.test(code) || code === 'ClosedAfterConnectTLS') return 'tls';
  if (TIMEOUT_CODES.has(code)) return 'timeout';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code.startsWith('ParserError') || code === 'EPROTOCOL' || code === 'InvalidResponse') return 'protocol';
  return 'unreachable';
}

/** True when the server itself answered NO or BAD: the connection is well, the command was refused. */
export const isRefusal = (error: unknown): boolean => {
  const { responseStatus } = fieldsOf(error);
  return responseStatus === 'NO' || responseStatus === 'BAD';
};

/** The server's response code of a refused command (RFC 3501 7.1, RFC 5530), upper case, or null. */
export const refusalCode = (error: unknown): string | null => {
  const { serverResponseCode } = fieldsOf(error);
  return typeof serverResponseCode === 'string' ? serverResponseCode.toUpperCase() : null;
};

const REFUSALS: Readonly<Record<string, string>> = {
  TRYCREATE: 'The target folder does not exist on the mail server.',
  NONEXISTENT: 'The folder does not exist on the mail server.',
  OVERQUOTA: 'The mailbox is full.',
  NOPERM: 'The mail server does not permit this.',
  ALREADYEXISTS: 'The folder exists already.',
  CANNOT: 'The mail server cannot do this.',
  LIMIT: 'The mail server has reached one of its limits.',
  INUSE: 'The mail server is busy with this mailbox; try again.',
  READONLY: 'The folder can only be read.',
};

/** The text for a refusal, in the gateway's own words. */
export const refusalText = (code: string | null): string =>
  (code === null ? undefined : REFUSALS[code]) ?? 'The mail server refused the command.';

/** A failed command on an open connection: a refusal is `provider_rejected`, anything else a lost connection. */
export function commandError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (!isRefusal(error)) return connectionLost(error);
  const code = refusalCode(error);
  return new GatewayError('provider_rejected', refusalText(code), {
    details: { reason: 'refused', ...(code === null ? {} : { server_code: code }) },
    cause: error,
  });
}
