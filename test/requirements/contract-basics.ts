import type { RequirementTable } from './requirement.ts';

/** What every client of REST and MCP relies on: requests, credentials, sessions, tools and statuses. */
export const contractBasics = {
  'contract:6:acts': ['email_act', 'Move, copy, trash, spam, archive and set flags can be run on messages.'],
  'contract:9:sensitive': ['approval_commit', 'Sensitive operations go through approvals.'],
  'contract:7:verbs': [
    'start_draft',
    'Drafts are started, replied with, edited, patched, discarded and sent.',
  ],
  'contract:3:effective-grants': [
    'kernel',
    'Grants of the token decide what it may use and what identity reports.',
  ],
  'contract:16:endpoint': ['transport', 'MCP is streamable HTTP at {base_url}/mcp; there is no stdio.'],
  'contract:4:reads': [['email_query', 'list_messages'], 'Messages of a mailbox can be read.'],
  'contract:19:rest-base': ['transport', 'REST lives under {base_url}/api/v1.'],
  'contract:0:two-surfaces': ['transport', 'Both surfaces expose the same capabilities.'],

  'contract:9:has-preview': ['preview_approval', 'An approval is a chk_ and has a preview.'],
  'contract:4:attachment-by-id': ['get_attachment', 'An attachment is fetched by id within a mailbox.'],
  'contract:12:read-only': ['get_audit_event', 'An audit event is an evt_ and read-only.'],
  'contract:0:collection': ['transport', 'A collection is {items, page} and nothing around it.'],
  'contract:0:cursor': [
    'transport',
    'page.next_cursor is opaque, forward-only and goes back as the parameter cursor.',
  ],
  'contract:11:delivery': ['replay_delivery', 'A delivery is an obx_ and can be replayed.'],
  'contract:7:content': ['get_draft', 'A draft is a drf_ and has a content of its own.'],
  'contract:17:identity-reports': [
    'get_identity',
    'Identity returns mailbox ids, folder roles, effective tools and limits.',
  ],
  'contract:4:mailbox-parts': [
    'get_mailbox',
    'A mailbox is an mbx_ with folder roles, credentials, a connection test and grants.',
  ],
  'contract:18:mailbox-provider': [
    'start_provider_authorization',
    'A mailbox can be authorised at its provider.',
  ],
  'contract:4:message-filters': ['email_query', 'Messages are filtered by seen and by subject_contains.'],
  'contract:4:message-id-stale': ['email_act', 'The id of a message becomes stale when it moves.'],
  'contract:1:opaque': ['kernel', 'Ids are opaque strings with the prefix of their kind.'],
  'contract:0:request-id': ['transport', 'A request id has the form req_<id>.'],
  'contract:0:single-resource': ['transport', 'A single resource is the body itself, without a wrapper.'],
  'contract:11:webhook-secret': [
    'rotate_webhook_secret',
    'A webhook endpoint is a whk_ with a secret that can be rotated.',
  ],

  'contract:6:status-awaiting-approval': [
    'approval_commit',
    'awaiting_approval: an approval was made and waits for a decision.',
  ],
  'contract:6:status-completed': ['email_act', 'completed: the operation was executed directly.'],
  'contract:6:status-pending-commit': [
    'approval_commit',
    'pending_commit: the operation waits for its commit.',
  ],
  'contract:6:status-preview': ['email_act', 'preview: a preview came back and nothing ran.'],
  'contract:16:session-deleted': ['transport', 'DELETE /mcp ends the session.'],
  'contract:16:session-expired': [
    'transport',
    'After 24 hours without use a session answers 404 session_not_found.',
  ],
  'contract:16:session-made': ['transport', 'initialize makes a session and names it in Mcp-Session-Id.'],
  'contract:16:session-slides': ['transport', 'Every request with the session moves its 24 hours.'],
  'contract:6:status': ['email_act', 'email.act answers with a status to branch on.'],

  'contract:16:accept': ['transport', 'Accept admits application/json and text/event-stream.'],
  'contract:16:bearer': ['transport', 'Every MCP request carries Authorization: Bearer <JWT>.'],
  'contract:16:delete-ends-session': ['transport', 'DELETE /mcp is the way to end a session.'],
  'contract:16:email-query-arguments': [
    'email_query',
    'email_query takes select (mailbox_id, folder, filter, limit) and view.',
  ],
  'contract:16:fresh-tools': [
    'transport',
    'A fresh, fully authorised session advertises the six names, as far as they exist.',
  ],
  'contract:16:get-identity-arguments': ['get_identity', 'get_identity takes an empty object.'],
  'contract:16:initialize': ['transport', 'initialize takes protocolVersion, capabilities and clientInfo.'],
  'contract:16:initialized': ['transport', 'The client may send notifications/initialized.'],
  'contract:16:post': ['transport', 'POST /mcp takes JSON-RPC 2.0 messages.'],
  'contract:16:request-members': ['transport', 'Each request carries jsonrpc 2.0, id and method.'],
  'contract:16:narrow-token': ['transport', 'A narrow token sees fewer tools.'],
  'contract:16:hidden-tools': [
    'transport',
    'Granular tools are hidden, not disabled: callable by name with their scope.',
  ],
  'contract:16:structured-content': [
    'transport',
    'structuredContent is authoritative; the same JSON is a text block unless switched off.',
  ],
  'contract:16:is-error': ['transport', 'isError marks a structured error object.'],
  'contract:16:session-header': ['transport', 'Mcp-Session-Id is required on every later request.'],
  'contract:16:toggle': [
    'settings_toggle_advanced_tools',
    'enabled: true advertises every authorised granular tool for that session.',
  ],
  'contract:16:tools-call': ['transport', 'tools/call takes name and arguments and returns a tool result.'],
  'contract:16:tools-list': ['transport', 'tools/list is filtered by the effective grants of the token.'],
  'contract:16:version-header': ['transport', 'MCP-Protocol-Version is required on every later request.'],

  'contract:2:bearer': ['transport', 'Every MCP and REST request carries a bearer token.'],
  'contract:2:mcp-jwt': ['transport', 'The MCP surface takes a JWT.'],
  'contract:2:shown-once': ['create_token', 'A REST token is shown once, when it is issued.'],
  'contract:2:session-bound': [
    'transport',
    'A session used with another token is unknown: 404 session_not_found.',
  ],
  'contract:3:insufficient-scope': ['kernel', 'A call lacking a scope fails with 403 insufficient_scope.'],
  'contract:18:auth-routes': [
    'transport',
    'Signup, login, logout, sessions, switching, reset, verification, revocation.',
  ],
  'contract:18:no-mfa': ['transport', 'There is no multi-factor route.'],
  'contract:13:http-errors': ['transport', 'Credentials and origin are refused at the HTTP level.'],

  'contract:11:attempts': [
    'list_deliveries',
    'Each attempt at a notification is a record to list, read and replay.',
  ],
  'contract:11:rotate': ['rotate_webhook_secret', 'The secret of an endpoint can be rotated.'],
  'contract:11:test': ['test_webhook_endpoint', 'An endpoint can be sent a test delivery.'],

  'contract:13:body': ['transport', 'error has code, status, message, request_id, retryable and details.'],
  'contract:13:http-channel': [
    'transport',
    'Credentials, origin, protocol headers and rate limits are HTTP statuses.',
  ],
  'contract:13:insufficient-scope': ['kernel', 'insufficient_scope is 403: the token lacks the scope.'],
  'contract:13:json-rpc-channel': [
    'transport',
    'Unknown methods or tools and malformed parameters are JSON-RPC errors.',
  ],
  'contract:13:retry-after': ['transport', 'retry_after_seconds is there only where it applies.'],
  'contract:13:session-not-found': ['transport', 'session_not_found is 404: initialize again.'],
  'contract:13:tool-channel': [
    'transport',
    'Domain errors are successful JSON-RPC answers with isError and an error object.',
  ],

  'contract:16:advertised-six': ['email_requests', 'A full session advertises exactly six tools.'],
  'contract:6:cardinality-bounds': ['email_act', 'cardinality has the integers min and max.'],
  'contract:16:granular-23': ['approval_commit', 'There are exactly 23 hidden granular tools.'],
  'contract:15:rate-limits': [
    'transport',
    'Rate limits answer an HTTP error that may say retry_after_seconds.',
  ],
  'contract:16:session-lifetime': ['transport', 'A session lives 24 hours, sliding.'],

  'contract:16:echo': ['transport', 'The client echoes the negotiated revision in MCP-Protocol-Version.'],
  'contract:17:inventory': ['transport', 'Only routes with a handler exist; planned shapes are left out.'],
  'contract:16:revisions': ['transport', '2025-11-25, 2025-06-18 and 2025-03-26 are accepted.'],
  'contract:16:tasks': ['email_await', 'Tasks exist only under 2025-11-25.'],
} as const satisfies RequirementTable;
