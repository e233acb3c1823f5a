/** The listener of both faces and of the health checks. */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import express, { type Router } from 'express';
import type { Log } from '../../commands/kernel/ports.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Checks, healthRouter } from './health-router.ts';

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  /** Everything under `/api/v1`. */
  readonly rest: Router;
  /** `/mcp`, for every method; reads the raw body itself. */
  readonly mcp: (request: IncomingMessage, response: ServerResponse) => void;
  readonly checks: Checks;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface HttpServer {
  /** Takes no new connections, lets calls end for ten seconds, then cuts what is left. */
  close(): Promise<void>;
}

const GRACE_MS = 10_000;
/** Longer than the idle time of common proxies, so that they close first. */
const KEEP_ALIVE_MS = 75_000;

/** Resolves when the port is listened on. Throws one sentence when it cannot be. */
export async function startHttpServer(options: HttpOptions): Promise<HttpServer> {
  const { host, port, rest, mcp, checks } = options;
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.use('/health', healthRouter(checks));
  app.use('/api/v1', rest);
  app.get('/', (_, response) => {
    response.json({
      service: 'mailbox-gateway',
      rest: '/api/v1',
      mcp: '/mcp',
      openapi: '/api/v1/openapi.json',
    });
  });
  app.use((_, response) => {
    response
      .status(404)
      .json({ error: { code: 'not_found', status: 404, message: 'Nothing is served here; see /.' } });
  });
  const server = http.createServer((request, response) => {
    note(options, request, response);
    // Exactly /mcp: no router stands between the hot path and its handler.
    if (request.url === '/mcp' || request.url?.startsWith('/mcp?') === true) mcp(request, response);
    else app(request, response);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 60_000;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(
      `Port ${String(port)} on ${host} cannot be listened on: is another program using it? Set PORT.`,
      {
        cause,
      },
    );
  }
  return { close: () => close(server) };
}

function note({ log, metrics }: HttpOptions, request: IncomingMessage, response: ServerResponse): void {
  const begin = performance.now();
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const face = path === '/mcp' ? 'mcp' : path.startsWith('/api/') ? 'rest' : 'other';
  response.once('close', () => {
    const milliseconds = performance.now() - begin;
    metrics.requestDone({ face, status: response.statusCode, seconds: milliseconds / 1_000 });
    if (face === 'other' && response.statusCode < 500) return;
    log.info('request', {
      method: request.method,
      path,
      status: response.statusCode,
      milliseconds: Number(milliseconds.toFixed(1)),
      request_id: response.getHeader('request-id'),
    });
  });
}

async function close(server: http.Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, GRACE_MS);
  await closed;
  clearTimeout(cut);
}
