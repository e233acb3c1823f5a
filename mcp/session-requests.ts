/**
 * Requests of the revisions with sessions, over one session table. The session is looked up before its headers
 * are validated, because 404 makes a client initialize again.
 */
import type { ServerResponse } from 'node:http';
import type { Caller } from '../commands/kernel/access.ts';
import { GatewayError } from '../commands/values/errors.ts';
import { credentialOf, recordRefusal, requestAuthor } from '../commands/kernel/access-events.ts';
import type { Capability } from '../commands/kernel/capability.ts';
import type { McpCalls, McpSession, OpenCall } from '../commands/ports/mcp.ts';
import type { Ports } from '../commands/ports/ports.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import { goneSignal } from '../read-api/http/disconnect-signal.ts';
import { sendAccepted, sendEvents, sendJson } from './http-answers.ts';
import {
  type Envelope,
  EnvelopeRefusal,
  isId,
  type Message,
  type Notification,
  type RequestMessage,
} from './json-rpc-messages.ts';
import { errorResponse, INVALID_REQUEST } from './json-rpc-answers.ts';
import { type Exchange, JsonRpcMethods, type OpenSession } from './json-rpc-methods.ts';
import { LastWrites } from './last-writes.ts';
import { ToolCatalogue } from './list-tools.ts';
import type { Arrival, PostedMessage } from './posted-message.ts';
import { revisionNamed } from './protocol-revisions.ts';
import { checkVersion, SESSION_HEADER, sessionIdOf } from './request-headers.ts';
import type { TaskRuns } from './run-tasks.ts';

/** A tools/call may use a cached session this old; showing or changing the session reads the row. */
const SESSION_COPY_MS = 1_000;

export interface SessionOptions {
  readonly registry: readonly Capability[];
  readonly ports: Ports;
  readonly calls: McpCalls;
}

export class SessionRequests {
  readonly #options: SessionOptions;
  readonly #lastWrites = new LastWrites();
  readonly #methods: JsonRpcMethods;

  constructor(options: SessionOptions, taskRuns: TaskRuns) {
    this.#options = options;
    const { registry, ports } = options;
    const catalogue = new ToolCatalogue(registry);
    this.#methods = new JsonRpcMethods({
      toolbox: { catalogue, registry, ports },
      lastWrites: this.#lastWrites,
      taskRuns,
    });
  }

  async answer({ envelope, response, admit, ...arrival }: PostedMessage): Promise<void> {
    const exchange: Exchange = {
      ...arrival.visitor,
      requestId: arrival.requestId,
      batch: envelope.batch,
      session: isInitialize(envelope) ? null : await this.#sessionFor(arrival, envelope),
      listChanged: false,
      admit,
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

  /** Ends the session that the headers name. */
  async end(arrival: Arrival): Promise<void> {
    const { row, revision } = await this.#find(arrival, 0);
    checkVersion(arrival.headers, revision);
    await this.#options.ports.sessions.end(row.id);
    this.#lastWrites.forget(row.id);
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
    const answer = this.#methods.answer(message, exchange, () =>
      AbortSignal.any([goneSignal(response), cancelledSignal(call)]),
    );
    return await new Promise((resolve, reject) => {
      answer.then(resolve, reject);
      call.onCancelled(() => {
        resolve(null);
      });
    });
  }

  /** Only a cancellation has an effect; an unknown call has already ended. */
  async #notice({ method, params }: Notification, { session }: Exchange): Promise<void> {
    const { requestId } = params;
    if (method !== 'notifications/cancelled' || session === null || !isId(requestId)) return;
    await this.#options.calls.cancel({ sessionId: session.row.id, requestId });
  }

  /** The session of a request after `initialize`. Throws 400 without the header, 404 for a foreign one. */
  async #sessionFor(arrival: Arrival, envelope: Envelope): Promise<OpenSession> {
    const session = await this.#find(arrival, envelope.messages.every(bearsCopy) ? SESSION_COPY_MS : 0);
    checkVersion(arrival.headers, session.revision);
    if (envelope.batch && !session.revision.batches) {
      throw new EnvelopeRefusal(INVALID_REQUEST, 'Post one message at a time: 2025-06-18 removed batches.');
    }
    return session;
  }

  async #find(arrival: Arrival, maxAgeMs: number): Promise<OpenSession> {
    const id = sessionIdOf(arrival.headers);
    const row = id === null ? null : await this.#options.ports.sessions.find(id, maxAgeMs);
    const revision = row && revisionNamed(row.revision);
    if (!row || !revision || !belongsTo(row, arrival.visitor.caller))
      throw await this.#unknownSession(arrival);
    return { row, revision };
  }

  /** The 404 that makes a client initialize again, recorded as a refusal of its caller (`contract.md` 12). */
  async #unknownSession({ visitor: { caller, client }, requestId }: Arrival): Promise<GatewayError> {
    const refusal = new GatewayError('session_not_found', 'Unknown or expired MCP session; send initialize.');
    const credential = credentialOf(caller);
    await recordRefusal(
      this.#options.ports,
      requestAuthor({ credential, client, surface: 'mcp', requestId }),
      { capability: null, code: refusal.code, mailboxId: null },
    );
    return refusal;
  }
}

/** Aborts when the client cancels the call. */
function cancelledSignal(call: OpenCall): AbortSignal {
  const cancelled = new AbortController();
  call.onCancelled(() => {
    cancelled.abort();
  });
  return cancelled.signal;
}

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
  errorResponse(id, { code: INVALID_REQUEST, message: problem });
