/** Writes answers to `/mcp` straight to the socket: one write, Content-Length known, no framework in between. */
import type { ServerResponse } from 'node:http';
import { ERROR_TABLE, GatewayError, toErrorBody } from '../commands/kernel/errors.ts';
import { EnvelopeRefusal } from './json-rpc-messages.ts';

export const ALLOWED_METHODS = 'POST, DELETE';

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

/** 200 with one JSON-RPC response, or an array of them. */
export const sendJson = (response: ServerResponse, text: string): void => {
  sendText(response, 200, 'application/json', text);
};

/** 202: notifications and responses are taken note of, nothing is said. */
export function sendAccepted(response: ServerResponse): void {
  response.writeHead(202, { 'Content-Length': 0 });
  response.end();
}

/** 204: the session has ended. */
export function sendNoContent(response: ServerResponse): void {
  response.writeHead(204);
  response.end();
}

/** 200 as an event stream of these messages in order, ended at once. */
export function sendEvents(response: ServerResponse, messages: readonly string[]): void {
  response.setHeader('Cache-Control', 'no-cache, no-transform');
  response.setHeader('X-Accel-Buffering', 'no');
  const events = messages.map((message) => `event: message\ndata: ${message}\n\n`);
  sendText(response, 200, 'text/event-stream', events.join(''));
}

/** A failure of the HTTP channel: the service's own error body, or a JSON-RPC error for what is no JSON-RPC request. */
export function sendRefusal(response: ServerResponse, error: unknown, requestId: string): void {
  if (error instanceof EnvelopeRefusal) {
    const { id, code, message } = error;
    const body = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } };
    sendText(response, 400, 'application/json', JSON.stringify(body));
    return;
  }
  const body = toErrorBody(error, requestId);
  for (const [name, value] of refusalHeaders(error)) response.setHeader(name, value);
  if (body.retry_after_seconds !== undefined) {
    response.setHeader('Retry-After', String(Math.ceil(body.retry_after_seconds)));
  }
  sendText(response, body.status, 'application/json', JSON.stringify({ error: body }));
}

/** Headers that tell a client what to do about a status. */
function refusalHeaders(error: unknown): [string, string][] {
  if (!(error instanceof GatewayError)) return [];
  if (error.code === 'method_not_allowed') return [['Allow', ALLOWED_METHODS]];
  // The rest of a body that is too large is not read: the connection cannot be used again.
  if (error.code === 'payload_too_large') return [['Connection', 'close']];
  if (ERROR_TABLE[error.code].status === 401) return [['WWW-Authenticate', unauthenticated(error)]];
  return error.code === 'insufficient_scope' ? [['WWW-Authenticate', lacksScope(error)]] : [];
}

const unauthenticated = ({ code }: GatewayError): string =>
  code === 'unauthenticated' ? 'Bearer realm="mcp"' : 'Bearer realm="mcp", error="invalid_token"';

/** RFC 6750 3.1: the scopes that would do. */
function lacksScope({ details }: GatewayError): string {
  const { required } = details;
  const scopes = Array.isArray(required) ? required.filter((scope) => typeof scope === 'string') : [];
  return `Bearer realm="mcp", error="insufficient_scope", scope="${scopes.join(' ')}"`;
}
