/** Writes answers to `/mcp` straight to the socket: one write, known Content-Length, no framework. */
import type { ServerResponse } from 'node:http';
import { GatewayError } from '../commands/values/errors.ts';
import { ADVISED_SCOPES, resourceMetadataUrl } from '../read-api/http/oauth-metadata.ts';
import { type Challenge, sendError } from '../read-api/http/rest-answer.ts';
import { EnvelopeRefusal } from './json-rpc-messages.ts';

export const ALLOWED_METHODS = 'POST, DELETE';

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}

/** 200 with one JSON-RPC response, or an array of them. */
export const sendJson = (response: ServerResponse, text: string): void => {
  response.setHeader('Cache-Control', 'no-store');
  sendText(response, 200, 'application/json', text);
};

/** 202: notifications and responses are accepted without an answer. */
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

/** How a client without a token, or with too narrow a one, gets another. */
const challengeOf = (baseUrl: string): Challenge => ({
  realm: 'mcp',
  resourceMetadata: resourceMetadataUrl(baseUrl),
  scopes: ADVISED_SCOPES,
});

/** An HTTP failure: the service's error body, or a JSON-RPC error for a body that is not JSON-RPC. */
export function sendRefusal(
  response: ServerResponse,
  error: unknown,
  requestId: string,
  baseUrl: string,
): void {
  if (error instanceof EnvelopeRefusal) {
    const { id, code, message } = error;
    const body = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } };
    sendText(response, 400, 'application/json', JSON.stringify(body));
    return;
  }
  if (error instanceof GatewayError && error.code === 'method_not_allowed') {
    response.setHeader('Allow', ALLOWED_METHODS);
  }
  sendError(response, error, requestId, challengeOf(baseUrl));
}
