import type { RequirementTable } from './requirement.ts';

/** The rules of the interface but for its route table, in its order. */
export const interfaceRules = {
  'interface:1:acts': ['email_act', 'Move, copy, trash, spam, archive and set flags can be run on messages.'],
  'interface:1:approvals': ['approval_commit', 'Sensitive operations go through approvals.'],
  'interface:1:drafts': [
    'start_draft',
    'Drafts are started, replied with, edited, patched, discarded and sent.',
  ],
  'interface:1:effective-grants': [
    'kernel',
    'Grants of the token decide what it may use and what identity reports.',
  ],
  'interface:1:mcp-endpoint': ['transport', 'MCP is streamable HTTP at {base_url}/mcp; there is no stdio.'],
  'interface:1:reads': [['email_query', 'list_messages'], 'Messages of a mailbox can be read.'],
  'interface:1:rest-base': ['transport', 'REST lives under {base_url}/api/v1.'],
  'interface:1:two-surfaces': ['transport', 'Both surfaces expose the same capabilities.'],

  'interface:2:approval-preview': ['get_approval_preview', 'An approval is a chk_ and has a preview.'],
  'interface:2:attachment': ['get_attachment', 'An attachment is fetched by id within a mailbox.'],
  'interface:2:audit-event': ['get_audit_event', 'An audit event is an evt_ and read-only.'],
  'interface:2:collection': ['transport', 'A collection is {items, page} and nothing around it.'],
  'interface:2:cursor': [
    'transport',
    'page.next_cursor is opaque, forward-only and goes back as the parameter cursor.',
  ],
  'interface:2:delivery': ['replay_delivery', 'A delivery is an obx_ and can be replayed.'],
  'interface:2:draft-content': ['get_draft', 'A draft is a drf_ and has a content of its own.'],
  'interface:2:identity': [
    'get_identity',
    'Identity tells mailbox ids, folder roles, effective tools and limits.',
  ],
  'interface:2:mailbox': [
    'get_mailbox',
    'A mailbox is an mbx_ with folder roles, credentials, a connection test and grants.',
  ],
  'interface:2:mailbox-provider': [
    'start_provider_authorization',
    'A mailbox can be authorised at its provider.',
  ],
  'interface:2:message-filters': ['email_query', 'Messages are filtered by seen and by subject_contains.'],
  'interface:2:message-id-stale': ['email_act', 'The id of a message becomes stale when it moves.'],
  'interface:2:opaque-ids': ['kernel', 'Ids are opaque strings with the prefix of their kind.'],
  'interface:2:request-id': ['transport', 'A request id has the form req_<id>.'],
  'interface:2:single-resource': ['transport', 'A single resource is the body itself, without a wrapper.'],
  'interface:2:webhook-secret': [
    'rotate_webhook_secret',
    'A webhook endpoint is a whk_ with a secret that can be rotated.',
  ],

  'interface:3:awaiting-approval': [
    'approval_commit',
    'awaiting_approval: an approval was made and waits for a decision.',
  ],
  'interface:3:completed': ['email_act', 'completed: the operation was executed directly.'],
  'interface:3:pending-commit': ['approval_commit', 'pending_commit: the operation waits for its commit.'],
  'interface:3:preview': ['email_act', 'preview: a preview came back and nothing ran.'],
  'interface:3:session-deleted': ['transport', 'DELETE /mcp ends the session.'],
  'interface:3:session-expired': [
    'transport',
    'After 24 hours without use a session answers 404 session_not_found.',
  ],
  'interface:3:session-made': ['transport', 'initialize makes a session and names it in Mcp-Session-Id.'],
  'interface:3:session-slides': ['transport', 'Every request with the session moves its 24 hours.'],
  'interface:3:status': ['email_act', 'email.act answers with a status to branch on.'],

  'interface:4.1:accept': ['transport', 'Accept admits application/json and text/event-stream.'],
  'interface:4.1:bearer': ['transport', 'Every MCP request carries Authorization: Bearer <JWT>.'],
  'interface:4.1:delete': ['transport', 'DELETE /mcp is the way to end a session.'],
  'interface:4.1:email-query-arguments': [
    'email_query',
    'email_query takes select (mailbox_id, folder, filter, limit) and view.',
  ],
  'interface:4.1:fresh-tools': [
    'transport',
    'A fresh, fully authorised session advertises the six names, as far as they exist.',
  ],
  'interface:4.1:get-identity-arguments': ['get_identity', 'get_identity takes an empty object.'],
  'interface:4.1:initialize': ['transport', 'initialize takes protocolVersion, capabilities and clientInfo.'],
  'interface:4.1:initialized': ['transport', 'The client may send notifications/initialized.'],
  'interface:4.1:post': ['transport', 'POST /mcp takes JSON-RPC 2.0 messages.'],
  'interface:4.1:request-members': ['transport', 'Each request carries jsonrpc 2.0, id and method.'],
  'interface:4.1:rule-1': ['transport', 'A narrow token sees fewer tools.'],
  'interface:4.1:rule-2': [
    'transport',
    'Granular tools are hidden, not disabled: callable by name with their scope.',
  ],
  'interface:4.1:rule-3': [
    'transport',
    'structuredContent is authoritative; the same JSON is a text block unless switched off.',
  ],
  'interface:4.1:rule-4': ['transport', 'isError marks a structured error object.'],
  'interface:4.1:session-header': ['transport', 'Mcp-Session-Id is required on every later request.'],
  'interface:4.1:toggle': [
    'settings_toggle_advanced_tools',
    'enabled: true advertises every authorised granular tool for that session.',
  ],
  'interface:4.1:tools-call': ['transport', 'tools/call takes name and arguments and returns a tool result.'],
  'interface:4.1:tools-list': ['transport', 'tools/list is filtered by the effective grants of the token.'],
  'interface:4.1:version-header': ['transport', 'MCP-Protocol-Version is required on every later request.'],

  'interface:5:1-bearer': ['transport', 'Every MCP and REST request carries a bearer token.'],
  'interface:5:1-jwt': ['transport', 'The MCP surface takes a JWT.'],
  'interface:5:1-shown-once': ['create_token', 'A REST token is shown once, when it is issued.'],
  'interface:5:2-session-bound': [
    'transport',
    'A session used with another token is unknown: 404 session_not_found.',
  ],
  'interface:5:3-insufficient-scope': ['kernel', 'A call lacking a scope fails with 403 insufficient_scope.'],
  'interface:5:4-auth-routes': [
    'login',
    'Signup, login, logout, sessions, switching, reset, verification, revocation.',
  ],
  'interface:5:4-no-mfa': ['login', 'There is no multi-factor route.'],
  'interface:5:5-http-errors': ['transport', 'Credentials and origin are refused at the HTTP level.'],

  'interface:6:attempts': [
    'list_deliveries',
    'Each attempt at a notification is a record to list, read and replay.',
  ],
  'interface:6:rotate': ['rotate_webhook_secret', 'The secret of an endpoint can be rotated.'],
  'interface:6:test': ['test_webhook_endpoint', 'An endpoint can be sent a test delivery.'],

  'interface:7:body': ['transport', 'error has code, status, message, request_id, retryable and details.'],
  'interface:7:http-channel': [
    'transport',
    'Credentials, origin, protocol headers and rate limits are HTTP statuses.',
  ],
  'interface:7:insufficient-scope': ['kernel', 'insufficient_scope is 403: the token lacks the scope.'],
  'interface:7:json-rpc-channel': [
    'transport',
    'Unknown methods or tools and malformed parameters are JSON-RPC errors.',
  ],
  'interface:7:retry-after': ['transport', 'retry_after_seconds is there only where it applies.'],
  'interface:7:session-not-found': ['transport', 'session_not_found is 404: initialize again.'],
  'interface:7:tool-channel': [
    'transport',
    'Domain errors are successful JSON-RPC answers with isError and an error object.',
  ],

  'interface:8:advertised-six': ['email_requests', 'A full session advertises exactly six tools.'],
  'interface:8:cardinality': ['email_act', 'cardinality has the integers min and max.'],
  'interface:8:granular-23': ['approval_commit', 'There are exactly 23 hidden granular tools.'],
  'interface:8:rate-limits': [
    'transport',
    'Rate limits answer an HTTP error that may say retry_after_seconds.',
  ],
  'interface:8:session-lifetime': ['transport', 'A session lives 24 hours, sliding.'],

  'interface:9:echo': ['transport', 'The client echoes the negotiated revision in MCP-Protocol-Version.'],
  'interface:9:inventory': ['transport', 'Only routes with a handler exist; planned shapes are left out.'],
  'interface:9:revisions': ['transport', '2025-11-25, 2025-06-18 and 2025-03-26 are accepted.'],
  'interface:9:tasks': ['email_await', 'Tasks exist only under 2025-11-25.'],
} as const satisfies RequirementTable;
