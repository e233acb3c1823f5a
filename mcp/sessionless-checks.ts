/**
 * What a request of 2026-07-28 carries: `_meta` says who asks and in which revision, and headers repeat parts of
 * the body, so that a proxy may route by them (MCP streamable HTTP transport, request metadata).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { sentenceOf } from '../commands/kernel/input-issues.ts';
import { isJsonObject } from '../commands/values/json-object.ts';
import { INVALID_PARAMS } from './json-rpc-answers.ts';
import type { Envelope, RequestMessage } from './json-rpc-messages.ts';
import { SESSIONLESS_REVISION } from './protocol-revisions.ts';

const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** Loose: other keys belong to extensions, or to features that this server does not have. */
const RequestMeta = z.looseObject({
  [VERSION_KEY]: z.string(),
  'io.modelcontextprotocol/clientCapabilities': z.looseObject({}),
  'io.modelcontextprotocol/clientInfo': z.looseObject({ name: z.string(), version: z.string() }).optional(),
});

/** A JSON-RPC error with an HTTP status of its own; others are sent with 200. */
export class RefusedRequest extends Error {
  readonly status: 400 | 404;
  readonly code: number;
  readonly data: unknown;

  constructor(status: 400 | 404, code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RefusedRequest';
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

/**
 * True for a body that belongs to this revision: its `_meta` names a version, or the header names this one. An
 * `initialize` without such a `_meta` opens a session, whatever its header.
 */
export function isSessionless(headers: IncomingHttpHeaders, { batch, messages: [first] }: Envelope): boolean {
  const isNamed = headers['mcp-protocol-version'] === SESSIONLESS_REVISION.name;
  if (batch || first === undefined || !('params' in first)) return isNamed;
  const { _meta: meta } = first.params;
  if (isJsonObject(meta) && VERSION_KEY in meta) return true;
  return isNamed && first.method !== 'initialize';
}

/** Throws `RefusedRequest` with 400 unless `_meta` and the headers of a request are complete and agree. */
export function checkSessionless({ method, params }: RequestMessage, headers: IncomingHttpHeaders): void {
  const version = versionIn(params['_meta']);
  checkHeader('MCP-Protocol-Version', headers['mcp-protocol-version'], version);
  if (version !== SESSIONLESS_REVISION.name) {
    throw new RefusedRequest(400, UNSUPPORTED_VERSION, 'Unsupported protocol version', {
      supported: [SESSIONLESS_REVISION.name],
      requested: version,
    });
  }
  checkHeader('Mcp-Method', headers['mcp-method'], method);
  const { name } = params;
  if (method === 'tools/call' && typeof name === 'string')
    checkHeader('Mcp-Name', decoded(headers['mcp-name']), name);
}

function versionIn(meta: unknown): string {
  const parsed = RequestMeta.safeParse(meta, { error: sentenceOf });
  if (parsed.success) return parsed.data[VERSION_KEY];
  const list = parsed.error.issues.map(({ path, message }) => `${['_meta', ...path].join(': ')}: ${message}`);
  throw new RefusedRequest(400, INVALID_PARAMS, `Invalid params: ${list.join('; ')}`);
}

function checkHeader(name: string, sent: string | string[] | undefined | null, expected: string): void {
  if (sent === expected) return;
  const problem = sent === undefined ? 'is missing' : 'differs from the body';
  throw new RefusedRequest(
    400,
    HEADER_MISMATCH,
    `Header mismatch: ${name} ${problem}; expected ${JSON.stringify(expected.slice(0, 64))}.`,
  );
}

/** A value that is not plain ASCII is sent as `=?base64?…?=`; null when that is not base64. */
function decoded(sent: string | string[] | undefined): string | string[] | undefined | null {
  const [, encoded] = typeof sent === 'string' ? (/^=\?base64\?(.*)\?=$/.exec(sent) ?? []) : [];
  if (encoded === undefined) return sent;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : null;
}
