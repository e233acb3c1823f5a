/** Refusals outside the adapters: an id and the same error body as every other refusal. */
import { randomBytes } from 'node:crypto';
import { uuidToId, uuidV7 } from '../../commands/values/ids.ts';
import { sendError } from '../../read-api/http/rest-answer.ts';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, GatewayError, toErrorBody } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import type { Metrics } from '../observability/metrics.ts';

export const newRequestId = (): string => uuidToId('req', uuidV7(Date.now(), randomBytes(10)));

/** Answers with the error, under the request's id if it has one, else a new one. */
export function refuseRequest(response: ServerResponse, error: GatewayError): void {
  const known = response.getHeader('Request-Id');
  const requestId = typeof known === 'string' ? known : newRequestId();
  response.setHeader('Request-Id', requestId);
  sendError(response, error, requestId);
}

/** What Node's HTTP parser refuses before there is a request: answered and logged like every other refusal. */
interface Parts {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'requestDone'>;
  /** The current answer of a connection. */
  readonly answerOn: (socket: Duplex) => ServerResponse | undefined;
}

const REFUSALS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['header_fields_too_large', 'The header fields are larger than 16 KiB together.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The chunk extensions are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};

const refusalOf = (code: string | undefined): GatewayError =>
  new GatewayError(
    ...(REFUSALS[code ?? ''] ??
      (['invalid_request', 'This is not well-formed HTTP/1.1 (RFC 9112).'] as const)),
  );

/** From now on the server answers them and closes their connection. */
export function answerMalformed(server: Server, parts: Parts): void {
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const response = parts.answerOn(socket);
    const isAnswering = response?.headersSent === true && !response.writableEnded;
    // Closed, or in the middle of another answer.
    if (code === 'ECONNRESET' || !socket.writable || isAnswering) socket.destroy();
    else if (response !== undefined && !response.headersSent) {
      response.setHeader('Connection', 'close');
      // An answer that is complete goes out unchanged; then the connection ends.
      if (!response.req.complete) refuseRequest(response, refusalOf(code));
    } else refuseHead(socket, code, parts);
  });
}

/** There is no request to answer yet, so the response is written to the socket. */
function refuseHead(socket: Duplex, code: string | undefined, { log, metrics }: Parts): void {
  const requestId = newRequestId();
  const error = toErrorBody(refusalOf(code), requestId);
  const body = JSON.stringify({ error });
  const head = [
    `HTTP/1.1 ${String(error.status)} ${STATUS_CODES[error.status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${String(Buffer.byteLength(body))}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  metrics.requestDone({ face: 'other', capability: 'none', status: error.status, seconds: 0 });
  const remote = 'remoteAddress' in socket ? socket.remoteAddress : undefined;
  log.info('http: request', { status: error.status, problem: code, request_id: requestId, remote });
}
