import type { RequirementTable } from './requirement.ts';

/** What policy decides, and operations that are read and settled: sections 2, 3, 6, 8, 10. */
export const contractPolicy = {
  'contract:2:delegated-policy': ['email_act', 'Policy judges delegated like agent unless a rule names it.'],
  'contract:8:first-match': ['email_act', 'Without a deny the first rule that matches decides.'],
  'contract:8:deny-wins': ['email_act', 'Any matching deny wins.'],
  'contract:8:own-default': ['email_act', 'Where no rule matches the default decides.'],
  'contract:8:versions': [
    'email_act',
    'A policy is an event; versions count from 1 and the same one adds none.',
  ],
  'contract:8:undo-range': [
    'email_act',
    'allow and require take undo_seconds from 0 to 3600; the longest of any part of a request holds.',
  ],
  'contract:8:default-terms': [
    'email_act',
    'An approval requires one approver, a decision within 24 h and a commit within 1 h, where no rule says otherwise.',
  ],
  'contract:8:auto-commit': [
    'email_act',
    "A rule's auto_commit beats that of the mode; by itself runs only execute_or_request_approval.",
  ],
  'contract:17:as-of': [
    ['read_draft', 'list_grants', 'get_policy', 'get_approval'],
    '?as_of= folds up to occurred_at <= as_of; authorisation is of today; a time to come is refused.',
  ],
  'contract:3:grant-quotas': [
    ['create_grant', 'update_grant'],
    'A grant may hold quotas: sends_per_hour, beside the limit of agents; the stricter holds. Others are refused.',
  ],
  'contract:17:requires-approval': [
    'get_identity',
    'requires_approval names every action that policy lets this caller do there only with an approval.',
  ],
  'contract:11:policy-denied': [
    'email_act',
    'What policy denies is an event, policy.denied outside, with rule and version.',
  ],
  'contract:8:names-issue': [
    'set_policy',
    'What is wrong with a policy is named by its path and the id of its rule.',
  ],
  'contract:17:policy': [
    ['get_policy', 'set_policy'],
    'GET and PUT /org/policy: a strong ETag of the version, If-Match, 412 for a stale one; version 0 is built in.',
  ],
  'contract:17:policy-versions': [
    'list_policy_versions',
    'GET /org/policy/versions: who set which version when, and which rules it added, removed and changed.',
  ],
  'contract:17:policy-simulate': [
    'simulate_policy',
    'POST /org/policy/simulate {operation}: what policy would decide, and by which rules; nothing runs.',
  ],
  'contract:3:policy-manage': [
    ['set_policy', 'simulate_policy'],
    'policy:manage exists only in a session stepped up in the last 15 minutes, never in a token.',
  ],
  'contract:8:recipients': [
    'send_draft',
    'External is outside of internal_domains; a first contact is everyone to whom the gateway sent nothing from that mailbox.',
  ],
  'contract:8:internal-domains': [
    ['set_policy', 'send_draft'],
    'internal_domains of the policy alone say what is inside: a domain is itself, *.example.com what is below it; none = all are outside.',
  ],
  'contract:8:attachment-types': [
    'send_draft',
    'An attachment is judged by its declared type, those of its name and that of its leading bytes; the strictest holds.',
  ],
  'contract:8:undo-of-sends': [
    'set_policy',
    'undo_seconds in allow holds for sends; where a rule could allow something else the policy is refused with its path.',
  ],
  'contract:7:custom-headers': [
    ['set_policy', 'start_draft', 'send_draft'],
    'Of X- fields those go out that custom_headers of the policy lists; what relays take for orders is refused in either place.',
  ],
  'contract:7:relay-orders': [
    'start_draft',
    'A recipient whose local part holds %, ! or a second @ is refused with its path, quoted or not.',
  ],

  'contract:3:operation-visibility': [
    ['list_operations', 'get_operation'],
    'An operation is seen by its requester, the person behind, and readers of drafts or messages there; else 404.',
  ],
  'contract:6:draft-operations': [
    'email_act',
    'email.act creates, answers, edits, sends and discards drafts; the reply holds draft_id and draft.',
  ],
  'contract:6:draft-modes': [
    'email_act',
    'Draft create, reply, edit, discard take execute, the default and preview; others are 422 operation_unsupported.',
  ],
  'contract:6:draft-preview-hash': [
    'email_act',
    'A preview of a draft has the content_hash of what would be written, discarded or sent.',
  ],
  'contract:6:draft-send-modes': [
    'email_act',
    'A send that needs an approval is 403 approval_required in mode execute; preview says so and sends nothing.',
  ],
  'contract:8:drafts': ['email_act', 'Drafts are allowed to all by default; a policy may forbid them.'],
  'contract:6:operation-read': [
    'get_operation',
    'An operation is read as a reply with its state and its lines of the audit trail.',
  ],
  'contract:10:operation-state': ['list_operations', 'Operations run, are completed, failed or unknown.'],
  'contract:10:resolve': [
    'get_operation',
    'What is unknown is settled on the word of a person, with a reason.',
  ],
  'contract:17:resolve': [
    'resolve_operation',
    'POST /operations/<opn_id>/resolve answers the operation; 404 unknown, 409 conflict when nothing is unknown.',
  ],
  'contract:10:resolve-session': [
    'resolve_operation',
    'A person in a stepped-up session resolves; no token does.',
  ],
  'contract:10:resolve-who': [
    'resolve_operation',
    'An outcome is resolved by a person who sees it and may do the same there, or by an owner or admin; of a removed mailbox by its requester.',
  ],
} as const satisfies RequirementTable;
