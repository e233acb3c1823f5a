import type { RequirementTable } from './requirement.ts';

/** How an operation waits for people, what they decide and how it is committed: sections 1, 6, 8, 9, 10, 14. */
export const contractApprovals = {
  'contract:6:wants-to': [
    ['wants_to_move', 'wants_to_copy', 'wants_to_expunge'],
    'wants_to_* is mode prepare and needs approvals:request; to expunge needs a reason.',
  ],
  'contract:1:shared-id': ['email_act', 'An operation opn_X and its approval chk_X share X.'],
  'contract:6:check-modes': [
    'email_act',
    'request_approval, prepare and the default mode create an approval where the table says so; nothing runs.',
  ],
  'contract:6:expunge-never-direct': [
    'email_act',
    'expunge never runs directly: execute answers 403 approval_required, the default acts as prepare.',
  ],
  'contract:6:expunge-uidplus': ['email_act', 'expunge needs UIDPLUS and takes away exactly what was named.'],
  'contract:6:request-scope': [
    'email_act',
    'approvals:request is needed to create an approval, in the default mode only when approval is required.',
  ],
  'contract:3:approval-visibility': [
    ['list_approvals', 'get_approval', 'preview_approval'],
    'The requester, the person behind it, eligible approvers and readers of the mailbox see an approval; for others it does not exist.',
  ],
  'contract:17:approvals': ['list_approvals', 'GET /approvals by status, mailbox and role, newest first.'],
  'contract:17:email-requests': [
    'email_requests',
    'list, get, preview, cancel and commit, each with its own scope; decisions are not made there.',
  ],
  'contract:10:operation-waits': [
    'get_operation',
    'An operation with an approval waits, or was never run when its approval ended first.',
  ],
  'contract:9:approvers-told': [
    'kernel',
    'Who may decide an approval is told by mail: the first at once, later ones bundled, with a reminder, and nothing of the mail in it.',
  ],
  'contract:9:unsubscribe': [
    'kernel',
    'The link in such a mail ends them by POST, without signing in (RFC 8058).',
  ],
  'contract:9:manifest': [
    'email_act',
    'The manifest names locators, Message-IDs, salted subject hashes and destinations; content_hash is its SHA-256.',
  ],
  'contract:9:contact-warnings': [
    'wants_to_send_draft',
    'Recipients with whom no earlier mail is known, and addresses an answer cannot go to, are warnings.',
  ],
  'contract:9:warnings': [
    ['get_approval', 'preview_approval', 'list_approvals'],
    'warnings[] with code, severity and text, worst first, is the one list of everything the preview marks.',
  ],
  'contract:9:confirmation': [
    ['get_approval', 'preview_approval', 'list_approvals'],
    'What is confirmed names To, Cc, Bcc with inside and outside, attachments and warnings; own requests are marked before the vote.',
  ],
  'contract:9:listed': [
    ['list_approvals', 'email_requests', 'monitor_approval', 'email_await'],
    'Lists of approvals carry no manifest; their confirmation says what would run.',
  ],
  'contract:9:preview': [
    'preview_approval',
    'preview answers the manifest, its hash, the same as text and HTML for a sandboxed frame, and what changed since the previous approval.',
  ],
  'contract:9:attachments': [
    'download_approval_attachment',
    'An attachment of a frozen mail goes out as its bytes, hash checked and recorded; in place only text and pictures by their bytes.',
  ],
  'contract:9:eligible': [
    'email_act',
    'Fewer eligible people than the quorum: 409 no_eligible_approver at request time, and the key stays free.',
  ],
  'contract:14:check-replay': [
    'email_act',
    'The key of a request that created an approval replays its current state with original_status.',
  ],
  'contract:14:refusal-details': [
    ['approval_commit', 'cancel_approval', 'edit_draft', 'patch_draft', 'start_draft'],
    'A recorded refusal replays with its details; they are kept sealed and go with their owner.',
  ],
  'contract:14:ended-replay': [
    ['email_act', 'wants_to_send_draft', 'approval_commit'],
    'The key of a request whose approval ended without running answers 409 approval_<how it ended> with details.approval.',
  ],
  'contract:10:not-run': [
    ['get_operation', 'email_await'],
    'An operation whose approval ended first: state not_run, no status, its items skipped; a wait for it matches.',
  ],
  'contract:8:undo': [
    'approval_commit',
    'With undo_seconds a commit leaves the approval pending_commit with commit_at; cancel works until then.',
  ],
  'contract:9:decision': [
    'decide_approval',
    'A person in a stepped-up session decides, naming the hash; a rejection has a reason and ends the approval.',
  ],
  'contract:9:one-vote': ['decide_approval', 'A vote counts once per person and hash.'],
  'contract:9:approver': ['decide_approval', 'The role of the terms decides who may.'],
  'contract:9:own-request': [
    'decide_approval',
    'The person behind may decide, marked own_request, unless exclude_owner requires four eyes.',
  ],
  'contract:9:hash': [
    ['decide_approval', 'approval_commit'],
    'A decision or commit that names another hash: 412 version_conflict.',
  ],
  'contract:9:committer': [
    'approval_commit',
    'approval_commit is of the requester, or of a person with approvals:commit there.',
  ],
  'contract:9:cancel': [
    ['cancel_approval', 'email_requests'],
    'The requester, the person behind or another person by the grant there withdraws; the person behind without a grant too.',
  ],
  'contract:10:superseded-by': [
    'monitor_approval',
    'superseded_by appears when someone asks again, in a wait as in a read.',
  ],
  'contract:9:commit-checks': [
    'approval_commit',
    'At commit hash, expiry, grants, policy, targets and cardinality are checked again.',
  ],
  'contract:10:commit': [
    'approval_commit',
    'pending_commit, committing, committed; the key of a commit replays how it stands.',
  ],
  'contract:10:invalidated': [
    'approval_commit',
    'Target, grant or mailbox gone, or policy stricter: invalidated, and nothing runs.',
  ],
  'contract:10:runs-by-itself': [
    'approval_commit',
    'A commit of an approval that the gateway commits by itself answers the operation once that has begun, and no 409.',
  ],
  'contract:10:run-by': [
    'get_approval',
    'An approval that nothing runs by itself, an expunge above all, names who has to commit it and until when.',
  ],
  'contract:14:auth-failed-free': [
    'approval_commit',
    '424 leaves the key free: the same request runs again.',
  ],
  'contract:10:ground-gone': [
    ['decide_approval', 'approval_commit'],
    'Losing requester, approver, grant, target or mailbox ends a waiting approval within 5 s; a vote on it is refused, nothing revives it.',
  ],
  'contract:10:expiry': ['approval_commit', 'Expiry is applied on access too.'],
  'contract:10:attempt-failed': [
    'approval_commit',
    'Where no effect is proven the approval is pending_commit again, for 24 h from that attempt.',
  ],
  'contract:4:reset-invalidates': [
    'email_act',
    'Open approvals about messages of a folder with a new UIDVALIDITY, or of a deleted folder, are invalidated.',
  ],
  'contract:10:commit-unknown': [
    'approval_commit',
    'An interrupted commit is reconciled: committed, commit_failed, or pending_commit when absence is proven.',
  ],
  'contract:10:one-end': [
    ['approval_commit', 'cancel_approval', 'decide_approval'],
    'Votes, commits, cancels and expiry meet at the stream: one end.',
  ],
} as const satisfies RequirementTable;
