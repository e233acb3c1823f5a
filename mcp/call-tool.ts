/** tools/call: maps a name and arguments to a result or to the error's channel (`contract.md` 16). */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { Caller } from '../commands/kernel/access.ts';
import { mayCall, neededScopes } from '../commands/kernel/authorize.ts';
import type { Capability } from '../commands/kernel/capability.ts';
import type { ProtocolRevision } from './protocol-revisions.ts';
import { ERROR_TABLE, GatewayError } from '../commands/values/errors.ts';
import { invokeCapability, type Outcome } from '../commands/kernel/invoke-capability.ts';
import type { Ports } from '../commands/ports/ports.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import type { Position } from '../commands/values/position.ts';
import { effectOf } from '../read-api/capability-registry.ts';
import { INVALID_PARAMS } from './json-rpc-answers.ts';
import type { ToolCatalogue } from './list-tools.ts';
import { invokeWithin } from './result-size.ts';
import type { Tool } from './tool.ts';
import { type ArgumentIssue, InvalidArguments, readArguments, schemaIssues } from './tool-input.ts';
import { answerResult, errorResult, type ResultMeta, type ResultOptions } from './tool-result.ts';

export interface Toolbox {
  readonly catalogue: ToolCatalogue;
  readonly registry: readonly Capability[];
  readonly ports: Ports;
}

export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly client: Sealed | null;
  readonly requestId: string;
  readonly sessionId: string | null;
  /** The position that a read must have applied. */
  readonly ifPosition: Position | null;
  /** Counts the call against its token. Throws `rate_limited`. */
  readonly admit: (capability: Pick<Capability, 'effect' | 'waits'>) => void;
  /** Aborts when the client disconnects. */
  readonly gone: () => AbortSignal;
  readonly revision: Pick<ProtocolRevision, 'argumentErrorsAsResults'>;
  /** What the revision puts into `_meta` of every result. */
  readonly resultMeta: ResultMeta;
}

export interface ToolAnswer {
  /** The result as JSON text. */
  readonly result: string;
  /** Position of the last event of a write. */
  readonly position: Position | null;
  readonly isError: boolean;
}

/** The parts of `CallToolRequest` used here; others, such as `_meta`, are ignored. */
export function readCall({
  name,
  arguments: args = {},
}: Readonly<Record<string, unknown>>): Pick<ToolCall, 'name' | 'args'> {
  if (typeof name !== 'string')
    throw new JSONRPCErrorException('name: expected the name of a tool', INVALID_PARAMS);
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new JSONRPCErrorException('arguments: expected an object', INVALID_PARAMS);
  }
  return { name, args: args as ToolCall['args'] };
}

/**
 * Runs a tool. Throws a `GatewayError` of the HTTP channel (scope, rate), and a JSON-RPC error for an unknown
 * name and, before 2025-11-25, for invalid arguments; other failures are results with `isError`.
 */
export async function callTool(toolbox: Toolbox, call: ToolCall): Promise<ToolAnswer> {
  const tool = toolNamed(toolbox, call.name);
  try {
    return await run(toolbox, tool, call);
  } catch (error) {
    return failed(toolbox, tool, call, error);
  }
}

/** Throws a JSON-RPC error for an unknown name. */
export function toolNamed({ catalogue }: Toolbox, name: string): Tool {
  const tool = catalogue.named(name);
  if (tool) return tool;
  throw new JSONRPCErrorException(`Unknown tool: ${name.slice(0, 64)}; see tools/list.`, INVALID_PARAMS);
}

async function run(toolbox: Toolbox, tool: Tool, call: ToolCall): Promise<ToolAnswer> {
  const { capability } = tool;
  // Without the scope the arguments are not parsed: the call continues to its refusal, which is recorded.
  if (!mayCall(call.caller, capability))
    await invoke(toolbox, tool, call, { input: inputToName(tool, call), idempotencyKey: null });
  const { input, idempotencyKey } = readArguments(tool, call.args, call.caller);
  call.admit({ ...capability, effect: effectOf(capability, input) });
  const { limits } = toolbox.ports.server;
  const { outcome, json, fits } = await invokeWithin(tool, input, limits.mcpResultBytes, (asked) =>
    invoke(toolbox, tool, call, { input: asked, idempotencyKey }),
  );
  if (!fits) toolbox.ports.log.warn('mcp: tool result exceeds its limit', { tool: tool.name });
  return {
    result: answerResult(json, resultOptions(toolbox, call), notesOf(outcome)),
    position: outcome.position,
    isError: false,
  };
}

const resultOptions = ({ ports }: Toolbox, { resultMeta }: ToolCall): ResultOptions => ({
  textBlock: ports.server.mcpTextBlock,
  meta: resultMeta,
});

