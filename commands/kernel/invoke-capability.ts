/** The path of every call, from REST and MCP: access → parse → idempotency → handle → validate output. */
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { authorize, neededScopes, requireAny, wantsFreshPassword } from './authorize.ts';
import type { Caller } from './access.ts';
import type { Capability, Context, Request } from './capability.ts';
import { credentialOf, readEntry, recordRefusal, requestAuthor } from './access-events.ts';
import { RequestClaims } from './request-claims.ts';
import type { About, Author } from './decide-and-append.ts';
import { ERROR_TABLE, GatewayError } from '../values/errors.ts';
import { readInput } from './input-issues.ts';
import { checkKey, fingerprintOf } from './idempotency.ts';
import { requireFreshPassword } from './live-caller.ts';
import type { Ports } from '../ports/ports.ts';
import type { Sealed } from '../values/sealed.ts';
import type { Position } from '../values/position.ts';

export interface Invocation {
  readonly capability: Capability;
  readonly input: unknown;
  readonly caller: Caller;
  readonly request: Request;
  /** Address and user agent, sealed under the principal's key. */
  readonly client: Sealed | null;
  readonly registry: readonly Capability[];
  readonly ports: Ports;
}

export interface Outcome {
  readonly output: unknown;
  /** The output as JSON, where it was serialised before. */
  readonly json: string | null;
  /** Position of the newest event of this request, for the `Position` header. */
  readonly position: Position | null;
  readonly replayed: boolean;
  /** True when nothing was made. */
  readonly unchanged: boolean;
  /** True when the read models did not reach `If-Position` in time. */
  readonly stale: boolean;
}

/** Runs a capability. Throws a `GatewayError`, after a recorded refusal is in the access stream. */
export async function invokeCapability(invocation: Invocation): Promise<Outcome> {
  try {
    return await run(invocation);
  } catch (error) {
    await recordRefused(invocation, error);
    throw error;
  }
}

async function run(invocation: Invocation): Promise<Outcome> {
  const { capability, caller, request, ports } = invocation;
  if (caller.org.isDeleted && capability.whileDeleted !== true) throw isDeleted();
  requireAny(caller, capability, () => neededScopes(capability, invocation.input));
  const input: unknown = parseInput(capability.input, invocation.input);
  authorize(caller, ports.directory.state, capability, input);
  if (wantsFreshPassword(capability, input)) {
    requireFreshPassword(caller, ports.directory.state, ports.clock.now());
  }
  if (request.idempotencyKey !== null) checkKey(request.idempotencyKey);
  const rule = capability.idempotency;
  if (request.idempotencyKey === null && needsKey(rule, input)) throw keyRequired();
  const { ifPosition } = request;
  const stale = ifPosition !== null && !(await ports.readModels.waitFor(ifPosition, 1_000));
  const answer = emptyAnswer();
  const author = authorOf(invocation);
  // Keyed: inputs hold passwords, and a plain hash of one could be guessed from the log.
  const fingerprint =
    rule.kind === 'none' ? '' : ports.ids.reservationName(fingerprintOf(capability.name, input));
  const claims = new RequestClaims(ports, author, {
    capability: capability.name,
    fingerprint,
    request,
    caller,
    about: mentionedIn(input),
  });
  const context: Context = {
    caller,
    ports,
    request,
    author,
    writer: ports,
    registry: invocation.registry,
    fingerprint,
    notePosition: (position) => {
      if (position != null && (answer.position === null || position > answer.position))
        answer.position = position;
    },
    claim: (prefix, mailboxId) => claims.take(prefix, mailboxId),
    markReplayed: () => {
      answer.replayed = true;
    },
    markRecorded: () => {
      claims.markRecorded();
    },
    markUnchanged: () => {
      answer.unchanged = true;
    },
    noteJson: (json) => {
      answer.json = json;
    },
    recordRead: (read) => ports.accessLog.record(readEntry(author, ports.clock.now(), read)),
  };
  const output: unknown = await claims.settle(capability, input, context);
  if (answer.json === null) checkOutput(capability, output, ports);
  return { output, ...answer, stale };
}

interface Noted {
  position: Position | null;
  replayed: boolean;
  unchanged: boolean;
  json: string | null;
}

