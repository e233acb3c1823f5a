import type { RequirementTable } from './requirement.ts';

/** How an operation waits for people, what they decide and how it is committed: sections 1, 6, 8, 9, 10, 14. */
export const contractApprovals = {
  'contract:1:shared-id': ['email_act', 'An operation opn_X and its check chk_X share X.'],
  'contract:6:check-modes': [
    'email_act',
    'request_approval, prepare and the default mode make a check where the table says so; nothing runs.',
  ],
  'contract:6:expunge-never-direct': [
    'email_act',
    'expunge never runs directly: execute answers 403 approval_required, the default acts as prepare.',
  ],
  'contract:6:expunge-uidplus': ['email_act', 'expunge needs UIDPLUS and takes away exactly what was named.'],
  'contract:6:request-scope': [
    'email_act',
    'approvals:request is needed to make a check, in the default mode only when approval is required.',
  ],
  'contract:9:manifest': [
    'email_act',
    'The manifest names locators, Message-IDs, salted subject hashes and destinations; content_hash is its SHA-256.',
  ],
  'contract:9:preview': [
    'preview_approval',
    'preview answers the manifest, its hash, the same as text and HTML for a sandboxed frame, and what changed since the check before.',
  ],
  'contract:9:eligible': [
    'email_act',
    'Fewer eligible people than the quorum: 409 no_eligible_approver at request time, and the key stays free.',
  ],
  'contract:14:check-replay': [
    'email_act',
    'The key of a request that made a check replays its current state with original_status.',
  ],
} as const satisfies RequirementTable;
