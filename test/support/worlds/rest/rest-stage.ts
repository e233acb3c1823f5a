/** The REST adapter over HTTP on loopback: samples, real tokens, directory and store in memory. */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import express from 'express';
import type { AccessEntry, Limits, Log, Ports } from '../../../../commands/ports/ports.ts';
import { consoleRouter } from '../../../../infra/http/console-router.ts';
import { type HttpOptions, type HttpServer, startHttpServer } from '../../../../infra/http/http-server.ts';
import { createMetrics, type Metrics } from '../../../../infra/observability/metrics.ts';
import { openRequestGates } from '../../../../read-api/http/request-gate.ts';
import { unsubscribeRouter } from '../../../../read-api/http/unsubscribe.ts';
import { oauthMetadata } from '../../../../read-api/http/oauth-metadata.ts';
import { providerCallback } from '../../../../read-api/http/provider-callback.ts';
import { restRouter } from '../../../../read-api/http/rest-router.ts';
import { type MemoryGateway, startMemoryGateway } from '../memory-gateway.ts';
import { type SampleNotes, sampleNotes } from './sample-notes.ts';

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; null without one. */
  readonly json: Readonly<Record<string, unknown>> | null;
}

export interface Call {
  readonly headers?: http.OutgoingHttpHeaders;
  /** Null sends no bearer; absent sends the owner's. */
  readonly bearer?: string | null;
  /** Text or bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  readonly type?: string;
  /** Used unchanged, so that it may be invalid. */
  readonly url?: string;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export class RestStage {
  readonly notes: SampleNotes;
  readonly ports: Ports;
  readonly memory: MemoryGateway;
  readonly metrics: Metrics;
  readonly server: HttpServer;
  readonly recorded: AccessEntry[];
  readonly counted: string[];
  readonly lines: LogLine[];
  /** Resolves with the next line written. */
  readonly nextLine: () => Promise<LogLine>;
  /** Whether read models reach an `If-Position`. */
  readonly reads: { inTime: boolean; askedFor: bigint[] };
  readonly agent: http.Agent;

  constructor(parts: Omit<RestStage, 'agent' | 'call' | 'close'>) {
    this.notes = parts.notes;
    this.ports = parts.ports;
    this.memory = parts.memory;
    this.metrics = parts.metrics;
    this.server = parts.server;
    this.recorded = parts.recorded;
    this.counted = parts.counted;
    this.lines = parts.lines;
    this.nextLine = parts.nextLine;
    this.reads = parts.reads;
    this.agent = new http.Agent({ keepAlive: true });
  }

  /** One request under `/api/v1`, unless `url` is given. */
  call(method: string, path: string, { headers = {}, bearer, body, type, url }: Call = {}): Promise<Answer> {
    const content =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const chunked = 'transfer-encoding' in headers;
    const token = bearer === undefined ? this.memory.org.restToken : bearer;
    return new Promise((resolve, reject) => {
      const request = http.request({
        agent: this.agent,
        host: '127.0.0.1',
        port: this.server.port,
        method,
        path: url ?? `/api/v1${path}`,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(content === undefined ? {} : { 'content-type': type ?? 'application/json' }),
          ...(content === undefined || chunked ? {} : { 'content-length': Buffer.byteLength(content) }),
          ...headers,
        },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        readAnswer(response).then(resolve, reject);
      });
      request.end(content);
    });
  }

  async close(): Promise<void> {
    this.agent.destroy();
    await this.server.close();
  }
}

async function readAnswer(response: http.IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const json = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : null;
  return { status: response.statusCode ?? 0, headers: response.headers, text, json };
}

/** Serves until `close`. Limits are the contract's by default. */
export async function startRestStage(
  limits: Partial<Limits> = {},
  options: Pick<HttpOptions, 'bodyPace' | 'trustedProxies' | 'maxConnections'> = {},
): Promise<RestStage> {
  const memory = await startMemoryGateway();
  const recorded: AccessEntry[] = [];
  const counted: string[] = [];
  const lines: LogLine[] = [];
  const written = new EventEmitter();
  const nextLine = async (): Promise<LogLine> => ((await once(written, 'line')) as [LogLine])[0];
  const reads: RestStage['reads'] = { inTime: true, askedFor: [] };
  const write =
    (level: string): Log['info'] =>
    (message, fields = {}) => {
      const line = { level, message, fields };
      lines.push(line);
      written.emit('line', line);
    };
  const log = { info: write('info'), warn: write('warn'), error: write('error') };
  const { server } = memory.ports;
  const ports: Ports = {
    ...memory.ports,
    log,
    server: { ...server, limits: { ...server.limits, ...limits } },
    readModels: {
      waitFor: async (position) => {
        reads.askedFor.push(position);
        return reads.inTime;
      },
    },
    accessLog: {
      record: async (entry) => {
        recorded.push(entry);
      },
      countRefusal: (code, source) => counted.push(`${code} ${source}`),
    },
  };
  const notes = sampleNotes();
  const doors = openRequestGates(ports, {
    allowedOrigins: ['https://app.example'],
    noteUse: () => undefined,
  });
  const metrics = createMetrics();
  const http = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    log,
    metrics,
    ...options,
  });
  http.serve({
    faces: {
      providerCallback: providerCallback(ports),
      oauth: express.Router(),
      wellKnown: oauthMetadata({ baseUrl: ports.server.baseUrl, selfRegistration: false }),
      unsubscribe: unsubscribeRouter(ports),
      console: consoleRouter({ signUp: ports.server.signUp, hasSystemMail: true }),
      rest: restRouter({
        registry: notes.registry,
        publicRoutes: notes.publicRoutes,
        ports,
        door: doors.rest,
      }),
      mcp: (_, response) => response.writeHead(200).end('mcp'),
    },
    checks: {},
  });
  const seen = { recorded, counted, lines, nextLine, reads };
  return new RestStage({ notes, ports, memory, metrics, server: http, ...seen });
}

/** The error of an answer. */
export const errorOf = ({ json }: Answer): Readonly<Record<string, unknown>> => {
  const error = json?.['error'];
  if (typeof error !== 'object' || error === null) throw new Error(`no error: ${JSON.stringify(json)}`);
  return error as Record<string, unknown>;
};

/** The paths of `details.issues`. */
export const issuePaths = (answer: Answer): string[] => {
  const { issues } = errorOf(answer)['details'] as { issues: { path: string }[] };
  return issues.map(({ path }) => path);
};
