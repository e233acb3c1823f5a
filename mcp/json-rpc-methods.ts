/**
 * The JSON-RPC methods on `json-rpc-2.0`. The library receives one well-formed request at a time: it answers
 * a batch of one with a bare object, shows raw exceptions to the caller and turns `undefined` into a null
 * result. Every method returns the JSON text of its result, so that a result is serialised once.
 */
import { randomBytes } from 'node:crypto';
import {
  createJSONRPCErrorResponse,
  type JSONRPCErrorResponse,
  JSONRPCErrorException,
  JSONRPCServer,
} from 'json-rpc-2.0';
import type { Caller } from '../commands/kernel/access.ts';
import { routeKey } from '../commands/values/ids.ts';
import { GatewayError } from '../commands/values/errors.ts';
import type { McpSession } from '../commands/ports/mcp.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import { callTool, readCall, type ToolAnswer, type Toolbox, type ToolCall } from './call-tool.ts';
import { INTERNAL_ERROR, METHOD_NOT_FOUND, resultResponse } from './json-rpc-answers.ts';
import { startTask } from './start-task.ts';
import { TaskMethods, type TaskRequest } from './task-methods.ts';
import type { TaskRuns } from './run-tasks.ts';
import { taskTtl } from './task-payload.ts';
import { initializeResult, readClientHello } from './initialize.ts';
import type { RequestMessage } from './json-rpc-messages.ts';
import { refuseCursor } from './list-tools.ts';
import { negotiateRevision, type ProtocolRevision } from './protocol-revisions.ts';
import type { LastWrites } from './last-writes.ts';
import { errorResult } from './tool-result.ts';

/** One HTTP request in progress. */
export interface Exchange {
  readonly caller: Caller;
  readonly client: Sealed | null;
  readonly requestId: string;
  readonly batch: boolean;
  /** Counts a call against the token. Throws `rate_limited`. */
  readonly admit: ToolCall['admit'];
  /** Null until `initialize` opens it. */
  session: OpenSession | null;
  /** Set when the tool list of the session has changed. */
  listChanged: boolean;
}

/** One request of the exchange. */
interface OneRequest {
  readonly exchange: Exchange;
  /** Aborts when the client disconnects. */
  readonly gone: ToolCall['gone'];
}

/** A session as the methods see it: the stored row and its revision's rules. */
export interface OpenSession {
  readonly row: McpSession;
  readonly revision: ProtocolRevision;
}

export interface MethodOptions {
  readonly toolbox: Toolbox;
  readonly lastWrites: LastWrites;
  readonly taskRuns: TaskRuns;
}

type Params = Readonly<Record<string, unknown>>;

