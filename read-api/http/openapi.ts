/** The registry as an OpenAPI 3.1 document. */
import { z } from 'zod';
import type { Capability } from '../../commands/kernel/capability.ts';
import { ERROR_TABLE, type ErrorCode } from '../../commands/kernel/errors.ts';
import { API_PATH } from './rest-answer.ts';

type Json = Record<string, unknown>;

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): Json => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};

/** Codes every route can answer with, and those that come with what a route does. */
const EVERYWHERE: readonly ErrorCode[] = [
  'invalid_request', 'unauthenticated', 'token_expired', 'token_revoked', 'insufficient_scope', 'origin_not_allowed',
  'not_found', 'method_not_allowed', 'rate_limited', 'internal_error', 'store_unavailable', 'overloaded',
]; // prettier-ignore
const WITH_BODY: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];
const WITH_KEY: readonly ErrorCode[] = ['idempotency_key_reused', 'idempotency_in_progress', 'conflict'];
const WITH_ETAG: readonly ErrorCode[] = ['version_conflict'];
const WITH_CURSOR: readonly ErrorCode[] = ['cursor_invalid'];
const WITH_MAIL: readonly ErrorCode[] = [
  'mailbox_unavailable', 'mailbox_auth_failed', 'folder_role_missing', 'filter_unsupported', 'target_blocked',
  'provider_rejected', 'provider_timeout',
]; // prettier-ignore
const WITH_OPERATION: readonly ErrorCode[] = [
  'policy_denied', 'approval_required', 'cardinality_violation', 'operation_unsupported', 'idempotency_key_required',
]; // prettier-ignore

/** The error codes a route may answer with, by status. */
export function errorCodesOf({
  rest,
  idempotency,
  etag,
  access,
  input,
}: Capability): ReadonlyMap<number, ErrorCode[]> {
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const asked: readonly [boolean, readonly ErrorCode[]][] = [
    [true, EVERYWHERE],
    [rest?.method !== 'get' && rest?.method !== 'delete', WITH_BODY],
    [idempotency.kind !== 'none', WITH_KEY],
    [etag !== undefined, WITH_ETAG],
    ['cursor' in properties || 'select' in properties, WITH_CURSOR],
    [access !== 'any-token' && access.mailbox !== undefined, WITH_MAIL],
    [idempotency.kind === 'operation', WITH_OPERATION],
  ];
  const codes = asked.flatMap(([applies, some]) => (applies ? some : []));
  return Map.groupBy(codes.toSorted(), (code) => ERROR_TABLE[code].status);
}

const HEADERS: Readonly<Record<string, string>> = {
  'Idempotency-Key': '1–255 visible ASCII characters; the same key with the same body runs once.',
  'If-Match': 'The ETag this change is based on.',
  'If-Position': 'The Position of an earlier answer: waits up to a second until reads include it.',
};

function parametersOf({ rest, input, effect, idempotency, etag }: Capability): readonly Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const path = rest?.path ?? '';
  const inQuery = rest?.method === 'get' || rest?.method === 'delete';
  const fields = Object.entries(properties).flatMap(([name, schema]): Json[] => {
    if (path.includes(`:${name}`)) return [{ name, in: 'path', required: true, schema }];
    return inQuery ? [{ name, in: 'query', required: required.includes(name), schema }] : [];
  });
  const headers = [
    ...(idempotency.kind === 'none' ? [] : ['Idempotency-Key']),
    ...(etag && effect === 'write' ? ['If-Match'] : []),
    ...(effect === 'read' ? ['If-Position'] : []),
  ];
  return [
    ...fields,
    ...headers.map((name) => ({
      name,
      in: 'header',
      description: HEADERS[name],
      schema: { type: 'string' },
    })),
  ];
}

/** The input without what the path already names. */
function bodyOf({ rest, input }: Capability): Json | undefined {
  if (!rest || rest.method === 'get' || rest.method === 'delete') return undefined;
  const schema = schemaOf(input, 'input');
  const properties = Object.entries((schema['properties'] ?? {}) as Json).filter(
    ([name]) => !rest.path.includes(`:${name}`),
  );
  if (rest.bodyField !== undefined) return (schema['properties'] as Json)[rest.bodyField] as Json;
  const required = ((schema['required'] ?? []) as string[]).filter((name) => !rest.path.includes(`:${name}`));
  return {
    ...schema,
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : { required: undefined }),
  };
}

const json = (schema: Json): Json => ({ content: { 'application/json': { schema } } });

function responsesOf(capability: Capability): Json {
  const status = String(capability.rest?.status ?? 200);
  const success = status === '204' ? {} : json(schemaOf(capability.output, 'output'));
  const errors = [...errorCodesOf(capability)]
    .toSorted(([a], [b]) => a - b)
    .map(([code, names]) => [
      String(code),
      { description: names.join(', '), ...json({ $ref: '#/components/schemas/Error' }) },
    ]);
  return {
    [status]: { description: capability.summary, ...success },
    ...(Object.fromEntries(errors) as Json),
  };
}

function operationOf(capability: Capability): Json {
  const body = bodyOf(capability);
  const scopes = capability.access === 'any-token' ? [] : capability.access.any;
  return {
    operationId: capability.name,
    summary: capability.summary,
    description: capability.description,
    'x-scopes': scopes,
    parameters: parametersOf(capability),
    ...(body ? { requestBody: { required: true, ...json(body) } } : {}),
    responses: responsesOf(capability),
  };
}

const ERROR_SCHEMA: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'status', 'message', 'request_id', 'retryable', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(ERROR_TABLE) },
        status: { type: 'integer' },
        message: { type: 'string' },
        request_id: { type: 'string' },
        retryable: { type: 'boolean' },
        retry_after_seconds: { type: 'number' },
        details: { type: 'object' },
      },
    },
  },
};

/** The whole document. */
export function openApiDocument(
  registry: readonly Capability[],
  server: { baseUrl: string; version: string },
): Json {
  const paths: Record<string, Json> = {};
  for (const capability of registry) {
    if (!capability.rest) continue;
    const path = capability.rest.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [capability.rest.method]: operationOf(capability) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mailbox Gateway',
      version: server.version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${server.baseUrl}${API_PATH}` }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR_SCHEMA },
    },
  };
}
