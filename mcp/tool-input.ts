/** The arguments of a tools/call as capability input: key, mailbox and page size differ on MCP. */
import type { Caller } from '../commands/kernel/access.ts';
import { GatewayError, notFound } from '../commands/values/errors.ts';
import { type InputIssue, readInput } from '../commands/kernel/input-issues.ts';
import { isJsonObject } from '../commands/values/json-object.ts';
import { MAX_LIMIT, type Tool } from './tool.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface ToolInput {
  readonly input: Fields;
  readonly idempotencyKey: string | null;
}

/** Where and how arguments break a tool's schema; never the values sent. */
export type ArgumentIssue = InputIssue;

/** Arguments that break the tool's schema: a JSON-RPC error, not a tool result (`contract.md` 16). */
export class InvalidArguments extends Error {
  readonly issues: readonly ArgumentIssue[];
  constructor(issues: readonly ArgumentIssue[]) {
    super('arguments break the schema of the tool');
    this.name = 'InvalidArguments';
    this.issues = issues;
  }
}

/**
 * Maps arguments to input. Throws `InvalidArguments` for fields only MCP has, and `invalid_request` when the
 * mailbox is omitted and there is more than one; `invokeCapability` validates the rest.
 */
export function readArguments(tool: Tool, args: Fields, caller: Caller): ToolInput {
  const issues: ArgumentIssue[] = [];
  const { idempotencyKey, rest: keyless } = takeKey(tool, args, issues);
  const { mailboxId, rest } = takeMailbox(tool, keyless, issues);
  const chosen = mailboxId === undefined ? onlyMailbox(tool, caller) : mailboxId;
  checkPageSize(tool, rest, issues);
  const input = chosen === undefined ? rest : { ...rest, mailbox_id: chosen };
  const mailboxMissing = tool.mailbox !== 'nowhere' && chosen === undefined;
  if (issues.length === 0 && !mailboxMissing) return { input, idempotencyKey };
  const told = new Set([...issues.map(({ path }) => path), ...(mailboxMissing ? [mailboxPath(tool)] : [])]);
  issues.push(...schemaIssues(tool, input).filter(({ path }) => !told.has(path)));
  throw issues.length > 0 ? new InvalidArguments(issues) : mailboxNotNamed(tool, caller);
}

/** Violations of the capability's own schema, by the paths an MCP caller knows. Empty = none. */
export function schemaIssues(tool: Tool, input: Fields): readonly ArgumentIssue[] {
  const { issues } = readInput(tool.capability.input, input);
  return (issues ?? []).map((issue) => {
    if (issue.path === 'mailbox_id') return { ...issue, path: mailboxPath(tool) };
    // Fields at the top are those of the route, which have other names here.
    const isTop = issue.code === 'unrecognized_key' && !issue.path.includes('.');
    return isTop ? unknownField(issue.path) : issue;
  });
}

const unknownField = (path: string): ArgumentIssue => ({
  path,
  code: 'unrecognized_key',
  message: 'is not an argument of this tool',
});

const mailboxPath = (tool: Tool): string => (tool.mailbox === 'select' ? 'select.mailbox_id' : 'mailbox_id');

/** 1–255 visible ASCII characters (`contract.md` 14). */
const KEY_FORMAT = /^[\u0021-\u007e]{1,255}$/;

function takeKey(
  tool: Tool,
  args: Fields,
  issues: ArgumentIssue[],
): { idempotencyKey: string | null; rest: Fields } {
  if (tool.key === 'none') return { idempotencyKey: null, rest: args };
  const { idempotency_key: key, ...rest } = args;
  if (typeof key === 'string' && KEY_FORMAT.test(key)) return { idempotencyKey: key, rest };
  if (key !== undefined || tool.key === 'required') {
    const message = key === undefined ? 'is missing' : 'must be 1 to 255 visible ASCII characters';
    issues.push({
      path: 'idempotency_key',
      code: key === undefined ? 'required' : 'invalid_format',
      message,
    });
  }
  return { idempotencyKey: null, rest };
}

/** Moves the mailbox out of the select, so that input and fingerprint equal those of the REST route. */
function takeMailbox(
  tool: Tool,
  args: Fields,
  issues: ArgumentIssue[],
): { mailboxId: unknown; rest: Fields } {
  if (tool.mailbox === 'select') {
    const { mailbox_id: misplaced, ...rest } = args;
    if (misplaced !== undefined) issues.push(unknownField('mailbox_id'));
    const taken = takeFrom(rest['select']);
    return taken
      ? { mailboxId: taken.mailboxId, rest: { ...rest, select: taken.rest } }
      : { mailboxId: undefined, rest };
  }
  const { mailbox_id: named } = args;
  if (named !== undefined) return { mailboxId: named, rest: args };
  if (tool.mailbox === 'select-if-given') {
    const taken = takeFrom(args['select']);
    return taken
      ? { mailboxId: taken.mailboxId, rest: { ...args, select: taken.rest } }
      : { mailboxId: undefined, rest: args };
  }
  const { operation } = args;
  const taken =
    tool.mailbox === 'operation' && isJsonObject(operation) ? takeFrom(operation['select']) : null;
  if (!taken || !isJsonObject(operation)) return { mailboxId: undefined, rest: args };
  return { mailboxId: taken.mailboxId, rest: { ...args, operation: { ...operation, select: taken.rest } } };
}

function takeFrom(select: unknown): { mailboxId: string; rest: Fields } | null {
  if (!isJsonObject(select)) return null;
  const { mailbox_id: mailboxId, ...rest } = select;
  return typeof mailboxId === 'string' ? { mailboxId, rest } : null;
}

const onlyMailbox = (tool: Tool, caller: Caller): string | undefined => {
  if (tool.mailbox === 'nowhere' || caller.mailboxes.size !== 1) return undefined;
  const [only] = caller.mailboxes.keys();
  return only;
};

function mailboxNotNamed(tool: Tool, caller: Caller): GatewayError {
  const allowed = [...caller.mailboxes.keys()];
  if (allowed.length === 0) return notFound('mailbox');
  const path = mailboxPath(tool);
  return new GatewayError(
    'invalid_request',
    `This token reaches ${String(allowed.length)} mailboxes: name one in ${path}; get_identity lists them.`,
    {
      details: {
        issues: [{ path, code: 'required', message: 'is missing: name a mailbox' }],
        allowed: allowed.slice(0, MAX_LIMIT),
        suggested_tool: 'get_identity',
      },
    },
  );
}

/** The capability sets the default page size; a page over the schema's limit is refused as usual. */
function checkPageSize(tool: Tool, args: Fields, issues: ArgumentIssue[]): void {
  const fields = tool.limit === 'select' ? args['select'] : args;
  const limit = tool.limit !== 'nowhere' && isJsonObject(fields) ? fields['limit'] : undefined;
  if (typeof limit !== 'number' || limit <= MAX_LIMIT) return;
  const path = tool.limit === 'select' ? 'select.limit' : 'limit';
  issues.push({ path, code: 'too_big', message: `must be 1 to ${String(MAX_LIMIT)}` });
}
