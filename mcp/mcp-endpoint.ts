/**
 * `/mcp`: the MCP streamable HTTP transport. The server has no GET stream and sends no requests, so any replica
 * answers any message. What precedes the message (origin, token, limits, media types, size) is the same for
 * every revision and checked here, from the cheapest to the most expensive.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../commands/values/errors.ts';
import type { AuthenticatedRequest, RequestGate } from '../read-api/http/request-gate.ts';
import { ClientGone, readBody } from '../read-api/http/request-body.ts';
import { ALLOWED_METHODS, sendNoContent, sendRefusal } from './http-answers.ts';
import { EnvelopeRefusal, readEnvelope } from './json-rpc-messages.ts';
import { checkAccept, checkContentType } from './request-headers.ts';
import { SESSIONLESS_REVISION } from './protocol-revisions.ts';
import { TaskRuns } from './run-tasks.ts';
import { type SessionOptions, SessionRequests } from './session-requests.ts';
import { isSessionless } from './sessionless-checks.ts';
import { SessionlessRequests } from './sessionless-requests.ts';

export interface McpOptions extends SessionOptions {
  readonly door: RequestGate;
}

export interface Mcp {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves when the tasks of this process are over. */
  close(): Promise<void>;
}

/** The request handler of `/mcp`, for every method. Reads the raw body, so it precedes any body parser. */
export function openMcp(options: McpOptions): Mcp {
  const taskRuns = new TaskRuns(options.ports);
  const endpoint = new McpEndpoint(options, taskRuns);
  return {
    handle: (request, response) => {
      void endpoint.handle(request, response);
    },
    close: () => taskRuns.settled(),
  };
}

class McpEndpoint {
  readonly #options: McpOptions;
  readonly #sessions: SessionRequests;
  /** Null when the revision without sessions is off. */
  readonly #sessionless: SessionlessRequests | null;

  constructor(options: McpOptions, taskRuns: TaskRuns) {
    this.#options = options;
    this.#sessions = new SessionRequests(options, taskRuns);
    const { mcpRevisions } = options.ports.server;
    this.#sessionless = mcpRevisions.includes(SESSIONLESS_REVISION.name)
      ? new SessionlessRequests(options)
      : null;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { ids, log, server } = this.#options.ports;
    const requestId = ids.newId('req');
    response.setHeader('Request-Id', requestId);
    try {
      await this.#serve(request, response, requestId);
    } catch (error) {
      // Disconnected, or already answered by the listener because the body broke off or was too slow.
      if (error instanceof ClientGone || response.writableEnded) return;
      if (!(error instanceof GatewayError || error instanceof EnvelopeRefusal)) {
        log.error('mcp: request failed', { request_id: requestId, error: String(error) });
      }
      if (!response.headersSent) sendRefusal(response, error, { requestId, baseUrl: server.baseUrl });
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const { door } = this.#options;
    if (door.checkOrigin(request, response)) return;
    const visitor = await door.authenticate(request, requestId);
    const place = { release: door.admit(visitor, 'read', response) };
    try {
      if (request.method === 'POST') await this.#post(request, response, { requestId, place, visitor });
      else if (request.method === 'DELETE') {
        await this.#sessions.end({ headers: request.headers, visitor, requestId });
        sendNoContent(response);
      } else {
        throw new GatewayError(
          'method_not_allowed',
          `/mcp takes ${ALLOWED_METHODS}; there is no GET stream.`,
        );
      }
    } finally {
      place.release();
    }
  }

  async #post(
    request: IncomingMessage,
    response: ServerResponse,
    { requestId, place, visitor: admitted }: Admitted,
  ): Promise<void> {
    const { ports, door } = this.#options;
    const { headers } = request;
    checkContentType(headers);
    checkAccept(headers);
    const envelope = readEnvelope(await readBody(request, ports.server.limits.jsonBodyBytes));
    const visitor = await door.afterBody(request, admitted, requestId);
    const sessionless = isSessionless(headers, envelope) ? this.#sessionless : null;
    await (sessionless ?? this.#sessions).answer({
      headers,
      visitor,
      requestId,
      envelope,
      response,
      // Admitted as a read; a write is also counted as a write, and so is each call of a batch.
      admit: ({ effect, waits }) => {
        if (effect === 'write' || envelope.batch) door.count(visitor, effect, response);
        if (waits) place.release = door.moveToWaitQuota(visitor, place.release, response);
      },
    });
  }
}

interface Admitted {
  readonly requestId: string;
  readonly visitor: AuthenticatedRequest;
  /** A place among the running requests, or among those that wait. */
  readonly place: { release: () => void };
}
