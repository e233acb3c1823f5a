/** The registry as an OpenAPI 3.1 document. */
import { z } from 'zod';
import type { Capability } from '../../commands/kernel/capability.ts';
import { needsSession } from '../../commands/kernel/authorize.ts';
import { WITHHELD_UNVERIFIED } from '../../commands/kernel/membership.ts';
import { ERROR_TABLE, type ErrorCode } from '../../commands/values/errors.ts';
import type { AnyPublicRoute, Routes } from '../../commands/kernel/public-route.ts';
import { SESSION_ONLY_SCOPES } from '../../commands/values/scopes.ts';
import { COMPONENTS, ERROR_SCHEMA, errorResponse, type Json, successHeaders } from './openapi-components.ts';
import { schemaOf, sharedSchemas } from './openapi-schemas.ts';
import { openApiWebhooks, WEBHOOK_COMPONENTS } from './openapi-webhooks.ts';
import { keyRuleOf } from '../capability-registry.ts';
import { takesJson, takesQuery } from './request-input.ts';
import { API_PATH } from './rest-answer.ts';

/** Codes every route can return, and those that follow from its kind. */
const EVERYWHERE: readonly ErrorCode[] = [
  'invalid_request', 'unauthenticated', 'token_expired', 'token_revoked', 'insufficient_scope', 'origin_not_allowed',
  'not_found', 'method_not_allowed', 'payload_too_large', 'unsupported_media_type', 'rate_limited', 'internal_error',
  'store_unavailable', 'overloaded', 'request_timeout', 'header_fields_too_large',
]; // prettier-ignore
const WITH_KEY: readonly ErrorCode[] = ['idempotency_key_reused', 'idempotency_in_progress', 'conflict'];
/** Of an organisation that is deleted. */
const WITH_ORGANISATION: readonly ErrorCode[] = ['conflict'];
const WITH_ETAG: readonly ErrorCode[] = ['version_conflict'];
const WITH_CURSOR: readonly ErrorCode[] = ['cursor_invalid'];
const WITH_MAIL: readonly ErrorCode[] = [
  'mailbox_unavailable', 'mailbox_auth_failed', 'folder_role_missing', 'filter_unsupported', 'target_blocked',
  'provider_rejected', 'provider_timeout', 'index_building',
]; // prettier-ignore
const WITH_WAIT: readonly ErrorCode[] = ['cursor_expired'];
const WITH_EFFECT: readonly ErrorCode[] = [
  'legal_hold',
  'message_stale',
  'selection_changed',
  'outcome_unknown',
  'quota_exceeded',
];
const WITH_APPROVAL: readonly ErrorCode[] = [
  'approval_pending', 'approval_not_pending', 'approval_expired', 'approval_invalidated', 'not_an_approver',
  'self_approval_forbidden', 'no_eligible_approver', 'version_conflict', 'selection_changed',
]; // prettier-ignore
const WITH_DRAFT: readonly ErrorCode[] = ['draft_locked', 'version_conflict'];
const WITH_RANGE: readonly ErrorCode[] = ['range_not_satisfiable'];
const WITH_PASSWORD: readonly ErrorCode[] = ['invalid_credentials'];
const WITH_STEP_UP: readonly ErrorCode[] = ['step_up_required'];
const WITH_VERIFIED_ADDRESS: readonly ErrorCode[] = ['email_unverified'];
const WITH_OPERATION: readonly ErrorCode[] = [
  'policy_denied', 'approval_required', 'cardinality_violation', 'operation_unsupported', 'idempotency_key_required',
  'approval_rejected', 'approval_cancelled', 'approval_expired', 'approval_superseded', 'approval_invalidated',
]; // prettier-ignore

