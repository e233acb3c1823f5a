import type { RequirementTable } from './requirement.ts';

const AUDIT = ['list_audit_events'] as const;
const VERBS = ['trash', 'spam', 'archive'] as const;

/** Audit, limits, MCP, payloads and operation: sections 12, 15–18. */
export const contractSurfaces = {
  'contract:12:line': [
    AUDIT,
    'An audit line has actor, surface, request, resource, action, outcome and position.',
  ],
  'contract:12:raw-read-event': ['get_raw_message', 'A read of raw MIME is an event.'],
  'contract:12:attachment-read-event': [
    ['download_attachment', 'get_attachment'],
    'A read of an attachment is an event that names it.',
  ],
  'contract:12:own-org': [
    AUDIT,
    'A caller pages the events of its own organisation, newest first, or order=asc.',
  ],
  'contract:12:filters': [AUDIT, 'Filters: time, actor, type, resource, mailbox, outcome, request id.'],
  'contract:12:denials': [AUDIT, '401 of a known token, 403, 404, 409, 412, 422, 424 are events, one each.'],
  'contract:12:denials-counted': [AUDIT, 'Above 60 a minute per token refusals are counted.'],
  'contract:12:not-recorded': [AUDIT, '400, 405, 406, 413, 415 are not recorded.'],
  'contract:12:unauthenticated-counted': [
    AUDIT,
    'Unauthenticated refusals and 429s are counted per minute and source.',
  ],
  'contract:12:sources-sealed': [
    AUDIT,
    'Where refused requests of unknown callers came from is sealed for the day, and erased after a month.',
  ],
  'contract:12:body-reads': [AUDIT, 'Reads of bodies are events before they are answered.'],
  'contract:12:store-down': [
    AUDIT,
    'With the store down reads of bodies answer 503, refusals are still answered.',
  ],
  'contract:12:no-verifier': [
    AUDIT,
    'No line shows what a secret is checked by, whichever version stored it.',
  ],
  'contract:12:data-of-mailbox': [
    AUDIT,
    'data of a line about a mailbox is shown to owner, admin and auditor, and to a token for some mailboxes in those.',
  ],
  'contract:12:export': [
    'export_audit',
    'An export has sealed lines only, waits five seconds for them, is a line of the trail itself, and verifies offline.',
  ],
  'contract:12:export-disclose': [
    'export_audit',
    'Sealed texts stay sealed, open as in lists, or all of them open for an owner who is stepped up and gives a reason, which is recorded.',
  ],
  'contract:12:export-resume': [
    'export_audit',
    'The one who began an export gets the rest of it byte for byte, or 412 where it would differ.',
  ],
  'contract:12:export-command': [
    'export_audit',
    'npm run export writes any trail into a file, and continues a file that was interrupted.',
  ],
  'contract:12:export-slow': [
    'export_audit',
    'An export is read from the database as fast as its reader takes it, and ends when the reader is gone.',
  ],
  'contract:12:export-guess': [
    'export_audit',
    'Nobody can guess an address from an export that does not open it, knowing the salts of its lines.',
  ],
  'contract:12:evidence': [
    'get_approval_evidence',
    'Evidence of an approval has its lines and what it is about, and verifies offline; where a part was altered it does not.',
  ],
  'contract:12:evidence-access': [
    'get_approval_evidence',
    'Evidence is for who requested the approval or may decide it, and for audit:export; contents only for who may see them.',
  ],
  'contract:12:evidence-page': [
    'get_approval_evidence',
    'The page of evidence has the same file inside, and nothing that runs or loads, whatever mails say.',
  ],
  'contract:12:export-older': [
    'export_audit',
    'Events of any age are exported as they were stored; a filter that older lines cannot prove is told as what it is.',
  ],
  'contract:12:csv': [
    'export_audit',
    'A CSV is RFC 4180 with CRLF, and no cell of it is taken for a formula.',
  ],
  'contract:12:export-modes': [
    'export_audit',
    'A file shows every line of its range, bodies as far as its reader may see them; a filter shows the others without body, or covers them.',
  ],
  'contract:12:withheld': [
    AUDIT,
    'Texts of a mailbox are shown to who may read it, to the author of the line, and to who voted or may decide; others get null, and where.',
  ],
  'contract:12:draft-reads': [
    ['upload_attachment', 'read_draft_content', 'get_draft', 'start_draft'],
    'Uploads, reads of draft content and attachments taken out of received mail are lines, with the ids of the messages.',
  ],
  'contract:12:clear-text': [
    AUDIT,
    'Message-IDs, threading and attachment hashes are sealed in events; older events hold them as before.',
  ],
  'contract:12:nothing-of-mail': [
    AUDIT,
    'No event contains a Message-ID, address, subject or text of a mail, in clear or as a plain hash, nor what a mail server said of it.',
  ],
  'contract:12:seal': [
    AUDIT,
    'A leaf is SHA-256(0x00 | public line | SHA-256(salt | data)); checkpoints are signed over the tree.',
  ],
  'contract:17:audit-checkpoints': [
    ['list_checkpoints', 'get_checkpoint', 'seal_checkpoint'],
    'Checkpoints of the trail are listed and read, as a signed note too, and made on demand: 200 where nothing new was there.',
  ],
  'contract:17:audit-proofs': [
    ['get_audit_proof', 'get_checkpoint_consistency', 'list_audit_keys'],
    'The proof of a line, the proof between two sizes (from > to is 400), and the public keys.',
  ],
  'contract:17:audit-anchors': [
    'list_audit_anchors',
    'With AUDIT_ANCHOR_DIR the newest checkpoint of each trail is stored as a file each hour, which is a line; what is stored is listed.',
  ],
  'contract:12:seal-crash': [
    AUDIT,
    'A process that dies between two steps of sealing leaves no second note of a size, and nothing is told twice.',
  ],
  'contract:12:key-rotation': [
    'list_audit_keys',
    'A signing key is replaced by one that it introduces: files are proven with the old key alone, whenever the process dies meanwhile.',
  ],
  'contract:12:key-revocation': [
    'list_audit_keys',
    'A revoked key signs nothing more, its revocation is a line, and another key signs in its place.',
  ],
  'contract:17:audit-verifications': [
    ['verify_audit', 'get_audit_verification'],
    'A verification is asked for with 202 and the size, and its outcome is a line and can be read.',
  ],
  'contract:12:verified': [
    AUDIT,
    'Once a day and on demand every trail is computed again from the log and compared with all its checkpoints and the read model.',
  ],
  'contract:12:seal-broken': [
    AUDIT,
    'A trail that differs from what was signed is told in the log, shown in health, and not signed until an operator begins a new epoch.',
  ],
  'contract:12:every-event': [
    AUDIT,
    'Every stored event has its line and its number, also one that no reader knows or can read.',
  ],
  'contract:12:salt': [AUDIT, 'Every event carries 16 random bytes as its salt; a resent append keeps them.'],
  'contract:12:approval-lines': [
    AUDIT,
    'Every event of an approval names it, and its mailbox, in the envelope.',
  ],
  'contract:12:sealed-v2': [
    AUDIT,
    'A sealed text commits to what it says, under a salt that is only in its box; older ones open as before.',
  ],
  'contract:12:sealed': [
    AUDIT,
    'Names, addresses and agents are sealed: erasing the key erases the person, not the trail.',
  ],

  'contract:15:rates': ['transport', '600 reads and 120 writes a minute per token, 20 at once; beyond: 429.'],
  'contract:15:headers': ['transport', 'RateLimit-Policy, RateLimit and Retry-After tell the limit.'],
  'contract:15:body-size': ['transport', 'A JSON body is at most 1 MiB, else 413.'],
  'contract:15:connections': ['kernel', 'A mailbox has at most 4 connections to its server.'],
  'contract:15:mcp-result': [
    'transport',
    'An MCP result is at most 96 KiB, shortened by whole items, then by body.',
  ],
  'contract:15:shown': ['get_identity', 'Identity shows the limits.'],

  'contract:16:advertised-scopes': [
    'transport',
    'identity and toggle are always advertised, the others with their scopes.',
  ],
  'contract:16:granular-names': [
    'transport',
    'A granular tool is named as the last segment of its route; list_folders is the exception.',
  ],
  'contract:16:granular-listed': [
    'transport',
    'Granular tools are listed when switched on for the session and in scope.',
  ],
  'contract:16:out-of-scope': ['transport', 'A tool out of scope answers HTTP 403, with WWW-Authenticate.'],
  'contract:16:argument-errors': [
    'transport',
    'Arguments that break a schema are isError with invalid_request from 2025-11-25 on, −32602 before; tasks keep −32602.',
  ],
  'contract:4:origin': [
    'email_query',
    'Every item with text of a mail says origin: external, and security.first_contact where the index knows.',
  ],
  'contract:4:select-type': [
    'email_query',
    'select.type reaches folders, drafts and attachments, each by its own scope and as a collection.',
  ],
  'contract:16:strict-schemas': [
    'transport',
    'Input schemas compile in a strict JSON Schema 2020-12 validator; every constant has its type.',
  ],
  'contract:16:cancelled': [
    'transport',
    'notifications/cancelled ends the call on whatever replica holds it and frees its place; a write runs to its outcome.',
  ],
  'contract:16:unknown-tool': ['transport', 'An unknown tool answers −32602.'],
  'contract:16:tool-description': [
    'transport',
    'A tool has title, description, input and output schema, annotations.',
  ],
  'contract:16:http-statuses': ['transport', '405 for GET, 406, 413, 415, 400 for headers and version.'],
  'contract:16:json-rpc-codes': ['transport', '−32700, −32600 (also for a null id), −32601, −32602, −32603.'],
  'contract:16:error-schema': ['transport', 'Every output schema admits the error object.'],
  'contract:16:text-block-off': ['transport', 'MCP_TEXT_BLOCK=off answers content: [].'],
  'contract:16:accept-on-post': ['transport', 'Accept is enforced on POST only.'],
  'contract:16:old-revision': [
    'transport',
    'A 2025-03-26 session may omit the version header and post batches of up to 100.',
  ],
  'contract:16:batch-scope': ['transport', "A scope failure inside a batch is that item's isError."],
  'contract:16:list-changed': [
    'settings_toggle_advanced_tools',
    'list_changed goes out as SSE on the answer of the toggling POST.',
  ],
  'contract:16:delete': ['transport', 'DELETE answers 204.'],
  'contract:16:session-count': [
    'transport',
    'At most 500 sessions per token; the next ends the one unused longest.',
  ],
  'contract:16:other-revisions-ignore-task': [
    'transport',
    'Where there are no tasks the member task is ignored.',
  ],
  'contract:16:origin': [
    'transport',
    'A present Origin is the own or a listed one, else 403, null too, on both surfaces.',
  ],
  'contract:16:sessionless-off': [
    'transport',
    '2026-07-28 exists only with MCP_2026=on; initialize never offers it and always opens a session.',
  ],
  'contract:16:sessionless-headers': [
    'transport',
    'Without a session _meta has version and capabilities, and MCP-Protocol-Version, Mcp-Method and Mcp-Name repeat the body.',
  ],
  'contract:16:sessionless-errors': [
    'transport',
    'Errors without a session are JSON-RPC errors with the id; 400 for headers and _meta, 404 for an unknown method.',
  ],
  'contract:16:sessionless-results': [
    'transport',
    'Results without a session have resultType and serverInfo; discover and list have ttlMs and cacheScope private.',
  ],
  'contract:16:sessionless-tools': [
    'transport',
    'Without a session all tools in scope are listed, the switch is not; the list varies by rights only.',
  ],
  'contract:16:sessionless-writes': [
    'transport',
    'Without a session reads wait for the writes of their token.',
  ],
  'contract:16:sessionless-cancel': [
    'transport',
    'Without a session a disconnect ends the call and frees its place; a write runs to its outcome.',
  ],
  'contract:16:cors': ['transport', 'CORS for the same list, exposing the headers a client needs.'],

  'contract:17:identity': ['get_identity', 'The payload of GET /identity.'],
  'contract:17:messages': ['list_messages', 'The parameters of GET …/messages.'],
  'contract:17:email-query': ['email_query', 'The body of email.query.'],
  'contract:17:email-act': ['email_act', 'The body of email.act.'],
  'contract:17:move-copy': [['move', 'copy'], 'move and copy take message_ids, folder, cardinality.'],
  'contract:17:trash-spam-archive': [VERBS, 'trash, spam and archive take message_ids and cardinality.'],
  'contract:17:set-flags': ['set_flags', 'set_flags takes message_ids, the three flags and keywords.'],
  'contract:17:list-folders': ['list_folders', 'folders/list answers a collection of folders.'],
  'contract:17:create-mailbox': [
    'create_mailbox',
    'POST /mailboxes answers at once and connects in the background.',
  ],
  'contract:17:update-mailbox': [
    'update_mailbox',
    'A change of host, port or security needs auth, else 400.',
  ],
  'contract:17:credentials': ['put_mailbox_credentials', 'Credentials are replaced, never readable; 204.'],
  'contract:17:connection-tests': [
    'test_mailbox_connection',
    'Stored credentials are tried only at the host and port they were stored with.',
  ],
  'contract:17:folder-roles': [
    ['set_folder_roles', 'get_folder_roles'],
    'GET and PUT folder-roles take and answer a bare map.',
  ],
  'contract:17:grants': [
    ['create_grant', 'list_grants', 'update_grant', 'delete_grant'],
    'Grants: scopes or preset, folder roles, expiry; read, changed, removed.',
  ],
  'contract:17:tokens': [
    ['create_token', 'list_tokens', 'get_token', 'delete_token'],
    'Tokens: made with the secret in the answer, listed without, removed.',
  ],
  'contract:17:agents': [
    ['create_agent', 'list_agents', 'get_agent'],
    'Agents: made with name and owner, listed, read.',
  ],
  'contract:17:audit': [AUDIT, 'The parameters of GET /audit, and one event by its id.'],

  'contract:17:openapi': ['transport', 'openapi.json is made from the registry and needs no token.'],

  'contract:18:public-routes': ['transport', 'Health needs no bearer; everything else that exists does.'],
  'contract:18:egress': [
    'create_mailbox',
    'Mail hosts are public addresses on mail ports unless EGRESS_ALLOW_MAIL opens them: target_blocked.',
  ],
  'contract:20:metrics-port': [
    'transport',
    'Prometheus is on METRICS_PORT, by default of the loopback, and nothing else is.',
  ],
} as const satisfies RequirementTable;
