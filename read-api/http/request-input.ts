/** Path, query and body of a request → the one input of its capability. Only query strings are coerced. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Capability } from '../../commands/kernel/capability.ts';
import type { InputIssue } from '../../commands/kernel/input-issues.ts';
import { GatewayError } from '../../commands/values/errors.ts';
import { isJsonObject } from '../../commands/values/json-object.ts';
import { readBody, uploadOf } from './request-body.ts';

/** Deeper than the JSON of any valid request: refused before it can exhaust the stack. */
const MOST_DEPTH = 32;

const refuse = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code: 'custom', message }] } });

type QueryKind = 'integer' | 'boolean' | 'array' | 'text';

/** How each top-level field of an input is written in a query string. */
function queryKinds(schema: z.ZodType): ReadonlyMap<string, QueryKind> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return new Map(
    Object.entries(properties).map(([name, property]): [string, QueryKind] => {
      const type = typeof property === 'object' ? property.type : undefined;
      return [name, type === 'integer' || type === 'boolean' || type === 'array' ? type : 'text'];
    }),
  );
}

/** The parts of a capability that decide how its input is read. */
type Shape = Pick<Capability, 'input' | 'rest'>;

/** False for JSON bodies, whose fields are only there: a query is logged, a body may hold a password. */
export const takesQuery = ({ rest }: Shape): boolean => !takesJson({ rest }) || rest?.bodyBytes !== undefined;

/** True when the fields of the input are in a body; most DELETEs have none. */
export const takesJson = ({ rest }: Pick<Shape, 'rest'>): boolean =>
  rest?.method !== 'get' && (rest?.method !== 'delete' || rest.deleteBody === true);

function refuseQuery(names: readonly string[]): void {
  if (names.length === 0) return;
  const message = 'This request takes no query parameters; send its fields in the JSON body.';
  const issues = names.map((path) => ({ path, code: 'unrecognized_key', message }));
  throw new GatewayError('invalid_request', message, { details: { issues } });
}

/** Reads inputs of one capability; its schema is analysed once. */
export class RequestInput {
  readonly #capability: Shape;
  readonly #kinds: ReadonlyMap<string, QueryKind>;
  readonly #maxBytes: number;

  constructor(capability: Shape, maxBytes: number) {
    this.#capability = capability;
    this.#kinds = queryKinds(capability.input);
    this.#maxBytes = maxBytes;
  }

  /** The input. Throws `invalid_request`, `unsupported_media_type` or `payload_too_large`. */
  async read(
    request: IncomingMessage,
    path: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const query = this.#query(request.url ?? '');
    if (!takesQuery(this.#capability)) refuseQuery(Object.keys(query));
    const fields = await this.#fields(request);
    for (const name of Object.keys(fields)) {
      if (!takesJson(this.#capability)) throw refuse(name, 'This request takes no body.');
      if (Object.hasOwn(query, name)) throw refuse(name, 'This field is the body.');
    }
    for (const name of Object.keys(path)) {
      if (Object.hasOwn(query, name) || Object.hasOwn(fields, name))
        throw refuse(name, 'This field is named by the path already.');
    }
    return { ...query, ...fields, ...path };
  }

  async #fields(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
    const { bodyField, bodyBytes } = this.#capability.rest ?? {};
    if (bodyBytes !== undefined) return { [bodyBytes]: uploadOf(request) };
    const body = await readJson(request, this.#maxBytes);
    return bodyField === undefined ? body : { [bodyField]: body };
  }

  #query(url: string): Record<string, unknown> {
    const begin = url.indexOf('?');
    if (begin < 0) return {};
    const parameters = new URLSearchParams(url.slice(begin));
    const input: [string, unknown][] = [];
    for (const name of new Set(parameters.keys())) {
      const values = parameters.getAll(name);
      const kind = this.#kinds.get(name) ?? 'text';
      if (kind === 'array') {
        input.push([name, values.flatMap((value) => value.split(','))]);
      } else {
        const [value = ''] = values;
        if (values.length > 1) throw refuse(name, 'This query parameter may be given once.');
        input.push([name, coerce(kind, value)]);
      }
    }
    // Not by assignment: a parameter called __proto__ must be reported as an unknown field.
    return Object.fromEntries(input);
  }
}

/**
 * The key of a request: from its header, or from its body where the route accepts it there; the rest is the
 * input. Throws `invalid_request` for two keys, and for one that is not text.
 */
export function keyOf(
  { rest }: Shape,
  header: string | null,
  input: Readonly<Record<string, unknown>>,
): { readonly key: string | null; readonly input: unknown } {
  if (!rest?.bodyKey || !Object.hasOwn(input, 'idempotency_key')) return { key: header, input };
  const { idempotency_key: key, ...others } = input;
  if (typeof key !== 'string') throw refuse('idempotency_key', 'A key is a text.');
  if (header !== null && header !== key) {
    throw refuse('idempotency_key', 'The header Idempotency-Key names another key; give it once.');
  }
  return { key, input: others };
}

/** Where the whole body is one field, issues name its members: the caller did not write the field itself. */
export async function withBodyPaths<Result>({ rest }: Shape, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const field = rest?.bodyField;
    if (field === undefined || !(error instanceof GatewayError) || !Array.isArray(error.details['issues']))
      throw error;
    const issues = (error.details['issues'] as readonly InputIssue[]).map((issue) => ({
      ...issue,
      path: issue.path === field ? '' : issue.path.replace(`${field}.`, ''),
    }));
    const { code, message, details, replayed } = error;
    throw new GatewayError(code, message, { details: { ...details, issues }, replayed, cause: error });
  }
}

/** A text that cannot be coerced stays a text, which the schema then refuses. */
function coerce(kind: QueryKind, text: string): unknown {
  if (kind === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The JSON object of a body; an empty body is `{}` whatever its type. */
async function readJson(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Readonly<Record<string, unknown>>> {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (length === '0' && encoding === undefined) return {};
  const bytes = await readBody(request, maxBytes);
  if (bytes.length === 0) return {};
  checkType(request);
  if (!isUtf8(bytes)) throw refuse('', 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  checkDepth(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('', 'The body is not valid JSON.');
  }
  if (isJsonObject(value)) return value;
  throw refuse('', 'The body must be a JSON object.');
}

function checkType(request: IncomingMessage): void {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isJson = type === 'application/json' || /^application\/[^/]+\+json$/.test(type);
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (isJson && encoding === 'identity') return;
  throw new GatewayError(
    'unsupported_media_type',
    'Send the body as Content-Type: application/json, without Content-Encoding.',
  );
}

/** Counts brackets outside of strings, so that a depth bomb is never parsed. */
function checkDepth(text: string): void {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > MOST_DEPTH) throw refuse('', `The body nests deeper than ${String(MOST_DEPTH)} levels.`);
    } else if (character === '}' || character === ']') depth -= 1;
  }
}
