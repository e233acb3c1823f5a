/**
 * `/mcp`: the MCP streamable HTTP transport over one session table. The server has no GET stream and sends no
 * requests, so any replica answers any message. Checks run from the cheapest to the most expensive; the
 * session is looked up before its headers are validated, because 404 makes a client initialize again.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../commands/kernel/access.ts';
import type { Capability } from '../commands/kernel/capability.ts';
import { GatewayError } from '../commands/values/errors.ts';
import { credentialOf, recordRefusal, requestAuthor } from '../commands/kernel/access-events.ts';
import type { McpCalls, McpSession } from '../commands/ports/mcp.ts';
import type { Ports } from '../commands/ports/ports.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import type { RequestGate, AuthenticatedRequest } from '../read-api/http/request-gate.ts';
import { goneSignal } from '../read-api/http/disconnect-signal.ts';
import { ClientGone, readBody } from '../read-api/http/request-body.ts';
import {
  ALLOWED_METHODS,
  sendAccepted,
  sendEvents,
  sendJson,
  sendNoContent,
  sendRefusal,
} from './http-answers.ts';
import {
  type Envelope,
  EnvelopeRefusal,
  INVALID_REQUEST,
  isId,
  type Message,
  type Notification,
  readEnvelope,
  type RequestMessage,
} from './json-rpc-messages.ts';
import { type Exchange, JsonRpcMethods, type OpenSession } from './json-rpc-methods.ts';
import { ToolCatalogue } from './list-tools.ts';
import { revisionNamed } from './protocol-revisions.ts';
import {
  checkAccept,
  checkContentType,
  checkVersion,
  SESSION_HEADER,
  sessionIdOf,
} from './request-headers.ts';
import { TaskRuns } from './run-tasks.ts';
import { SessionPositions } from './session-positions.ts';

export interface McpOptions {
  readonly registry: readonly Capability[];
  readonly ports: Ports;
  readonly calls: McpCalls;
  readonly door: RequestGate;
}

export interface Mcp {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Resolves when the tasks of this process are over. */
  close(): Promise<void>;
}