const emptyAnswer = (): Noted => ({ position: null, replayed: false, unchanged: false, json: null });

const keyRequired = (): GatewayError =>
  new GatewayError(
    'idempotency_key_required',
    'This write needs an Idempotency-Key (on MCP: idempotency_key).',
  );

const isDeleted = (): GatewayError =>
  new GatewayError(
    'conflict',
    'This organisation is deleted. An owner can restore it with PATCH /org {"restore": true} until it is erased; nothing else works meanwhile.',
  );

const needsKey = (rule: Capability['idempotency'], input: unknown): boolean =>
  rule.kind === 'operation' ? rule.required(input) : rule.kind === 'claim' && rule.required === true;

/** Parses the input. Throws `invalid_request` with the issues, without the values that were sent. */
export function parseInput(schema: z.ZodType, input: unknown): unknown {
  const read = readInput(schema, input);
  if (read.issues === null) return read.data;
  throw new GatewayError(
    'invalid_request',
    'The request does not have the expected shape; see details.issues.',
    { details: { issues: read.issues } },
  );
}

/** How many outputs of a capability are made for each that is checked: a check is a twentieth of the cost of a small call. */
const OUTPUTS_PER_CHECK = 16;

const outputsOf = new WeakMap<Capability, number>();

/** The first output of each capability and some of the others; all of them where a defect is an error. */
function isChecked(capability: Capability, { strictOutput }: Ports['server']): boolean {
  if (strictOutput) return true;
  const before = outputsOf.get(capability) ?? 0;
  outputsOf.set(capability, before + 1);
  return before % OUTPUTS_PER_CHECK === 0;
}

/** Output that breaks its own schema is a defect of the gateway: logged, and returned unchanged. */
function checkOutput(capability: Capability, output: unknown, ports: Ports): void {
  if (!isChecked(capability, ports.server)) return;
  const parsed = capability.output.safeParse(output);
  if (parsed.success) return;
  ports.log.error('capability: response does not match its schema', {
    capability: capability.name,
    paths: parsed.error.issues.map((issue) => issue.path.map(String).join('.')),
  });
  if (ports.server.strictOutput) throw new Error(`answer of ${capability.name} breaks its schema`);
}

function authorOf({ caller, request, client }: Invocation): Author {
  const credential = credentialOf(caller);
  return {
    ...requestAuthor({ credential, client, surface: request.surface, requestId: request.id }),
    ...(request.mcpSessionId === null ? {} : { mcpSession: sessionName(request.mcpSessionId) }),
  };
}

/** An MCP session as events name it: its id is a secret. */
const sessionName = (mcpSessionId: string): string =>
  hash('sha256', `mcp-session\n${mcpSessionId}`, 'base64url');

/** Statuses of refusals that are events, one each (`contract.md` 12). */
const RECORDED_STATUSES: ReadonlySet<number> = new Set([403, 404, 409, 412, 422, 424]);

/** A wrong password within a session is a failed sign-in of a known account. */
const isRecorded = ({ code }: GatewayError): boolean =>
  code === 'invalid_credentials' || RECORDED_STATUSES.has(ERROR_TABLE[code].status);

async function recordRefused(invocation: Invocation, error: unknown): Promise<void> {
  if (!(error instanceof GatewayError) || !isRecorded(error)) return;
  const { ports, capability } = invocation;
  const about = mentionedIn(invocation.input);
  await recordRefusal(ports, authorOf(invocation), {
    capability: capability.name,
    code: error.code,
    mailboxId: about.mailbox_id ?? null,
    about,
    details: error.details,
  });
}

/** The objects that a request names, whether they exist or not. */
const FORMS = { mailbox_id: /^mbx_[0-9a-z]{26}$/, approval_id: /^chk_[0-9a-z]{26}$/ } as const;

/** Mailbox and approval of an input, for the envelope; text without the form of an id is left out. */
function mentionedIn(input: unknown): About {
  if (typeof input !== 'object' || input === null) return {};
  const named = Object.entries(FORMS).flatMap(([name, form]) => {
    const id: unknown = (input as Readonly<Record<string, unknown>>)[name];
    return typeof id === 'string' && form.test(id) ? [[name, id]] : [];
  });
  return Object.fromEntries(named) as About;
}
