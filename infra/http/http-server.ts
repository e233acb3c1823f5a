/** The listener of REST, MCP, the console and the health checks. */
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import express, { type Express, type RequestHandler, type Router } from 'express';
import { GatewayError } from '../../commands/values/errors.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { PROVIDER_CALLBACK_PATH } from '../../commands/ports/mail-logins.ts';
import { UNSUBSCRIBE_PATH } from '../../commands/accounts/unsubscribe.ts';
import { factsOf } from '../../read-api/http/request-facts.ts';
import { portRefused } from '../platform/reserved-port.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Checks, healthRouter } from './health-router.ts';
import { answerMalformed, newRequestId, refuseRequest } from './refuse-request.ts';
import { noteRequest } from './note-request.ts';
import { trustProxies } from './trusted-proxies.ts';

export interface Adapters {
  /** Everything under `/api/v1`. */
  readonly rest: Router;
  /** The return address for mail providers. */
  readonly providerCallback: Router;
  /** The authorization server for MCP clients, everything under `/oauth` besides. */
  readonly oauth: Router;
  /** Everything under `/.well-known`. */
  readonly wellKnown: Router;
  /** Ends mails by the link in them. */
  readonly unsubscribe: Router;
  /** The approver's page. */
  readonly console: Router;
  /** `/mcp`, for every method; reads the raw body itself. */
  readonly mcp: (request: IncomingMessage, response: ServerResponse) => void;
}

/** The routes of a process that has started. */
export interface Served {
  /** Null = health checks only. */
  readonly faces: Adapters | null;
  readonly checks: Checks;
}

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Networks of the proxies that are trusted to report a client's address; absent = none. */
  readonly trustedProxies?: readonly string[];
  /** Absent = as many as the machine allows. */
  readonly maxConnections?: number;
  /** Absent = for lines of 128 kbit/s. */
  readonly bodyPace?: BodyPace;
}

export interface HttpServer {
  readonly port: number;
  /** From here on requests are answered; until then the process is live, not ready, and refuses with `overloaded`. */
  serve(served: Served): void;
  /** Accepts no new connections, lets calls finish for ten seconds, then closes the rest. */
  close(): Promise<void>;
}

const GRACE_MS = 10_000;
/** Longer than the idle time of common proxies, so that they close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_WITHIN_MS = 60_000;
/** However many connections are refused. */
const WARN_EVERY_MS = 60_000;

/** Answers are data: no browser may guess their type, frame them or run their content. */
const SECURITY_HEADERS = new Map([
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
]);

/** Resolves when the server listens on the port (0 = any free one). Throws a one-sentence error when it cannot. */
export async function startHttpServer(options: HttpOptions): Promise<HttpServer> {
  const { host, port, bodyPace = BODY_PACE } = options;
  let app = starting(options);
  let faces: Adapters | null = null;
  const proxies = trustProxies(options.trustedProxies ?? []);
  const answers = new WeakMap<Duplex, ServerResponse>();
  const serve: http.RequestListener = (request, response) => {
    answers.set(request.socket, response);
    factsOf(request).address = proxies.clientOf(request.socket.remoteAddress ?? '', request.headers);
    noteRequest(options, request, response);
    holdToPace(request, response, bodyPace);
    response.setHeaders(SECURITY_HEADERS);
    if (lacksHost(request)) refuseRequest(response.setHeader('Connection', 'close'), noHost());
    // Exactly /mcp: no router between the hot path and its handler.
    else if (faces && (request.url === '/mcp' || request.url?.startsWith('/mcp?') === true))
      faces.mcp(request, response);
    else app(request, response);
    response.once('close', () => {
      if (!server.listening) closeIdle(server);
    });
  };
  // Requests that Node would refuse itself are refused here, with the id and body of every other refusal.
  const server = http.createServer({ requireHostHeader: false }, serve);
  server.on('checkExpectation', serve);
  answerMalformed(server, { ...options, answerOn: (socket) => answers.get(socket) });
  limitConnections(server, options);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_WITHIN_MS;
  // A fixed timeout per request would cut off large uploads on slow lines: bodies have a minimum pace instead.
  server.requestTimeout = 0;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(portRefused(host, port, 'PORT'), { cause });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    serve: (served) => {
      faces = served.faces;
      app = assemble(served, options);
    },
    close: () => close(server),
  };
}

/** RFC 9112 3.2. */
const lacksHost = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.host === undefined && httpVersion === '1.1';

const noHost = (): GatewayError =>
  new GatewayError('invalid_request', 'The header field Host is missing (RFC 9112 3.2).');

