/** Answers of the REST adapter: sent in one write, headers from the declaration, errors from the table. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Capability } from '../../commands/kernel/capability.ts';
import { ERROR_TABLE, type ErrorBody, GatewayError, toErrorBody } from '../../commands/values/errors.ts';
import { writePosition } from '../../commands/values/position.ts';
import type { Outcome } from '../../commands/kernel/invoke-capability.ts';

export const API_PATH = '/api/v1';

/** Written as bytes, not as text: Node copies a long text to three times its size. */
function send(response: ServerResponse, status: number, text: string, mediaType = 'application/json'): void {
  const body = Buffer.from(text);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.writeHead(status, {
    'Content-Type': `${mediaType}; charset=utf-8`,
    'Content-Length': body.length,
  });
  response.end(body);
}

/** The output with the status and headers its capability declares. */
export function sendOutcome(
  response: ServerResponse,
  { rest, etag }: Pick<Capability, 'rest' | 'etag'>,
  outcome: Outcome,
  { logId, asText = false }: { readonly logId: string; readonly asText?: boolean },
): void {
  const { output, json, unchanged } = outcome;
  setNotes(response, outcome, logId);
  if (etag) response.setHeader('ETag', `"${etag(output)}"`);
  const status = unchanged ? 200 : (rest?.status ?? 200);
  if (status === 201 && rest?.location) response.setHeader('Location', `${API_PATH}${rest.location(output)}`);
  sendBody(response, status, {
    json: () => json ?? JSON.stringify(output),
    text: asText && rest?.asText ? rest.asText(output) : null,
  });
}

function sendBody(
  response: ServerResponse,
  status: number,
  { json, text }: { readonly json: () => string; readonly text: string | null },
): void {
  if (text !== null) send(response, status, text, 'text/plain');
  else if (status !== 204) send(response, status, json());
  else {
    response.writeHead(204);
    response.end();
  }
}

function setNotes(response: ServerResponse, { position, replayed, stale }: Outcome, logId: string): void {
  if (position !== null) response.setHeader('Position', writePosition(logId, position));
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
  if (stale) response.setHeader('Stale', 'true');
}

/** How a surface tells its errors: what its challenges say, and what is around the error body. */
export interface ErrorStyle {
  readonly realm: string;
  /** Where a client learns how to get a token (RFC 9728 5.1), and for what it should ask. */
  readonly resourceMetadata?: string;
  readonly scopes?: readonly string[];
  readonly wrap?: (body: ErrorBody) => object;
}

const REST_STYLE: ErrorStyle = { realm: 'api' };

/** The error body of `contract.md` 13. */
export function sendError(
  response: ServerResponse,
  error: unknown,
  requestId: string,
  style: ErrorStyle = REST_STYLE,
): void {
  const body = toErrorBody(error, requestId);
  if (endsConnection(error, response.req)) response.setHeader('Connection', 'close');
  const challenge = challengeOf(error, response.req, style);
  if (challenge !== null) response.setHeader('WWW-Authenticate', challenge);
  if (error instanceof GatewayError && error.replayed) response.setHeader('Idempotency-Replayed', 'true');
  if (body.retry_after_seconds !== undefined) {
    response.setHeader('Retry-After', String(Math.ceil(body.retry_after_seconds)));
  }
  send(response, body.status, JSON.stringify(style.wrap?.(body) ?? { error: body }));
}

/**
 * A body that is too large, or unauthenticated, is not read to its end, so the connection cannot be reused.
 * The same holds for a request that was not awaited to its end.
 */
function endsConnection(error: unknown, request: IncomingMessage): boolean {
  if (!(error instanceof GatewayError)) return false;
  if (error.code === 'payload_too_large' || error.code === 'request_timeout') return true;
  const isOfNobody = ERROR_TABLE[error.code].status === 401 || error.code === 'origin_not_allowed';
  return isOfNobody && !request.complete;
}

/** How to authenticate (RFC 6750 3), for an error of authentication. */
function challengeOf(error: unknown, { headers }: IncomingMessage, style: ErrorStyle): string | null {
  if (!(error instanceof GatewayError)) return null;
  const { realm, resourceMetadata, scopes } = style;
  if (error.code === 'insufficient_scope') {
    const { required, operation_scopes: ofOperation = required } = error.details;
    const scope = Array.isArray(ofOperation) ? ofOperation.join(' ') : '';
    return bearer({ realm, error: error.code, scope, resource_metadata: resourceMetadata });
  }
  if (ERROR_TABLE[error.code].status !== 401) return null;
  // Without a bearer, or with a password, the challenge does not report an invalid bearer.
  const isOfBearer = error.code !== 'invalid_credentials' && headers.authorization !== undefined;
  return bearer({
    realm,
    error: isOfBearer ? 'invalid_token' : undefined,
    resource_metadata: resourceMetadata,
    scope: scopes?.join(' '),
  });
}

const bearer = (parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `Bearer ${given.map(([name, value = '']) => `${name}="${value}"`).join(', ')}`;
};