export class JsonRpcMethods {
  readonly #server = new JSONRPCServer<OneRequest>({
    // Errors are logged where they are mapped; the library's default prints each of them.
    errorListener: () => undefined,
  });
  readonly #options: MethodOptions;
  readonly #tasks: TaskMethods;

  constructor(options: MethodOptions) {
    this.#options = options;
    this.#tasks = new TaskMethods(options.toolbox, options.taskRuns);
    const server = this.#server;
    server.mapErrorToJSONRPCErrorResponse = (id, error) => this.#errorResponse(id, error);
    server.addMethod('initialize', (params: Params, { exchange }) => this.#initialize(params, exchange));
    server.addMethod('ping', () => '{}');
    server.addMethod('tools/list', (params: Params, { exchange }) => this.#listTools(params, exchange));
    server.addMethod('tools/call', (params: Params, request) => this.#callTool(params, request));
    server.addMethod(
      'tasks/get',
      this.#ofTasks((request) => this.#tasks.get(request)),
    );
    server.addMethod(
      'tasks/list',
      this.#ofTasks((request) => this.#tasks.list(request)),
    );
    server.addMethod(
      'tasks/cancel',
      this.#ofTasks((request) => this.#tasks.cancel(request)),
    );
    server.addMethod(
      'tasks/result',
      this.#ofTasks((request, exchange) => {
        exchange.admit({ effect: 'read', waits: true });
        return this.#tasks.result(request);
      }),
    );
  }

  /** The JSON text of the response. Throws a `GatewayError` when the answer is an HTTP status. */
  async answer(
    { id, method, params }: RequestMessage,
    exchange: Exchange,
    gone: ToolCall['gone'],
  ): Promise<string> {
    const response = await this.#server.receive({ jsonrpc: '2.0', id, method, params }, { exchange, gone });
    if (response?.error !== undefined) {
      if (response.error.data instanceof GatewayError) throw response.error.data;
      return JSON.stringify(response);
    }
    return resultResponse(id, String(response?.result));
  }

  /** A `GatewayError` of a method travels in `data` up to `answer`; no unforeseen error shows its text. */
  #errorResponse(id: RequestMessage['id'] | null, error: unknown): JSONRPCErrorResponse {
    if (error instanceof JSONRPCErrorException) {
      return createJSONRPCErrorResponse(id, error.code, error.message, error.data);
    }
    if (error instanceof GatewayError) {
      return createJSONRPCErrorResponse(id, INTERNAL_ERROR, error.message, error);
    }
    this.#options.toolbox.ports.log.error('mcp: method failed', { error: String(error) });
    return createJSONRPCErrorResponse(id, INTERNAL_ERROR, 'Internal error');
  }

  async #initialize(params: Params, exchange: Exchange): Promise<string> {
    const { ports } = this.#options.toolbox;
    const { protocolVersion } = readClientHello(params);
    const revision = negotiateRevision(protocolVersion);
    const { caller } = exchange;
    const row: McpSession = {
      id: `${routeKey(caller.org.id)}${randomBytes(24).toString('base64url')}`,
      tokenId: caller.token.id,
      orgId: caller.org.id,
      principalId: caller.principal.id,
      revision: revision.name,
      advancedTools: false,
    };
    await ports.sessions.create(row);
    exchange.session = { row, revision };
    return initializeResult(revision, ports.server.version);
  }

  #listTools(params: Params, exchange: Exchange): string {
    refuseCursor(params);
    const { row, revision } = sessionOf(exchange);
    const { caller } = exchange;
    return this.#options.toolbox.catalogue.list({ caller, revision, advancedTools: row.advancedTools });
  }

  async #callTool(params: Params, { exchange, gone }: OneRequest): Promise<string> {
    const { lastWrites, toolbox, taskRuns } = this.#options;
    const { row, revision } = sessionOf(exchange);
    const { caller, client, requestId, admit } = exchange;
    const call: ToolCall = {
      ...readCall(params),
      caller,
      client,
      requestId,
      admit,
      gone,
      sessionId: row.id,
      revision,
      resultMeta: {},
      ifPosition: lastWrites.positionOf(row.id),
    };
    const ttlMs = revision.tasks ? taskTtl(params) : null;
    if (ttlMs !== null) return await startTask(toolbox, taskRuns, call, ttlMs);
    const { result, isError, position } = await this.#call(call, exchange);
    if (position !== null) lastWrites.note(row.id, position);
    if (call.name === toggleAdvancedTools.name && !isError)
      this.#switched(exchange, call.args['enabled'] === true);
    return result;
  }

  /** A method that exists only in revisions with tasks. */
  #ofTasks(work: (request: TaskRequest, exchange: Exchange) => Promise<string>) {
    return async (params: Params, { exchange, gone }: OneRequest): Promise<string> => {
      if (!sessionOf(exchange).revision.tasks) {
        throw new JSONRPCErrorException('Method not found', METHOD_NOT_FOUND);
      }
      return await work({ params, caller: exchange.caller, gone: gone() }, exchange);
    };
  }

  /** A batch has one HTTP status, so the refusal of one call is that call's result. */
  async #call(call: ToolCall, { batch }: Exchange): Promise<ToolAnswer> {
    const { toolbox } = this.#options;
    if (!batch) return await callTool(toolbox, call);
    try {
      return await callTool(toolbox, call);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const result = errorResult(error, call.requestId, {
        textBlock: toolbox.ports.server.mcpTextBlock,
        meta: {},
      });
      return { result, isError: true, position: null };
    }
  }

  #switched(exchange: Exchange, advancedTools: boolean): void {
    const { catalogue } = this.#options.toolbox;
    const { row, revision } = sessionOf(exchange);
    const view = { caller: exchange.caller, revision };
    const before = catalogue.list({ ...view, advancedTools: row.advancedTools });
    exchange.session = { revision, row: { ...row, advancedTools } };
    exchange.listChanged ||= before !== catalogue.list({ ...view, advancedTools });
  }
}

function sessionOf({ session }: Exchange): OpenSession {
  if (session === null) throw new Error('a method ran outside of a session');
  return session;
}
