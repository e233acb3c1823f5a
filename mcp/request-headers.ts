/** Requirements on the headers of a request to `/mcp` (MCP streamable HTTP transport; `contract.md` 16). */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../commands/values/errors.ts';
import type { ProtocolRevision } from './protocol-revisions.ts';

export const SESSION_HEADER = 'Mcp-Session-Id';
const VERSION_HEADER = 'MCP-Protocol-Version';

/** Type and subtype in lower case, without parameters. */
const mediaType = (text: string): string => (text.split(';', 1)[0] ?? '').trim().toLowerCase();

/** Throws `unsupported_media_type` unless the body is declared as uncompressed JSON. */
export function checkContentType(headers: IncomingHttpHeaders): void {
  const type = mediaType(headers['content-type'] ?? '');
  const isJson = type === 'application/json' || /^application\/[^/]+\+json$/.test(type);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (isJson && encoding === 'identity') return;
  throw new GatewayError(
    'unsupported_media_type',
    'Send the message as Content-Type: application/json, without Content-Encoding.',
  );
}

const admits = (ranges: readonly string[], type: string): boolean =>
  ranges.includes(type) || ranges.includes(`${type.split('/', 1)[0] ?? ''}/*`) || ranges.includes('*/*');

/** Throws `not_acceptable` unless the client accepts both forms of an answer. */
export function checkAccept({ accept = '' }: IncomingHttpHeaders): void {
  const ranges = accept.split(',').map(mediaType);
  if (admits(ranges, 'application/json') && admits(ranges, 'text/event-stream')) return;
  throw new GatewayError(
    'not_acceptable',
    'Send Accept: application/json, text/event-stream: an answer may be either.',
  );
}

/** The session id, visible ASCII. Throws `invalid_request` without the header; null for a malformed id. */
export function sessionIdOf(headers: IncomingHttpHeaders): string | null {
  const id = headers['mcp-session-id'];
  if (id === undefined) {
    throw new GatewayError(
      'invalid_request',
      `The header ${SESSION_HEADER} is missing: send initialize first, then the id its answer carries.`,
    );
  }
  return typeof id === 'string' && /^[\u0021-\u007e]{1,128}$/.test(id) ? id : null;
}

/** Throws `protocol_version_unsupported` unless the header names the revision, or is optional and absent. */
export function checkVersion(headers: IncomingHttpHeaders, revision: ProtocolRevision): void {
  const sent = headers['mcp-protocol-version'];
  if (sent === revision.name || (sent === undefined && !revision.versionHeaderRequired)) return;
  throw new GatewayError(
    'protocol_version_unsupported',
    `Send ${VERSION_HEADER}: ${revision.name}, the revision this session negotiated.`,
  );
}
