/**
 * The JSON-RPC methods of the revisions with sessions. Every method returns the JSON text of its result, so that a
 * result is serialised once. They are called directly: the server of `json-rpc-2.0` makes every request outlive
 * several collections of garbage (ADR 172).
 */
import { randomBytes } from 'node:crypto';
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { Caller } from '../commands/kernel/access.ts';
import { routeKey } from '../commands/values/ids.ts';
import { GatewayError } from '../commands/values/errors.ts';
import type { McpSession } from '../commands/ports/mcp.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import { callTool, readCall, type ToolAnswer, type Toolbox, type ToolCall } from './call-tool.ts';
import {
  errorResponse,
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  resultResponse,
  type RpcError,
} from './json-rpc-answers.ts';
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

/** The JSON text of a result. Throws a `JSONRPCErrorException`, or a `GatewayError` for an HTTP status. */
type Method = (params: Params, request: OneRequest) => Promise<string> | string;

export class JsonRpcMethods {
  readonly #options: MethodOptions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: MethodOptions) {
    this.#options = options;
    const tasks = new TaskMethods(options.toolbox, options.taskRuns);
    this.#methods = new Map<string, Method>([
      ['initialize', (params, { exchange }) => this.#initialize(params, exchange)],
      ['ping', () => '{}'],
      ['tools/list', (params, { exchange }) => this.#listTools(params, exchange)],
      ['tools/call', (params, request) => this.#callTool(params, request)],
      ['tasks/get', ofTasks((request) => tasks.get(request))],
      ['tasks/list', ofTasks((request) => tasks.list(request))],
      ['tasks/cancel', ofTasks((request) => tasks.cancel(request))],
      [
        'tasks/result',
        ofTasks((request, exchange) => {
          exchange.admit({ effect: 'read', waits: true });
          return tasks.result(request);
        }),
      ],
    ]);
  }

  /** The JSON text of the response. Throws a `GatewayError` when the answer is an HTTP status. */
  async answer(
    { id, method, params }: RequestMessage,
    exchange: Exchange,
    gone: ToolCall['gone'],
  ): Promise<string> {
    const run = this.#methods.get(method);
    if (run === undefined) return errorResponse(id, methodNotFound());
    try {
      return resultResponse(id, await run(params, { exchange, gone }));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      return errorResponse(id, this.#errorOf(error));
    }
  }

  /** No unforeseen error shows its text. */
  #errorOf(error: unknown): RpcError {
    if (error instanceof JSONRPCErrorException) return error;
    this.#options.toolbox.ports.log.error('mcp: method failed', { error: String(error) });
    return { code: INTERNAL_ERROR, message: 'Internal error' };
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

const methodNotFound = (): JSONRPCErrorException =>
  new JSONRPCErrorException('Method not found', METHOD_NOT_FOUND);

/** A method that exists only in revisions with tasks. */
const ofTasks =
  (work: (request: TaskRequest, exchange: Exchange) => Promise<string>): Method =>
  async (params, { exchange, gone }) => {
    if (!sessionOf(exchange).revision.tasks) throw methodNotFound();
    return await work({ params, caller: exchange.caller, gone: gone() }, exchange);
  };

function sessionOf({ session }: Exchange): OpenSession {
  if (session === null) throw new Error('a method ran outside of a session');
  return session;
}