/** The error codes a route may answer with, by status. */
export function errorCodesOf(
  { idempotency, etag, access, input, effect, waits, rest, whileDeleted }: Capability,
  own: readonly ErrorCode[] = [],
): ReadonlyMap<number, ErrorCode[]> {
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const asked: readonly [boolean, readonly ErrorCode[]][] = [
    [true, [...EVERYWHERE, ...own]],
    [idempotency.kind !== 'none', WITH_KEY],
    [whileDeleted !== true, WITH_ORGANISATION],
    [etag !== undefined, WITH_ETAG],
    ['cursor' in properties || 'select' in properties, WITH_CURSOR],
    [typeof access !== 'string' && access.mailbox !== undefined, WITH_MAIL],
    [access === 'session' && ('password' in properties || 'old' in properties), WITH_PASSWORD],
    [waits === true, WITH_WAIT],
    [actsOnMail({ access, idempotency, effect }), [...WITH_MAIL, ...WITH_EFFECT]],
    [idempotency.kind !== 'none' && asks(access, 'approvals:'), WITH_APPROVAL],
    [effect === 'write' && asks(access, 'drafts:'), WITH_DRAFT],
    [takesRange({ rest }), WITH_RANGE],
    [asksForPassword(access), WITH_STEP_UP],
    [isWithheld(access), WITH_VERIFIED_ADDRESS],
    [idempotency.kind === 'operation', WITH_OPERATION],
  ];
  const codes = asked.flatMap(([applies, some]) => (applies ? some : []));
  return Map.groupBy([...new Set(codes)].toSorted(), (code) => ERROR_TABLE[code].status);
}

/** True where a person may lack a scope only until the address is verified. */
const isWithheld = (access: Capability['access']): boolean =>
  typeof access !== 'string' && access.any.some((scope) => WITHHELD_UNVERIFIED.has(scope));

const asks = (access: Capability['access'], scopes: string): boolean =>
  typeof access !== 'string' && access.any.some((scope) => scope.startsWith(scopes));

/** True for a capability that changes mail, directly or as the commit of an approval. */
const actsOnMail = ({
  access,
  idempotency,
  effect,
}: Pick<Capability, 'access' | 'idempotency' | 'effect'>): boolean =>
  idempotency.kind === 'operation' || (effect === 'write' && asks(access, 'approvals:commit'));

const asksForPassword = (access: Capability['access']): boolean =>
  typeof access === 'string'
    ? access === 'stepped-up-session'
    : access.steppedUp !== undefined || access.any.some((scope) => SESSION_ONLY_SCOPES.includes(scope));

const REQUEST_HEADERS: Readonly<Record<string, string>> = {
  'Idempotency-Key': '1–255 visible ASCII characters; the same key with the same body runs once.',
  'If-Match': 'The ETag this change is based on.',
  Range: 'One range of bytes; several are answered whole.',
  'If-Position': 'The Position of an earlier answer: waits up to a second until reads include it.',
};

function parametersOf(capability: Capability): readonly Json[] {
  const { rest, input } = capability;
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const inPath = pathParametersOf(rest?.path ?? '');
  const inQuery = takesQuery(capability);
  const fields = Object.entries(properties).flatMap(([name, schema]): Json[] => {
    if (inPath.has(name)) return [{ name, in: 'path', required: true, schema }];
    if (name === rest?.bodyBytes) return [];
    return inQuery ? [{ name, in: 'query', required: required.includes(name), schema }] : [];
  });
  return [
    ...fields,
    ...headersOf(capability).map((name) => ({
      name,
      in: 'header',
      ...(name === 'Idempotency-Key' && keyRuleOf(capability) === 'required' ? { required: true } : {}),
      description: [
        REQUEST_HEADERS[name],
        ...(name === 'Idempotency-Key' ? requiredWhen(capability) : []),
      ].join(' '),
      schema: { type: 'string' },
    })),
  ];
}

const requiredWhen = ({ idempotency }: Capability): readonly string[] =>
  idempotency.kind === 'operation' && idempotency.requiredWhen !== undefined
    ? [idempotency.requiredWhen]
    : [];

const headersOf = ({ rest, effect, idempotency, ifMatch }: Capability): readonly string[] => [
  ...(idempotency.kind === 'none' ? [] : ['Idempotency-Key']),
  ...(ifMatch ? ['If-Match'] : []),
  ...(effect === 'read' ? ['If-Position'] : []),
  ...(takesRange({ rest }) ? ['Range'] : []),
];

const pathParametersOf = (path: string): ReadonlySet<string> =>
  new Set([...path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => name));

/** The input without the fields of the path. The body is optional when no field is required. */
const KEY_IN_BODY = { type: 'string', description: 'As the header Idempotency-Key; give it once.' };