/** The input that lets the refusal name what this call needs; unreadable arguments count as none. */
function inputToName(tool: Tool, { args, caller }: ToolCall): unknown {
  try {
    return readArguments(tool, args, caller).input;
  } catch {
    return args;
  }
}

const invoke = (
  { ports, registry }: Toolbox,
  { capability }: Tool,
  call: ToolCall,
  { input, idempotencyKey }: { readonly input: unknown; readonly idempotencyKey: string | null },
): Promise<Outcome> =>
  invokeCapability({
    capability,
    input,
    caller: call.caller,
    client: call.client,
    registry,
    ports,
    request: {
      id: call.requestId,
      surface: 'mcp',
      idempotencyKey,
      ifMatch: null,
      ifPosition: effectOf(capability, input) === 'read' ? call.ifPosition : null,
      mcpSessionId: call.sessionId,
      ...(capability.waits ? { gone: call.gone() } : {}),
    },
  });

/** The counterparts of the REST headers `Idempotency-Replayed` and `Stale`. */
const notesOf = ({ replayed, stale }: Outcome): readonly string[] => [
  ...(replayed ? ['idempotency_replayed'] : []),
  ...(stale ? ['stale'] : []),
];

function failed(toolbox: Toolbox, tool: Tool, call: ToolCall, error: unknown): ToolAnswer {
  const issues = brokenSchema(tool, call, error);
  if (issues.length > 0 && !call.revision.argumentErrorsAsResults) throw invalidParams(tool, issues);
  if (error instanceof GatewayError && error.code === 'insufficient_scope')
    throw scopeRefusal(tool, call, error);
  if (error instanceof GatewayError && ERROR_TABLE[error.code].channel === 'http') throw error;
  if (!(error instanceof GatewayError || error instanceof InvalidArguments)) {
    toolbox.ports.log.error('mcp: tool failed', {
      tool: tool.name,
      request_id: call.requestId,
      error: describe(error),
    });
  }
  const told = issues.length > 0 ? invalidRequest(tool, issues) : error;
  const result = errorResult(told, call.requestId, resultOptions(toolbox, call));
  return { result, position: null, isError: true };
}

/** A refusal for scopes names all that this operation needs: a client that gets just those can repeat it. */
function scopeRefusal(tool: Tool, call: ToolCall, { code, message, details }: GatewayError): GatewayError {
  const { required, match } = details;
  const missing = Array.isArray(required) ? (required as readonly string[]) : [];
  const needed = neededScopes(tool.capability, inputToName(tool, call));
  // Of several that each are enough, the first is the least.
  const operation_scopes = needed.length > 0 ? needed : match === 'any' ? missing.slice(0, 1) : missing;
  return new GatewayError(code, message, { details: { ...details, operation_scopes } });
}

const describe = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The input of a call whose arguments fit the schema of its tool. Throws a JSON-RPC error when they do not. */
export function inputOf(tool: Tool, call: ToolCall): Readonly<Record<string, unknown>> {
  try {
    const { input } = readArguments(tool, call.args, call.caller);
    const issues = schemaIssues(tool, input);
    if (issues.length === 0) return input;
    throw new InvalidArguments(issues);
  } catch (error) {
    throw error instanceof InvalidArguments ? invalidParams(tool, error.issues) : error;
  }
}

/** Where the arguments break the schema; empty when the handler itself refused with `invalid_request`. */
function brokenSchema(tool: Tool, { args, caller }: ToolCall, error: unknown): readonly ArgumentIssue[] {
  if (error instanceof InvalidArguments) return error.issues;
  if (!(error instanceof GatewayError) || error.code !== 'invalid_request') return [];
  try {
    return schemaIssues(tool, readArguments(tool, args, caller).input);
  } catch (again) {
    if (again instanceof InvalidArguments) return again.issues;
    // Valid except for the unnamed mailbox: a refusal the caller can act on.
    if (again instanceof GatewayError) return [];
    throw again;
  }
}

const MAX_NAMED_ISSUES = 20;

const invalidParams = (tool: Tool, issues: readonly ArgumentIssue[]): JSONRPCErrorException =>
  new JSONRPCErrorException(sentenceOf(tool, issues), INVALID_PARAMS, {
    issues: issues.slice(0, MAX_NAMED_ISSUES),
  });

const invalidRequest = (tool: Tool, issues: readonly ArgumentIssue[]): GatewayError =>
  new GatewayError('invalid_request', sentenceOf(tool, issues), {
    details: { issues: issues.slice(0, MAX_NAMED_ISSUES) },
  });

function sentenceOf(tool: Tool, issues: readonly ArgumentIssue[]): string {
  const list = issues
    .slice(0, MAX_NAMED_ISSUES)
    .map(({ path, message }) => `${path === '' ? 'arguments' : path}: ${message}`);
  return `Invalid arguments for ${tool.name}: ${list.join('; ')}. Correct them and call again; nothing was done.`;
}
