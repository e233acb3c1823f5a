import type { RequirementTable } from './requirement.ts';

const READS = ['email_query', 'list_messages'] as const;

/** Reading mail and acting on it: sections 4, 6, 10. */
export const contractMail = {
  'contract:4:summary': [
    READS,
    'summary holds id, mailbox, folder, thread, from, to, subject, date, flags, keywords, size.',
  ],
  'contract:4:headers': [
    'email_query',
    'headers adds all addresses, references, sent_at and auto_submitted.',
  ],
  'contract:4:full': ['email_query', 'full adds attachments and security.'],
  'contract:4:one-message': ['get_message', 'One message is read by its id, in full, with any include_body.'],
  'contract:4:body-forms': [
    ['get_message', ...READS],
    'include_body is none, preview, text, markdown or html; preview comes without a body.',
  ],
  'contract:4:text-not-given': [
    ['get_message', ...READS],
    'Text the server did not give is fetched again, then body and preview are null with body_error; "" is what the sender wrote.',
  ],
  'contract:4:text-choice': [
    ['get_message', ...READS],
    'A text part with a name is body when it is the root or the first text; a blank alternative does not hide the other.',
  ],
  'contract:4:flowed-text': [
    ['get_message', ...READS],
    'format=flowed is unstuffed and its quote marks removed before lines are joined (RFC 3676 4.5).',
  ],
  'contract:4:undeclared-charset': [
    ['get_message', ...READS],
    'Without a charset: byte order mark, HTML meta, detection; never U+FFFD where a byte can be shown, in headers too.',
  ],
  'contract:4:rare-charsets': [['get_message', ...READS], 'ISO-2022-KR, HZ and UTF-7 are decoded.'],
  'contract:4:text-told': [
    ['get_message', ...READS],
    'warnings tell of a message that could not be parsed, and of text that is from reports or attached messages.',
  ],
  'contract:4:attachment-size': [
    ['get_message', 'email_query', 'download_attachment'],
    'Attachments tell decoded octets, size_exact false until known; downloads carry Content-Length when it is known.',
  ],
  'contract:4:flags-counted': [
    'email_query',
    'Without CONDSTORE a count by flags is asked of the server, or says exact: false.',
  ],
  'contract:4:html-cleaned': [
    ['get_message', ...READS],
    'HTML has no script, style sheet, form, frame, handler or remote resource; cid: is the attachment id; a link shows its host.',
  ],
  'contract:4:hidden-text': [
    ['get_message', ...READS],
    'Text hidden by style is removed and counted in warnings.',
  ],
  'contract:4:small-and-faint': [
    ['get_message', ...READS],
    'Text under 8 px or a contrast of 2 is kept, marked and counted in warnings; of unknown size or colour likewise.',
  ],
  'contract:4:quoted-history': [['get_message', ...READS], 'Quoted history is marked, never removed.'],
  'contract:4:security': [
    'get_message',
    'spf, dkim, dmarc only from the topmost Authentication-Results of a trusted authserv-id, else absent.',
  ],
  'contract:4:first-contact': [
    ['get_message', 'email_query'],
    'first_contact: no earlier message from that address; absent while the index is incomplete.',
  ],
  'contract:4:raw': ['get_raw_message', 'Raw MIME has a route and a scope of its own and is streamed.'],
  'contract:4:attachment': [
    'download_attachment',
    'An attachment is streamed decoded with Content-Disposition attachment, nosniff and a sandbox.',
  ],
  'contract:4:attachment-range': [
    'download_attachment',
    'An attachment answers Range: 206, 416, several as a whole.',
  ],
  'contract:4:attachment-of-mailbox': [
    ['download_attachment', 'get_attachment'],
    "An attachment id belongs to the path's mailbox.",
  ],
  'contract:4:attachment-pieces': [
    'get_attachment',
    'On MCP an attachment comes in pieces of at most 65,536 bytes.',
  ],
  'contract:4:stale-id': [
    ['get_message', 'get_raw_message', 'download_attachment'],
    'Where a route names one message and it moved: 409 message_stale.',
  ],
  'contract:4:stale-current-id': [
    ['get_message', 'get_raw_message', 'download_attachment', 'reply_to_thread'],
    'message_stale names current_id, found through own moves or the Message-ID.',
  ],
  'contract:4:deleted-not-found': [
    ['get_message', 'get_raw_message'],
    'A message that was deleted is not_found.',
  ],
  'contract:4:hostile-mime': [
    ['get_message', 'get_raw_message', 'download_attachment', ...READS],
    'MIME of any kind gets an answer, never a 5xx.',
  ],
  'contract:4:reading-keeps-unseen': [READS, 'Reading never sets \\Seen.'],
  'contract:4:deleted-hidden': [READS, 'Messages marked \\Deleted are not listed.'],
  'contract:4:body-scope': [READS, 'Bodies need messages:body.'],
  'contract:4:body-read-event': [READS, 'Bodies read are one event per request.'],
  'contract:4:body-shape': [READS, 'A body has format, content, truncated, total_chars, next_offset.'],
  'contract:4:body-cut': [READS, 'max_body_chars cuts a body, 32,768 by default and 262,144 at most.'],
  'contract:4:body-offset': ['email_query', 'body_offset goes with exactly one message.'],
  'contract:4:body-limits': [READS, 'With bodies limit is at most 50.'],
  'contract:4:body-bytes': [READS, 'With bodies an answer is at most 4 MiB, the rest is the next page.'],
  'contract:4:folder-words': [READS, 'A listed word is a role, fld_ an id, anything else an exact path.'],
  'contract:4:folder-path-prefix': [READS, 'path: forces an exact path.'],
  'contract:4:folder-absent': [READS, 'Without a folder: inbox on list, all but trash and junk on query.'],
  'contract:4:select-mailbox': [
    'email_query',
    'select.mailbox_id equals that of the path; on MCP it may be absent with one mailbox.',
  ],
  'contract:4:filter-keys': ['email_query', 'Every filter key of the contract answers.'],
  'contract:4:filter-groups': [
    'email_query',
    'any, all and not nest to depth 4 with at most 50 leaves; keys beside each other mean and.',
  ],
  'contract:4:after-before': ['email_query', 'after is inclusive, before exclusive.'],
  'contract:4:folded-matching': [
    'email_query',
    'Text matches decoded, case-folded and without combining marks.',
  ],
  'contract:4:live-narrowing': [
    'email_query',
    'The live path narrows by SEARCH and gives the answer of the one matcher.',
  ],
  'contract:4:live-limit': [
    'email_query',
    'More than 5,000 envelopes to evaluate: 422 filter_unsupported naming the limit.',
  ],
  'contract:4:index-equals-live': [
    'email_query',
    'The index answers what the live path answers, by one predicate.',
  ],
  'contract:4:gmail-one-item': [
    'email_query',
    'Gmail: one X-GM-MSGID is one item across folders; also_in names the others, and is absent on other servers.',
  ],
  'contract:4:gmail-archive': ['email_act', 'Gmail: archive = move to \\All.'],
  'contract:4:index-building': [
    'email_query',
    'Over the limits of the live path: 503 index_building with progress, or 422 where there is no index.',
  ],
  'contract:4:index-never-none': ['email_query', 'An incomplete index never answers "none".'],
  'contract:4:received-order': ['email_query', 'received order is INTERNALDATE, then UID.'],
  'contract:4:server-defined': [
    'email_query',
    'body_contains and header are evaluated by the server, and the page says so.',
  ],
  'contract:4:orders': ['email_query', 'All eight orders answer, received_desc by default.'],
  'contract:4:view-ids': ['email_query', 'ids answers items of {id}.'],
  'contract:4:thread-components': [
    'email_query',
    'Threads are the connected components of References and In-Reply-To: thread_id, view threads and the filter agree.',
  ],
  'contract:4:threads-need-index': [
    'email_query',
    'Without a complete index thread_id is absent; view threads and the thread filter answer 503 index_building.',
  ],
  'contract:4:view-threads': ['email_query', 'threads answers items of {thread_id, message_ids[], latest}.'],
  'contract:4:view-count': ['email_query', 'count answers no items, a count and whether it is exact.'],
  'contract:4:page': [READS, 'page holds next_cursor, limit and as_of; next_cursor is null at the end.'],
  'contract:4:as-of': [READS, 'page.as_of of messages is a wait cursor.'],
  'contract:4:body-bytes-by-id': ['email_query', 'Bodies of messages by id are shortened to 4 MiB together.'],
  'contract:4:cursor-bound': [
    READS,
    'A cursor used with another route, caller, filter or order is cursor_invalid.',
  ],
  'contract:4:page-limits': [READS, 'Pages hold 50, at most 200; on MCP 20 and 100; more is refused.'],
  'contract:4:stale-in-list': [
    'email_act',
    "A stale id in a list is that item's outcome and never followed.",
  ],
  'contract:4:folder': [
    'list_folders',
    'A folder has path, role and its source, parent, total, unseen, selectable.',
  ],
  'contract:4:mailbox': [
    'get_mailbox',
    'A mailbox has its servers, state and reason, roles, capabilities; never credentials.',
  ],
  'contract:4:mailbox-connects': [
    'create_mailbox',
    'A mailbox goes pending, connecting, connected by itself.',
  ],
  'contract:4:mailbox-auth-failed': [
    'create_mailbox',
    'auth_failed follows only a definite refusal; calls then answer 424.',
  ],
  'contract:4:mailbox-connection-failed': [
    'create_mailbox',
    'connection_failed is retried with backoff and recovers by itself; calls answer 503.',
  ],
  'contract:4:mailbox-paused': ['update_mailbox', 'PATCH {paused} pauses and resumes.'],
  'contract:4:mailbox-removed': [
    'delete_mailbox',
    'A removed mailbox is erased after 7 days and can be restored until then.',
  ],
  'contract:4:role-missing': ['email_act', 'No folder for a role: 409 folder_role_missing with the role.'],
  'contract:4:folder-roles': [
    'set_folder_roles',
    'folder-roles maps a role to a folder, creates one, or clears it.',
  ],
  'contract:4:without-move': ['email_act', 'Without MOVE: COPY, \\Deleted and UID EXPUNGE.'],
  'contract:4:without-move-and-uidplus': [
    'email_act',
    'With neither MOVE nor UIDPLUS relocating is 422 operation_unsupported.',
  ],
  'contract:4:uidvalidity': ['email_act', 'After a UIDVALIDITY change the old ids of the folder are stale.'],

  'contract:6:action-types': ['email_act', 'Every action type runs, expunge through its check.'],
  'contract:6:relocating-last': ['email_act', 'At most one relocating action, and last.'],
  'contract:6:ids-limit': ['email_act', 'At most 500 ids; they may span folders but not mailboxes.'],
  'contract:6:foreign-id': ['email_act', 'A foreign id answers 404 and nothing runs.'],
  'contract:6:declarative': [
    'email_act',
    'A declarative select means all matches: limit, cursor, order_by are refused, max is required.',
  ],
  'contract:6:cardinality': [
    'email_act',
    'Outside cardinality: 412 cardinality_violation with the count, and nothing ran.',
  ],
  'contract:6:cardinality-counts': [
    'email_act',
    'Cardinality counts the ids given, a stale one too, or the matches.',
  ],
  'contract:6:resolved-first': [
    'email_act',
    'Selection and connection come before the first append: a 4xx or 503 leaves no operation.',
  ],
  'contract:6:modes': ['email_act', 'execute and the default complete what policy allows.'],
  'contract:6:preview-mode': [
    'email_act',
    'preview answers items and the decision of the policy, and changes nothing.',
  ],
  'contract:6:approval-required': ['email_act', 'Where policy asks for approval: 403 approval_required.'],
  'contract:6:denied': ['email_act', 'Where policy denies: 403 policy_denied.'],
  'contract:6:reply': [
    'email_act',
    'The reply has the status, operation_id, results with outcomes and new ids, and a summary.',
  ],
  'contract:6:completed-with-failures': [
    'email_act',
    'completed says every item has an outcome, even if all failed.',
  ],
  'contract:6:slow-provider': [
    'email_act',
    'After 30 s: 504 provider_timeout with operation_id; the same key returns the outcome.',
  ],
  'contract:6:direct-verbs': [
    ['move', 'copy', 'trash', 'spam', 'archive', 'set_flags'],
    'A direct verb is mode execute.',
  ],

  'contract:10:outcomes': ['email_act', 'Each message is intended first, then done, failed or unknown.'],
  'contract:10:reconciled': [
    'email_act',
    'unknown is settled by looking at source and target, never by repeating.',
  ],
  'contract:10:lease': ['email_act', 'Who runs an operation holds its lease; the run id is in event 0.'],
  'contract:10:cut-off': [
    'email_act',
    'An operation interrupted by a crash is found and reconciled by reading the folders.',
  ],
  'contract:10:never-looked-up': [
    'email_act',
    'What is left open is unknown once its mailbox is removed, or was away for a day: a look or a person settles it.',
  ],
} as const satisfies RequirementTable;
