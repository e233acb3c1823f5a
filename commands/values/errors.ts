/**
 * The closed table of all refusals and failures of the gateway.
 * Handlers throw a `GatewayError` by code; only the adapters turn a code into an HTTP status or a tool
 * result.
 */

/** How an MCP client receives the error: as an HTTP status, as a JSON-RPC error, or as a tool result. */
type ErrorChannel = 'http' | 'json-rpc' | 'tool';

interface ErrorRow {
  /** HTTP status on REST, and on MCP where `channel` is `http`. */
  readonly status: number;
  readonly retryable: boolean;
  readonly channel: ErrorChannel;
  /**
   * True when the error does not settle a claimed key: the same request runs again, from where it ended. Else
   * the error is recorded and replayed. A refusal before the claim leaves the key free, whatever its code.
   */
  readonly keyFree: boolean;
  readonly meaning: string;
}

const row = (
  status: number,
  channel: ErrorChannel,
  meaning: string,
  options: { retryable?: boolean; keyFree?: boolean } = {},
): ErrorRow => ({
  status,
  channel,
  meaning,
  retryable: options.retryable ?? false,
  keyFree: options.keyFree ?? options.retryable ?? false,
});

const retryable = { retryable: true };
const keyFree = { keyFree: true };

export const ERROR_TABLE = {
  invalid_request: row(
    400,
    'tool',
    'The request does not have the expected shape; details.issues says where.',
  ),
  cursor_invalid: row(
    400,
    'tool',
    'The cursor belongs to another query or was edited; start again without it.',
  ),
  idempotency_key_required: row(400, 'tool', 'This write needs an Idempotency-Key.'),
  protocol_version_unsupported: row(
    400,
    'http',
    'The MCP-Protocol-Version header is missing or not the negotiated one.',
  ),
  unauthenticated: row(401, 'http', 'No valid bearer token was sent.'),
  token_expired: row(401, 'http', 'The token has expired.'),
  token_revoked: row(401, 'http', 'The token was revoked.'),
  invalid_credentials: row(401, 'http', 'The sign-in was refused.'),
  insufficient_scope: row(
    403,
    'http',
    'The caller lacks a scope; details.required names it, of several details.match says whether any or all.',
  ),
  policy_denied: row(403, 'tool', "The organisation's policy denies this; details name the rule."),
  approval_required: row(403, 'tool', "The organisation's policy requires a person's approval first."),
  not_an_approver: row(403, 'tool', 'The caller may not decide this approval.'),
  self_approval_forbidden: row(403, 'tool', 'Another person than the requester has to decide.'),
  step_up_required: row(403, 'tool', 'The session must confirm its password first.'),
  email_unverified: row(403, 'tool', 'The account has not verified its e-mail address.'),
  recipient_not_allowed: row(403, 'tool', 'A recipient is not allowed for this caller.'),
  origin_not_allowed: row(403, 'http', 'The Origin header is not on the allow-list.'),
  not_found: row(404, 'tool', 'There is no such object, or the caller may not see it.'),
  session_not_found: row(
    404,
    'http',
    'The MCP session is unknown, expired or of another token; initialize again.',
  ),
  method_not_allowed: row(405, 'http', 'The path exists, the method does not; see the Allow header.'),
  not_acceptable: row(406, 'http', 'The Accept header must admit application/json and text/event-stream.'),
  request_timeout: row(408, 'http', 'The request did not arrive in time; send it again.', retryable),
  message_stale: row(409, 'tool', 'The message moved; details.current_id names it when known.'),
  draft_locked: row(409, 'tool', 'The draft is being sent or was ended.'),
  approval_pending: row(409, 'tool', 'A live approval holds this object.'),
  approval_not_pending: row(409, 'tool', 'The approval has been decided already.'),
  approval_rejected: row(409, 'tool', 'The approval requested with this key was rejected; nothing ran.'),
  approval_cancelled: row(409, 'tool', 'The approval requested with this key was withdrawn; nothing ran.'),
  approval_expired: row(409, 'tool', 'The approval has expired.'),
  approval_superseded: row(
    409,
    'tool',
    'The draft was edited after an approval was requested with this key; nothing ran.',
  ),
  approval_invalidated: row(409, 'tool', 'What was approved no longer exists as approved.'),
  idempotency_in_progress: row(
    409,
    'tool',
    'The first request with this key is still running; try again.',
    retryable,
  ),
  endpoint_disabled: row(409, 'tool', 'The webhook endpoint is disabled.'),
  folder_role_missing: row(409, 'tool', 'The mailbox has no folder for a role; map or create one.'),
  no_eligible_approver: row(409, 'tool', 'No person may decide such an approval.'),
  legal_hold: row(
    409,
    'tool',
    'A legal hold forbids it; details.holds names those the caller may see.',
    keyFree,
  ),
  last_owner: row(409, 'tool', 'The last owner of an organisation cannot leave.'),
  conflict: row(409, 'tool', 'The object is not in a state that allows this.'),
  cursor_expired: row(410, 'tool', 'The cursor is too old; start again without it.'),
  version_conflict: row(412, 'tool', 'The object changed since the version named; read it again.'),
  cardinality_violation: row(412, 'tool', 'The selection does not have the requested size; nothing ran.'),
  selection_changed: row(412, 'tool', 'The selection changed since it was approved; nothing ran.'),
  payload_too_large: row(413, 'http', 'The body is larger than the limit.'),
  unsupported_media_type: row(415, 'http', 'The body must be application/json.'),
  range_not_satisfiable: row(
    416,
    'http',
    'The content has no such bytes; Content-Range says how many it has.',
  ),
  filter_unsupported: row(
    422,
    'tool',
    'This mailbox cannot answer the filter truthfully; details name the limit.',
  ),
  operation_unsupported: row(422, 'tool', "The mailbox's server cannot do this safely."),
  idempotency_key_reused: row(422, 'tool', 'The Idempotency-Key was used for another body.'),
  target_blocked: row(422, 'tool', 'The host is not a public address and no egress rule opens it.'),
  mailbox_auth_failed: row(
    424,
    'tool',
    'The mail server refuses the stored credentials; store new ones.',
    keyFree,
  ),
  header_fields_too_large: row(431, 'http', 'The header fields are larger than the limit.'),
  rate_limited: row(429, 'http', 'Too many requests; wait retry_after_seconds.', retryable),
  quota_exceeded: row(429, 'tool', 'A quota is used up; wait retry_after_seconds.', retryable),
  internal_error: row(500, 'tool', 'The gateway failed; quote the request id.', keyFree),
  provider_rejected: row(502, 'tool', 'The mail server refused the command.'),
  outcome_unknown: row(
    502,
    'tool',
    'It is not known yet whether the effect happened; it is being reconciled.',
    keyFree,
  ),
  mailbox_unavailable: row(503, 'tool', 'The mail server cannot be reached.', retryable),
  store_unavailable: row(503, 'tool', 'The event store or database cannot be reached.', retryable),
  index_building: row(503, 'tool', 'The index is not complete enough yet to answer.', retryable),
  seal_behind: row(503, 'tool', 'The lines of the audit trail are not sealed yet.', retryable),
  overloaded: row(503, 'tool', 'The gateway is busy or starting.', retryable),
  provider_timeout: row(
    504,
    'tool',
    'The mail server is slow; the operation continues under the same key.',
    retryable,
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** The default for errors without their own value. */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<number, number>>> = { 408: 1, 503: 2 };

interface ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
  /** The recorded outcome of an earlier request with the same Idempotency-Key. */
  readonly replayed?: boolean;
}

/**
 * A refusal or failure with a code of the table. Callers receive `message` and `details`: never put secrets
 * there.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;
  readonly replayed: boolean;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.details = options.details ?? {};
    this.replayed = options.replayed ?? false;
    // Every retryable error has a retry time (`contract.md` 13).
    this.retryAfterSeconds = options.retryAfterSeconds ?? RETRY_AFTER_SECONDS[ERROR_TABLE[code].status];
  }
}

/** The `error` object of `contract.md` 13, the same in every adapter. */
export interface ErrorBody {
  code: ErrorCode;
  status: number;
  message: string;
  request_id: string;
  retryable: boolean;
  retry_after_seconds?: number;
  details: Readonly<Record<string, unknown>>;
}

/**
 * The wire form of an error. An error that is not a `GatewayError` becomes `internal_error` without its text.
 */
export function toErrorBody(error: unknown, requestId: string): ErrorBody {
  const known =
    error instanceof GatewayError
      ? error
      : new GatewayError('internal_error', 'Something failed inside the gateway; quote the request id.');
  const { status, retryable: mayRetry } = ERROR_TABLE[known.code];
  return {
    code: known.code,
    status,
    message: known.message,
    request_id: requestId,
    retryable: mayRetry,
    ...(known.retryAfterSeconds === undefined ? {} : { retry_after_seconds: known.retryAfterSeconds }),
    details: known.details,
  };
}

/** The same answer for unknown, foreign and invisible objects. */
export const notFound = (what: string): GatewayError =>
  new GatewayError('not_found', `There is no such ${what}, or you may not see it.`);

/** `invalid_request` about one field of the input. */
export const invalidField = (path: string, message: string, code = 'custom'): GatewayError =>
  new GatewayError('invalid_request', message, { details: { issues: [{ path, code, message }] } });
