/** The components every operation of the OpenAPI document refers to: the error body and the headers. */
import type { Capability } from '../../commands/kernel/capability.ts';
import { ERROR_TABLE } from '../../commands/values/errors.ts';

export type Json = Record<string, unknown>;

export const ERROR_SCHEMA: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'status', 'message', 'request_id', 'retryable', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(ERROR_TABLE) },
        status: { type: 'integer' },
        message: { type: 'string', description: 'For people; branch on code.' },
        request_id: { type: 'string' },
        retryable: { type: 'boolean' },
        retry_after_seconds: { type: 'number' },
        details: { type: 'object' },
      },
    },
  },
};

const HEADERS = {
  'Request-Id': 'The id of this request, as the audit trail has it.',
  'RateLimit-Policy': 'Quota q per window of w seconds.',
  RateLimit: 'What is left of it (r), and the seconds until all of it is back (t).',
  'Retry-After': 'Seconds to wait before trying again.',
  'WWW-Authenticate': 'How to authenticate, and the scope that is lacking (RFC 6750).',
  Allow: 'The methods this path takes.',
  Position: 'Position of the newest event of this request; send it as If-Position to read what it wrote.',
  Stale: '"true" when the read models did not reach If-Position within a second.',
  'Idempotency-Replayed': '"true" when this key was used before: the effect did not happen again.',
  ETag: 'Strong entity tag of the object; send it as If-Match.',
  Location: 'Path of what was made.',
  'Audit-Export-Id': 'The id of the export: send it as export_id for the rest of an interrupted file.',
  'Audit-Export-Mode': 'complete, skeleton or sparse; absent for CSV.',
  'Audit-Export-Size': 'The size of the checkpoint that the file is about.',
  'Audit-Lines-Total': 'Lines of the range that are in the file.',
  'Audit-Lines-Undecidable':
    'Older lines that name neither mailbox nor approval, with a filter on one of these.',
  Link: 'rel="next" is the next part of a CSV with many rows.',
} as const;
type Header = keyof typeof HEADERS;

const headers = (names: readonly Header[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const isHeader = (name: string): name is Header => name in HEADERS;

function ownHeader(name: string): Header {
  if (!isHeader(name)) throw new Error(`the header ${name} is not described`);
  return name;
}

/** The headers of a route's success. */
export function successHeaders({ rest, effect, etag, idempotency }: Capability): Json {
  return headers([
    'Request-Id',
    'RateLimit-Policy',
    'RateLimit',
    ...(effect === 'write' ? (['Position'] as const) : (['Stale'] as const)),
    ...(idempotency.kind === 'none' ? [] : (['Idempotency-Replayed'] as const)),
    ...(etag ? (['ETag'] as const) : []),
    ...(rest?.location ? (['Location'] as const) : []),
    ...(rest?.headers ?? []).map(ownHeader),
  ]);
}

const ALSO: Readonly<Partial<Record<number, readonly Header[]>>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  429: ['Retry-After', 'RateLimit-Policy', 'RateLimit'],
  503: ['Retry-After'],
};

/** Every status of the error table, as responses that operations refer to. */
const errorResponses = (): Json => {
  const statuses = new Set(Object.values(ERROR_TABLE).map(({ status }) => status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      `Error${String(status)}`,
      {
        description: `An error with status ${String(status)}.`,
        headers: headers(['Request-Id', ...(ALSO[status] ?? [])]),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
};

/** An error of a route. Its codes are in the description that OpenAPI 3.1 allows beside a reference. */
export const errorResponse = (status: number, codes: readonly string[]): Json => ({
  $ref: `#/components/responses/Error${String(status)}`,
  description: codes.join(', '),
});

/** Without the schemas. */
export const COMPONENTS = {
  securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  responses: errorResponses(),
  headers: Object.fromEntries(
    Object.entries(HEADERS).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  ),
};
