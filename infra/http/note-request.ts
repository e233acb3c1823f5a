/**
 * The access log and the request metrics: one line and one observation per request. `bytes` are those of the answer,
 * including its head.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../commands/ports/ports.ts';
import { factsOf } from '../../read-api/http/request-facts.ts';
import type { Metrics } from '../observability/metrics.ts';

/** The status proxies log for a client that disconnected before its answer; the gateway never answers it. */
const CLIENT_GONE = 499;
const USER_AGENT_CHARS = 256;

/** The id of a request for authorization is known only to its browser. */
const withoutSecrets = (path: string): string => path.replace(/^(\/oauth\/authorize\/)[^/]+/, '$1…');

const faceOf = (path: string): 'mcp' | 'rest' | 'other' =>
  path === '/mcp' ? 'mcp' : path.startsWith('/api/') ? 'rest' : 'other';

/** Waits for the end of the answer. Health checks are measured but not logged. */
export function noteRequest(
  { log, metrics }: { readonly log: Log; readonly metrics: Pick<Metrics, 'requestDone'> },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const begin = performance.now();
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const { socket } = request;
  const writtenBefore = socket.bytesWritten;
  response.once('close', () => {
    const milliseconds = performance.now() - begin;
    const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
    const face = faceOf(path);
    const { address, capability: reached, caller } = factsOf(request);
    const capability = reached ?? 'none';
    metrics.requestDone({ face, capability, status, seconds: milliseconds / 1_000 });
    if (path.startsWith('/health/') && status < 500) return;
    log.info('http: request', {
      method: request.method,
      path: withoutSecrets(path),
      capability,
      status,
      milliseconds: Number(milliseconds.toFixed(1)),
      request_id: response.getHeader('request-id'),
      remote: address,
      user_agent: request.headers['user-agent']?.slice(0, USER_AGENT_CHARS),
      bytes: socket.bytesWritten - writtenBefore,
      token_id: caller?.token.id,
      principal_id: caller?.principal.id,
      org_id: caller?.org.id,
    });
  });
}
