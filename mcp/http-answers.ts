/** Writes answers to `/mcp` straight to the socket: one write, known Content-Length, no framework. */
import type { ServerResponse } from 'node:http';
import { type ErrorBody, GatewayError } from '../commands/values/errors.ts';
import { ADVISED_SCOPES, resourceMetadataUrl } from '../read-api/http/oauth-metadata.ts';
import { type ErrorStyle, sendError } from '../read-api/http/rest-answer.ts';
import { errorResponse, INTERNAL_ERROR, type MessageId } from './json-rpc-answers.ts';
import { EnvelopeRefusal } from './json-rpc-messages.ts';

export const ALLOWED_METHODS = 'POST, DELETE';

/** Written as bytes, as the answers of REST. */
function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': body.length,
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(body);
}

/** One JSON-RPC response, or an array of them. */
export const sendJson = (response: ServerResponse, text: string, status = 200): void => {
  response.setHeader('Cache-Control', 'no-store');
  sendText(response, status, 'application/json', text);
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

/** A client without a token, or with too narrow a one, is told how it gets another. */
const styleOf = (baseUrl: string): ErrorStyle => ({
  realm: 'mcp',
  resourceMetadata: resourceMetadataUrl(baseUrl),
  scopes: ADVISED_SCOPES,
});

/** The error body as the data of a JSON-RPC error. MCP leaves codes outside of JSON-RPC's range to servers. */
const asRpcError = (id: MessageId, body: ErrorBody): object => ({
  jsonrpc: '2.0',
  id,
  error: { code: body.status === 500 ? INTERNAL_ERROR : body.status, message: body.message, data: body },
});

interface Refused {
  /** For the error body. */
  readonly requestId: string;
  readonly baseUrl: string;
  /** Of a request whose failures are all JSON-RPC errors. */
  readonly rpcId?: MessageId;
}

/** An HTTP failure: the service's error body, or a JSON-RPC error for a body that is not JSON-RPC. */
export function sendRefusal(
  response: ServerResponse,
  error: unknown,
  { requestId, baseUrl, rpcId }: Refused,
): void {
  if (error instanceof EnvelopeRefusal) {
    sendText(response, 400, 'application/json', errorResponse(error.id, error));
    return;
  }
  if (error instanceof GatewayError && error.code === 'method_not_allowed') {
    response.setHeader('Allow', ALLOWED_METHODS);
  }
  const style = styleOf(baseUrl);
  if (rpcId === undefined) sendError(response, error, requestId, style);
  else sendError(response, error, requestId, { ...style, wrap: (body) => asRpcError(rpcId, body) });
}