function bodyOf({ rest, input }: Capability): Json | undefined {
  if (!rest || !takesJson({ rest })) return undefined;
  if (rest.bodyBytes !== undefined) {
    return { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  }
  const { properties, required, ...schema } = schemaOf(input, 'input') as JsonObjectSchema;
  const inPath = pathParametersOf(rest.path);
  const own = Object.entries(properties ?? {}).filter(([name]) => !inPath.has(name));
  if (rest.bodyField !== undefined) {
    return { required: true, ...json(Object.fromEntries(own)[rest.bodyField] as Json) };
  }
  const needed = (required ?? []).filter((name) => !inPath.has(name));
  const key = rest.bodyKey ? { idempotency_key: KEY_IN_BODY } : {};
  const body = { ...schema, properties: { ...Object.fromEntries(own), ...key } };
  return needed.length > 0
    ? { required: true, ...json({ ...body, required: needed }) }
    : { required: false, ...json(body) };
}

interface JsonObjectSchema {
  readonly properties?: Json;
  readonly required?: readonly string[];
}

const json = (schema: Json): Json => ({ content: { 'application/json': { schema } } });

function contentOf({ rest, output }: Capability): Json {
  if (rest?.asText !== undefined) {
    const schema = schemaOf(output, 'output');
    return { content: { 'application/json': { schema }, 'text/plain': { schema: { type: 'string' } } } };
  }
  if (rest?.answerBytes === undefined) return json(schemaOf(output, 'output'));
  const types = [rest.answerBytes].flat();
  return {
    content: Object.fromEntries(
      types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
    ),
  };
}

const takesRange = ({ rest }: Pick<Capability, 'rest'>): boolean =>
  rest?.answerBytes !== undefined && rest.noRange !== true;

/** RFC 9110 14: the answers to a `Range` that can be satisfied. */
const rangeResponses = (content: Json): Json => ({
  '206': { description: 'The requested range; Content-Range has the total size.', ...content },
});

function responsesOf(capability: Capability, own: readonly ErrorCode[]): Json {
  const status = String(capability.rest?.status ?? 200);
  const success = status === '204' ? {} : contentOf(capability);
  const errors = [...errorCodesOf(capability, own)]
    .toSorted(([a], [b]) => a - b)
    .map(([code, names]) => [String(code), errorResponse(code, names)]);
  return {
    [status]: { description: capability.summary, headers: successHeaders(capability), ...success },
    ...(capability.rest?.orUnchanged ? { '200': { description: 'Nothing new was made.', ...success } } : {}),
    ...(takesRange(capability) ? rangeResponses(success) : {}),
    ...(Object.fromEntries(errors) as Json),
  };
}

function operationOf(capability: Capability, own: readonly ErrorCode[] = capability.errors ?? []): Json {
  const body = bodyOf(capability);
  const scopes = typeof capability.access === 'string' ? [] : capability.access.any;
  return {
    operationId: capability.name,
    summary: capability.summary,
    description: capability.description,
    'x-scopes': scopes,
    parameters: parametersOf(capability),
    ...(body ? { requestBody: body } : {}),
    responses: responsesOf(capability, own),
  };
}

/** Some scopes exist in sessions only, so a capability that asks for one of them does too. */
const sessionOnly = (capability: Capability): Json => {
  const { access } = capability;
  const byScope =
    typeof access !== 'string' && access.any.every((scope) => SESSION_ONLY_SCOPES.includes(scope));
  return byScope || needsSession(capability) ? { 'x-session-only': true } : {};
};

/** A route without a bearer has fewer refusals; its own are a wrong password or link. */
const publicOperationOf = (route: AnyPublicRoute): Json => ({
  ...operationOf(
    {
      ...route,
      effect: route.rest.method === 'get' ? 'read' : 'write',
      access: 'session',
      whileDeleted: true,
      tool: null,
      idempotency: { kind: 'none' },
      handle: () => Promise.reject(new Error('a document runs nothing')),
    },
    route.errors,
  ),
  security: [],
});

/** The whole document. */
export function openApiDocument(
  { registry, publicRoutes }: Routes,
  server: { baseUrl: string; version: string },
): Json {
  const paths: Record<string, Json> = {};
  for (const capability of registry) {
    if (!capability.rest) continue;
    const path = capability.rest.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [capability.rest.method]: { ...sessionOnly(capability), ...operationOf(capability) },
    };
  }
  for (const route of publicRoutes)
    paths[route.rest.path] = { [route.rest.method]: publicOperationOf(route) };
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
    webhooks: openApiWebhooks(),
    components: {
      ...COMPONENTS,
      parameters: WEBHOOK_COMPONENTS.parameters,
      responses: { ...COMPONENTS.responses, ...WEBHOOK_COMPONENTS.responses },
      schemas: { ...sharedSchemas(), Error: ERROR_SCHEMA },
    },
  };
}
