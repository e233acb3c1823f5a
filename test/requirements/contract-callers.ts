import type { RequirementTable } from './requirement.ts';

const MADE = ['create_mailbox', 'create_token', 'create_agent', 'create_grant'] as const;

/** Wire rules, identifiers, callers and what they may do, policy, errors, idempotency: sections 0–3, 8, 13, 14. */
export const contractCallers = {
  'contract:0:snake-case': ['transport', 'Everything on the wire is snake_case.'],
  'contract:0:instants': ['transport', 'Instants are RFC 3339 in UTC with milliseconds.'],
  'contract:0:unknown-fields': [
    'kernel',
    'An unknown field is refused with invalid_request and its path, on both surfaces.',
  ],
  'contract:0:protocol-params-loose': ['transport', 'Unknown members of MCP protocol params are let pass.'],
  'contract:0:created': [MADE, 'A POST that makes a readable resource answers 201 and its Location.'],
  'contract:0:verbs': [['email_act', 'update_mailbox'], 'Verbs, PATCH and PUT answer 200.'],
  'contract:0:deleted': [['delete_token', 'delete_grant'], 'DELETE answers 204 without a body.'],
  'contract:0:mailbox-deleted': ['delete_mailbox', 'DELETE of a mailbox answers 202.'],
  'contract:0:etag': [
    ['get_mailbox', 'get_agent'],
    'Mailboxes and agents carry a strong ETag with their version.',
  ],
  'contract:0:if-match': [
    ['update_mailbox', 'delete_mailbox', 'edit_draft', 'send_draft'],
    'If-Match that names another version: 412; on a write that is held against none: 400.',
  ],
  'contract:0:no-other-etag': ['transport', 'Nothing else has an ETag, the framework adds none.'],
  'contract:0:media-types': ['transport', 'Bodies are application/json, +json, or empty for {}.'],
  'contract:0:rest-only': ['transport', 'Audit, tokens, agents and administration are not on MCP.'],

  'contract:1:random-ids': ['kernel', 'Ids are a prefix and a UUIDv7 as 26 lower-case Crockford characters.'],
  'contract:1:id-from-key': [
    'kernel',
    'With an Idempotency-Key the id is the HMAC of organisation, principal and key.',
  ],
  'contract:1:locator-stable': [
    'kernel',
    'The same message at the same place always has the same id, of at most 56 characters.',
  ],
  'contract:1:merged-threads': ['email_query', 'Merged threads answer under either id.'],
  'contract:1:locator-forged': ['kernel', 'A forged or edited locator is refused without a lookup.'],
  'contract:1:locator-mailbox': [
    'kernel',
    "A locator counts only for its own mailbox, the path's or the argument's.",
  ],
  'contract:1:mailbox-number': [
    'create_mailbox',
    'A mailbox number is reserved by its stream; two mailboxes never share one.',
  ],
  'contract:1:folder-number': ['list_folders', 'A renamed folder keeps its number.'],

  'contract:2:actor-kind': [
    'kernel',
    "The actor kind comes from the credential: a user's token is delegated, an agent's is agent.",
  ],
  'contract:2:token-fields': [
    'create_token',
    'A token has its principal, scopes, mailboxes, surface, expiry, use and status.',
  ],
  'contract:2:token-lifetime': ['create_token', 'An expiry is mandatory: at most a year, 90 days for a JWT.'],
  'contract:2:rest-token-form': [
    'create_token',
    'A REST token is mgw_, a route key, 43 base62 and 6 checksum characters, stored as SHA-256.',
  ],
  'contract:2:route-key': [
    'create_token',
    'REST tokens, session bearers, MCP session ids and links carry a 4-character route key of their organisation.',
  ],
  'contract:0:log-id': [
    'transport',
    'Cursors, Position and checkpoints name their log: of another log they are cursor_invalid, ignored, refused at start.',
  ],
  'contract:1:shared-keys': [
    'kernel',
    'Locator and id keys can be given by file, so that several installations share them.',
  ],
  'contract:1:number-block': [
    'create_mailbox',
    'Mailbox numbers come from the block of the installation, and the 200,000th costs what the first one does.',
  ],
  'contract:2:jwt-form': ['create_token', 'An MCP token is an ES256 JWT with the claims of the contract.'],
  'contract:2:audience-mcp': ['transport', 'MCP takes only a JWT whose aud holds {base_url}/mcp.'],
  'contract:2:audience-rest': [
    'transport',
    'REST takes mgw_, and a JWT only if its aud holds {base_url}/api/v1.',
  ],
  'contract:2:session-binding': [
    'transport',
    'An MCP session stores token, organisation and principal; any difference is 404.',
  ],
  'contract:2:revocation': [
    'kernel',
    'A revocation or grant change holds within a second, or the replica answers 503.',
  ],

  'contract:3:scopes-closed': ['kernel', 'Scopes are a closed list and none implies another.'],
  'contract:3:effective': [
    'kernel',
    'Mailbox scopes are token ∩ cap ∩ grant, organisation scopes token ∩ cap, at each request.',
  ],
  'contract:3:agent-cap': [
    'kernel',
    'An agent holds no more than its owner holds now, on that same mailbox.',
  ],
  'contract:3:roles': ['kernel', 'A role gives the organisation scopes of its row and no mailbox scope.'],
  'contract:3:presets': ['kernel', 'A preset stands for its list of scopes.'],
  'contract:3:creator-grant': [
    'create_mailbox',
    'Creating a mailbox grants its creator every mailbox scope.',
  ],
  'contract:3:grant-folders': ['email_act', 'A grant with folder_roles holds for source and destination.'],
  'contract:3:folder-reach': [
    ['get_operation', 'get_approval', 'preview_approval', 'read_draft', 'list_drafts', 'list_operations'],
    'folder_roles bound what a grant shows of approvals, previews, operations and drafts; not for requester, person behind and approvers.',
  ],
  'contract:3:folder-unknown': [
    ['list_messages', 'email_act', 'get_identity', 'get_folder_roles'],
    'A folder that a grant does not reach answers like an unknown one; identity and folder-roles do not show it.',
  ],
  'contract:3:folder-roles-rights': [
    'set_folder_roles',
    'PUT folder-roles needs folders:manage and mailboxes:grants, and is refused to a grant with folder_roles.',
  ],
  'contract:3:operation-scopes': [
    ['list_operations', 'get_operation', 'email_await'],
    'Operations need approvals:read, or drafts:read (sends) or messages:read (others) on their mailbox.',
  ],
  'contract:3:body-filter': [
    ['email_query', 'email_act'],
    'A filter with body_contains needs messages:body too, and is a recorded read.',
  ],
  'contract:3:grant-expiry': ['create_grant', 'An expired grant gives nothing.'],
  'contract:3:session-only-scopes': [
    'create_token',
    'approvals:decide, policy:manage and audit:disclose are never in a token.',
  ],
  'contract:3:mailboxes-seen': [
    'list_mailboxes',
    'Owners and admins list every mailbox, others those with a grant.',
  ],
  'contract:3:token-within': [
    'create_token',
    'A token makes only tokens within its own scopes, mailboxes, expiry and principal.',
  ],
  'contract:3:no-token-makes-makers': ['create_token', 'A token made by a token never has tokens:manage.'],
  'contract:3:grant-within': ['create_grant', 'A grant given is within what its giver holds there.'],
  'contract:3:foreign-404': [
    'kernel',
    "Another organisation's object, or a mailbox without a grant, answers 404 like an unknown id.",
  ],
  'contract:3:verb-missing': [
    'kernel',
    'A grant without the verb answers 403 insufficient_scope with details.required.',
  ],
  'contract:3:all-needed-first': ['kernel', 'All needed scopes are checked before anything runs.'],
  'contract:3:matrix': [
    'kernel',
    'Every capability answers each role and credential, here and of another organisation, before and after a role change, by the rules.',
  ],

  'contract:8:default': [
    'email_act',
    'The built-in default allows a person all; others flags, move, copy, archive, spam and trash.',
  ],
  'contract:8:strictest': ['email_act', 'Over several actions or messages the strictest decision holds.'],
  'contract:8:names-rule': ['email_act', 'Every decision names its rule and version.'],

  'contract:13:closed-table': [
    'kernel',
    'Codes come from one closed table with status, retryable and channel.',
  ],
  'contract:13:issues': [
    'kernel',
    'Bad input answers details.issues[] of path, code and message, without the values.',
  ],
  'contract:13:request-id': ['transport', 'Every answer carries Request-Id.'],
  'contract:13:retry-503': ['transport', '503 is retryable and says retry_after_seconds.'],
  'contract:13:internal': ['transport', 'Anything unforeseen answers 500 internal_error without its text.'],

  'contract:14:key-form': ['kernel', 'A key is 1–255 visible ASCII characters.'],
  'contract:14:key-scope': ['kernel', 'A key is scoped to organisation and principal.'],
  'contract:14:faces-share': ['kernel', 'The MCP argument idempotency_key and the header are one key.'],
  'contract:14:required': [['email_act', 'copy'], 'email.act (but for a preview) and copy need a key.'],
  'contract:14:accepted': [MADE, 'Every write accepts a key.'],
  'contract:14:claim-first': [
    'kernel',
    'The claim is read after access and parse, before policy and mailbox.',
  ],
  'contract:14:refused-frees': [
    'kernel',
    'What the request or loaded state shows is refused before the claim; the key stays free.',
  ],
  'contract:14:fingerprint': [
    'kernel',
    'The fingerprint is the capability and its canonical input without the key.',
  ],
  'contract:14:reused': ['kernel', 'The same key with another body answers 422 idempotency_key_reused.'],
  'contract:14:in-progress': [
    'kernel',
    'The same key while the first runs answers 409 idempotency_in_progress.',
  ],
  'contract:14:replayed': [
    'kernel',
    'A finished request is replayed with Idempotency-Replayed: true and original_status.',
  ],
  'contract:14:one-winner': ['kernel', 'Of two equal requests at once exactly one runs.'],
  'contract:14:secret-once': ['create_token', 'A replay leaves the secret out and says secret_shown: false.'],
  'contract:14:no-second-effect': ['email_act', 'A retry never repeats an effect that has an intent event.'],
} as const satisfies RequirementTable;
