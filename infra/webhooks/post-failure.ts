/** Why a POST brought no whole answer, as a code of `DELIVERY_ERRORS`. */
import type { WebhookResponse } from '../../commands/ports/webhook-port.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import type { DeliveryError } from '../../commands/values/webhook-event.ts';

/** An answer, or why there is none, without its times. */
export type Outcome = Omit<WebhookResponse, 'startedAt' | 'durationMs'>;

const BY_CODE: Readonly<Record<string, DeliveryError>> = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  EADDRNOTAVAIL: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  EPROTO: 'tls_failed',
};

/** Of a certificate: Node has about thirty codes for what OpenSSL refuses, most of them with one of these words. */
const OF_TLS = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_)/;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

export const isUnresolved = (error: unknown): boolean =>
  error instanceof GatewayError && error.details['reason'] === 'dns';

function errorOf(error: unknown): DeliveryError {
  if (isUnresolved(error)) return 'dns_failed';
  if (error instanceof GatewayError) return 'target_blocked';
  const code = codeOf(error);
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (OF_TLS.test(code)) return 'tls_failed';
  return 'protocol_error';
}

/** `httpStatus`: of an answer that began and did not end. */
export const failed = (error: DeliveryError, httpStatus: number | null): Outcome => ({
  status: error === 'target_blocked' ? 'blocked' : 'failed',
  httpStatus,
  error,
  excerpt: '',
  retryAfterSeconds: null,
});

export const outcomeOfFailure = (error: unknown, httpStatus: number | null): Outcome =>
  failed(errorOf(error), httpStatus);