function limitConnections(
  server: http.Server,
  { maxConnections, log }: Pick<HttpOptions, 'maxConnections' | 'log'>,
): void {
  if (maxConnections === undefined) return;
  server.maxConnections = maxConnections;
  let warnedAt = -Infinity;
  server.on('drop', () => {
    if (performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    log.warn('http: connection limit reached', { max_connections: maxConnections });
  });
}

const newApp = (): Express =>
  express().disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');

const giveId: RequestHandler = (_, response, next) => {
  response.setHeader('Request-Id', newRequestId());
  next();
};

const notStarted: Checks = {
  started: () => Promise.reject(new Error('the process is still starting')),
};

const RETRY_START_SECONDS = 2;

/** Answers before the first `serve`: a process may wait for its stores for a long time. */
function starting({ log }: HttpOptions): Express {
  return newApp()
    .use(giveId)
    .use('/health', healthRouter(notStarted, log))
    .use((_, response) => {
      const options = { retryAfterSeconds: RETRY_START_SECONDS };
      refuseRequest(
        response,
        new GatewayError('overloaded', 'The gateway is starting; try again shortly.', options),
      );
    });
}

function assemble({ faces, checks }: Served, { log }: HttpOptions): Express {
  const app = newApp();
  if (faces) app.use('/api/v1', faces.rest);
  app.use(giveId);
  app.use('/health', healthRouter(checks, log));
  if (faces) app.use(PROVIDER_CALLBACK_PATH, faces.providerCallback);
  if (faces) app.use('/oauth', faces.oauth);
  if (faces) app.use('/.well-known', faces.wellKnown);
  if (faces) app.use(UNSUBSCRIBE_PATH, faces.unsubscribe);
  if (faces) app.use('/console', faces.console);
  if (faces) app.get('/', nameAdapters);
  app.use((_, response) => {
    const hint = faces ? 'GET / names what is.' : 'this process answers /health/live and /health/ready only.';
    refuseRequest(response, new GatewayError('not_found', `There is nothing at this path; ${hint}`));
  });
  return app;
}

/** Redirects a browser to the console. Relative, because a proxy may mount the gateway below a path. */
const nameAdapters: RequestHandler = (request, response) => {
  response.vary('Accept');
  if (request.accepts(['json', 'html']) === 'html') {
    response.redirect(303, 'console');
    return;
  }
  response.json({
    service: 'mailbox-gateway',
    rest: '/api/v1',
    mcp: '/mcp',
    openapi: '/api/v1/openapi.json',
    console: '/console',
  });
};

/** A connection that has just answered becomes idle one turn later. */
const closeIdle = (server: http.Server): void => {
  setImmediate(() => {
    server.closeIdleConnections();
  });
};

async function close(server: http.Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, GRACE_MS);
  await closed;
  clearTimeout(cut);
}

/** Bounds the time of a request's body by the bytes received, which distinguishes a slow line from a silent client. */
export interface BodyPace {
  /** Any body may take this long. */
  readonly graceMs: number;
  /** A body faster than this may take longer. */
  readonly bytesPerSecond: number;
}

/** An upload of 25 MiB over a line of 128 kbit/s passes, in 27 minutes; JSON of 1 MiB has two minutes. */
export const BODY_PACE: BodyPace = { graceMs: 60_000, bytesPerSecond: 16 * 1024 };

/** How long a body may take after this many received bytes. */
export const timeForMs = ({ graceMs, bytesPerSecond }: BodyPace, bytes: number): number =>
  graceMs + (bytes / bytesPerSecond) * 1_000;

/** Closes the connection of a request whose body falls behind: 408 (RFC 9110 15.5.9) if nothing was answered yet. */
export function holdToPace(request: IncomingMessage, response: ServerResponse, pace: BodyPace): void {
  const { socket, headers } = request;
  // Without either there is no body (RFC 9112 6.3).
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const begin = performance.now();
  const before = socket.bytesRead;
  const measure = (): void => {
    if (request.complete || socket.destroyed) return;
    // Bytes after the answer are not read and add no time.
    const bytes = response.headersSent ? 0 : socket.bytesRead - before;
    const leftMs = timeForMs(pace, bytes) - (performance.now() - begin);
    if (leftMs > 0) timer = setTimeout(measure, leftMs).unref();
    else end(response);
  };
  // An unread body closes with its connection: the timer must not keep an ended process alive.
  let timer = setTimeout(measure, pace.graceMs).unref();
  request.once('close', () => {
    clearTimeout(timer);
  });
}

function end(response: ServerResponse): void {
  const { socket } = response.req;
  if (response.headersSent) {
    socket.destroy();
    return;
  }
  response.once('finish', () => socket.destroy());
  refuseRequest(
    response,
    new GatewayError('request_timeout', 'The request body arrived too slowly; send it again.'),
  );
}