/** A tools/call may use a cached session this old; showing or changing the session reads the row. */
const SESSION_COPY_MS = 1_000;

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
  readonly #positions = new SessionPositions();
  readonly #methods: JsonRpcMethods;

  constructor(options: McpOptions, taskRuns: TaskRuns) {
    this.#options = options;
    const { registry, ports } = options;
    const catalogue = new ToolCatalogue(registry);
    this.#methods = new JsonRpcMethods({
      toolbox: { catalogue, registry, ports },
      positions: this.#positions,
      taskRuns,
    });
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
      if (!response.headersSent) sendRefusal(response, error, requestId, server.baseUrl);
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> {
    const { door } = this.#options;
    if (door.checkOrigin(request, response)) return;
    const visitor = await door.authenticate(request, requestId);
    const place = { release: door.admit(visitor, 'read', response) };
    try {
      if (request.method === 'POST') await this.#post(request, response, { requestId, place });
      else if (request.method === 'DELETE') await this.#end(request, response, { visitor, requestId });
      else
        throw new GatewayError(
          'method_not_allowed',
          `/mcp takes ${ALLOWED_METHODS}; there is no GET stream.`,
        );
    } finally {
      place.release();
    }
  }

  async #post(
    request: IncomingMessage,
    response: ServerResponse,
    { requestId, place }: Admitted,
  ): Promise<void> {
    const { ports, door } = this.#options;
    checkContentType(request.headers);
    checkAccept(request.headers);
    const envelope = readEnvelope(await readBody(request, ports.server.limits.jsonBodyBytes));
    // Authenticates a second time: a body may take minutes to arrive, and rights end within a second.
    const visitor = await door.authenticate(request, requestId);
    const arrival = { visitor, requestId };
    const exchange: Exchange = {
      ...visitor,
      requestId,
      batch: envelope.batch,
      session: isInitialize(envelope) ? null : await this.#sessionFor(request, arrival, envelope),
      listChanged: false,
      // Admitted as a read; a write is also counted as a write, and so is each call of a batch.
      admit: ({ effect, waits }) => {
        if (effect === 'write' || envelope.batch) door.count(visitor, effect, response);
        if (waits) place.release = door.moveToWaitQuota(visitor, place.release, response);
      },
    };
    const answers = await this.#answerAll(envelope, exchange, response);
    if (isInitialize(envelope) && exchange.session)
      response.setHeader(SESSION_HEADER, exchange.session.row.id);
    const [first] = answers;
    if (first === undefined) {
      sendAccepted(response);
      return;
    }
    const body = envelope.batch ? `[${answers.join(',')}]` : first;
    if (exchange.listChanged) sendEvents(response, [LIST_CHANGED, body]);
    else sendJson(response, body);
  }

  /** Runs sequentially in the order sent, so that the writes of a batch happen in the order written. */
  async #answerAll(
    { messages }: Envelope,
    exchange: Exchange,
    response: ServerResponse,
  ): Promise<readonly string[]> {
    const answers: string[] = [];
    for (const message of messages) {
      if (message.kind === 'request') {
        const answer = await this.#answer(message, exchange, response);
        if (answer !== null) answers.push(answer);
      } else if (message.kind === 'notification') await this.#notice(message, exchange);
      else if (message.kind === 'invalid') answers.push(invalidInBatch(message));
    }
    return answers;
  }

  /**
   * Null when the client cancelled the request, which is then not answered (MCP, cancellation). A wait or a
   * read ends; a write continues to its outcome, which the same key returns.
   */
  async #answer(
    message: RequestMessage,
    exchange: Exchange,
    response: ServerResponse,
  ): Promise<string | null> {
    const sessionId = exchange.session?.row.id;
    if (sessionId === undefined)
      return await this.#methods.answer(message, exchange, () => goneSignal(response));
    using call = this.#options.calls.open({ sessionId, requestId: message.id });
    const { cancelled } = call;
    const answer = this.#methods.answer(message, exchange, () =>
      AbortSignal.any([goneSignal(response), cancelled]),
    );
    return await Promise.race([answer, cancellation(cancelled, answer)]);
  }

  /** Only a cancellation has an effect; an unknown call has already ended. */
  async #notice({ method, params }: Notification, { session }: Exchange): Promise<void> {
    const { requestId } = params;
    if (method !== 'notifications/cancelled' || session === null || !isId(requestId)) return;
    await this.#options.calls.cancel({ sessionId: session.row.id, requestId });
  }

  /** The session of a request after `initialize`. Throws 400 without the header, 404 for a foreign one. */
  async #sessionFor(request: IncomingMessage, arrival: Arrival, envelope: Envelope): Promise<OpenSession> {
    const session = await this.#find(
      request,
      arrival,
      envelope.messages.every(bearsCopy) ? SESSION_COPY_MS : 0,
    );
    checkVersion(request.headers, session.revision);
    if (envelope.batch && !session.revision.batches) {
      throw new EnvelopeRefusal(INVALID_REQUEST, 'Post one message at a time: 2025-06-18 removed batches.');
    }
    return session;
  }

  async #find(
    request: IncomingMessage,
    { visitor, requestId }: Arrival,
    maxAgeMs: number,
  ): Promise<OpenSession> {
    const id = sessionIdOf(request.headers);
    const row = id === null ? null : await this.#options.ports.sessions.find(id, maxAgeMs);
    const revision = row && revisionNamed(row.revision);
    if (!row || !revision || !belongsTo(row, visitor.caller)) {
      throw await this.#unknownSession(visitor, requestId);
    }
    return { row, revision };
  }

  /** The 404 that makes a client initialize again, recorded as a refusal of its caller (`contract.md` 12). */
  async #unknownSession({ caller, client }: AuthenticatedRequest, requestId: string): Promise<GatewayError> {
    const refusal = new GatewayError('session_not_found', 'Unknown or expired MCP session; send initialize.');
    const credential = credentialOf(caller);
    await recordRefusal(
      this.#options.ports,
      requestAuthor({ credential, client, surface: 'mcp', requestId }),
      { capability: null, code: refusal.code, mailboxId: null },
    );
    return refusal;
  }

  async #end(request: IncomingMessage, response: ServerResponse, arrival: Arrival): Promise<void> {
    const { row, revision } = await this.#find(request, arrival, 0);
    checkVersion(request.headers, revision);
    await this.#options.ports.sessions.end(row.id);
    this.#positions.forget(row.id);
    sendNoContent(response);
  }
}

interface Admitted {
  readonly requestId: string;
  /** A place among the running requests, or among those that wait. */
  readonly place: { release: () => void };
}

interface Arrival {
  readonly visitor: AuthenticatedRequest;
  readonly requestId: string;
}

/** Resolves to null when the signal aborts; the answer is then dropped. */
const cancellation = (cancelled: AbortSignal, answer: Promise<unknown>): Promise<null> =>
  new Promise((resolve) => {
    const end = (): void => {
      answer.catch(() => undefined);
      resolve(null);
    };
    cancelled.addEventListener('abort', end, { once: true });
  });

const LIST_CHANGED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });

const isInitialize = ({ batch, messages: [first] }: Envelope): boolean =>
  !batch && first?.kind === 'request' && first.method === 'initialize';

const bearsCopy = (message: Message): boolean =>
  message.kind === 'request' &&
  message.method === 'tools/call' &&
  message.params['name'] !== toggleAdvancedTools.name;

const belongsTo = (session: McpSession, caller: Caller): boolean =>
  session.tokenId === caller.token.id &&
  session.orgId === caller.org.id &&
  session.principalId === caller.principal.id;

const invalidInBatch = ({ id, problem }: Extract<Message, { kind: 'invalid' }>): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code: INVALID_REQUEST, message: problem },
  });
