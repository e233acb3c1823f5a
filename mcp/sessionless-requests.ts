/**
 * Requests of MCP 2026-07-28. Each one carries all that its answer depends on: there is no handshake, no session
 * and no state besides the position of the token's last write. A client cancels by disconnecting.
 */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { Capability } from '../commands/kernel/capability.ts';
import { GatewayError } from '../commands/values/errors.ts';
import type { Ports } from '../commands/ports/ports.ts';
import { toggleAdvancedTools } from '../commands/accounts/toggle-advanced-tools.ts';
import { goneSignal } from '../read-api/http/disconnect-signal.ts';
import { callTool, readCall, type Toolbox } from './call-tool.ts';
import { sendAccepted, sendJson, sendRefusal } from './http-answers.ts';
import { INSTRUCTIONS, serverInfo } from './initialize.ts';
import {
  errorResponse,
  INVALID_REQUEST,
  type MessageId,
  METHOD_NOT_FOUND,
  resultResponse,
} from './json-rpc-answers.ts';
import { EnvelopeRefusal, type RequestMessage } from './json-rpc-messages.ts';
import { LastWrites } from './last-writes.ts';
import { refuseCursor, ToolCatalogue } from './list-tools.ts';
import type { PostedMessage } from './posted-message.ts';
import { SESSIONLESS_REVISION } from './protocol-revisions.ts';
import { checkSessionless, RefusedRequest } from './sessionless-checks.ts';
import type { ResultMeta } from './tool-result.ts';

/** How long a client may keep what depends on its rights only; every call is authorised anew. */
const CACHING = { ttlMs: 300_000, cacheScope: 'private' } as const;

export class SessionlessRequests {
  readonly #toolbox: Toolbox;
  readonly #resultMeta: ResultMeta;
  readonly #lastWrites = new LastWrites();

  /** Without the tool that changes a session: all tools are listed. */
  constructor(options: { readonly registry: readonly Capability[]; readonly ports: Ports }) {
    const { ports } = options;
    const registry = options.registry.filter(({ name }) => name !== toggleAdvancedTools.name);
    this.#toolbox = { catalogue: new ToolCatalogue(registry), registry, ports };
    this.#resultMeta = { 'io.modelcontextprotocol/serverInfo': serverInfo(ports.server.version) };
  }

  async answer(posted: PostedMessage): Promise<void> {
    const { envelope, headers, response } = posted;
    const [message] = envelope.messages;
    if (envelope.batch || (message?.kind !== 'request' && message?.kind !== 'notification'))
      throw new EnvelopeRefusal(INVALID_REQUEST, 'Post one request or one notification.');
    if (message.kind === 'notification') {
      // The revision has none that a client sends over HTTP.
      sendAccepted(response);
      return;
    }
    try {
      checkSessionless(message, headers);
      sendJson(response, resultResponse(message.id, await this.#resultOf(message, posted)));
    } catch (error) {
      this.#refuse(error, message.id, posted);
    }
  }

  /** The result as JSON text. */
  #resultOf({ method, params }: RequestMessage, posted: PostedMessage): Promise<string> | string {
    if (method === 'server/discover') return this.#discover();
    if (method === 'tools/list') return this.#listTools(params, posted);
    if (method === 'tools/call') return this.#callTool(params, posted);
    throw new RefusedRequest(404, METHOD_NOT_FOUND, 'Method not found');
  }

  #discover(): string {
    return withMembers(
      { ...COMPLETE, ...CACHING, _meta: this.#resultMeta },
      JSON.stringify({
        supportedVersions: [SESSIONLESS_REVISION.name],
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
      }),
    );
  }

  #listTools(params: RequestMessage['params'], { visitor: { caller } }: PostedMessage): string {
    refuseCursor(params);
    return withMembers(
      { ...COMPLETE, ...CACHING, _meta: this.#resultMeta },
      this.#toolbox.catalogue.list({ caller, advancedTools: true, revision: SESSIONLESS_REVISION }),
    );
  }

  async #callTool(params: RequestMessage['params'], posted: PostedMessage): Promise<string> {
    const { visitor, requestId, admit, response } = posted;
    const tokenId = visitor.caller.token.id;
    const { result, position } = await callTool(this.#toolbox, {
      ...readCall(params),
      ...visitor,
      requestId,
      admit,
      gone: () => goneSignal(response),
      sessionId: null,
      revision: SESSIONLESS_REVISION,
      resultMeta: this.#resultMeta,
      ifPosition: this.#lastWrites.positionOf(tokenId),
    });
    if (position !== null) this.#lastWrites.note(tokenId, position);
    return withMembers(COMPLETE, result);
  }

  /** Every error is a JSON-RPC error with the id of the request, whatever its HTTP status. */
  #refuse(error: unknown, id: MessageId, { response, requestId }: PostedMessage): void {
    const { log, server } = this.#toolbox.ports;
    if (error instanceof RefusedRequest) sendJson(response, errorResponse(id, error), error.status);
    else if (error instanceof JSONRPCErrorException) sendJson(response, errorResponse(id, error));
    else {
      if (!(error instanceof GatewayError))
        log.error('mcp: request failed', { request_id: requestId, error: String(error) });
      sendRefusal(response, error, { requestId, baseUrl: server.baseUrl, rpcId: id });
    }
  }
}

/** No request asks its client for input, so every result is the last one. */
const COMPLETE = { resultType: 'complete' } as const;

/** Puts members in front of those of an object that is JSON text already, so that it is serialised once. */
const withMembers = (members: object, json: string): string =>
  `${JSON.stringify(members).slice(0, -1)},${json.slice(1)}`;
