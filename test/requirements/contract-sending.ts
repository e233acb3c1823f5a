/** Rules of sending: `contract.md` 7, 10, 14 and 15 as far as a send is concerned. */
import type { RequirementTable } from './requirement.ts';

export const contractSending = {
  'contract:7:send-order': [
    'send_draft',
    'Operation first, then the intent on the draft, then the phase event before the data, then outcome on draft and operation.',
  ],
  'contract:7:draft-is-the-lock': [
    'send_draft',
    'Of several sends of a draft one begins; what was refused by the draft is the recorded outcome of its operation.',
  ],
  'contract:7:date-at-sending': ['send_draft', 'Date is that of the attempt, Message-ID that of the freeze.'],
  'contract:7:temporary': [
    'send_draft',
    '4xx before the final dot or a server that is down: tried again, 504 with operation_id and retry_at.',
  ],
  'contract:7:discard-ends-retries': [
    'send_draft',
    'A send that waits for its next attempt ends with discard_draft.',
  ],
  'contract:7:partial-refusal': ['send_draft', 'Refused recipients are listed in rejected[].'],
  'contract:7:frozen-first': [
    'wants_to_send_draft',
    'The draft is frozen first, then its approval is requested: in_review, with approval_id, and nothing goes out.',
  ],
  'contract:7:commit-of-send': [
    'approval_commit',
    'A commit sends the frozen bytes, once, and only while the draft is frozen for this approval and hash.',
  ],
  'contract:7:retry-under-check': [
    'approval_commit',
    'A 4yz is no outcome: the draft is in_review again, and the same bytes are tried again under the same approval.',
  ],
  'contract:8:send-undo': [
    'send_draft',
    'Under undo_seconds a direct send leaves the draft sending with commit_at; until then discard ends it.',
  ],
  'contract:9:send-manifest': [
    'wants_to_send_draft',
    'The manifest of a send names envelope, headers, body hash, attachments and the SHA-256 of the MIME without Date.',
  ],
  'contract:9:altered': [
    'approval_commit',
    'One byte of the stored message that is not what was approved: nothing is sent, and the approval is invalidated.',
  ],
  'contract:10:edit-supersedes': [
    ['edit_draft', 'patch_draft'],
    'An edit of a draft in review supersedes its approval; the next approval names the one it replaces.',
  ],
  'contract:10:discard-invalidates': ['discard_draft', 'A draft in review takes its check with it.'],
  'contract:10:released': [
    'wants_to_send_draft',
    'A draft in review is open again on every end of its approval but committed.',
  ],
  'contract:10:commit-unknown': [
    'approval_commit',
    'A commit without a known outcome is commit_unknown, and settled by a copy in Sent or by a person.',
  ],
  'contract:10:commit-or-edit': [
    ['approval_commit', 'edit_draft', 'patch_draft'],
    'Of a commit and an edit at the same moment one wins and the other is refused, and what is sent is what was approved.',
  ],
  'contract:10:send-failed': ['send_draft', 'A refused message is send_failed, and editable.'],
  'contract:10:send-unknown': [
    'send_draft',
    'What may have been sent is send_unknown, looked for in Sent, and never sent again.',
  ],
  'contract:10:send-cut-off': [
    'send_draft',
    'An interrupted send is resumed; once data was sent it is reconciled after 15 minutes at the earliest.',
  ],
  'contract:10:sent-copy': ['send_draft', 'One seen copy is filed in Sent, by the gateway or by the server.'],
  'contract:14:send-once': ['send_draft', 'A repeat of the key answers with the send as it stands.'],
  'contract:15:agent-quota': [
    'send_draft',
    'An agent sends 30 mails an hour; what surely failed is given back.',
  ],
  'contract:15:check-quota': [
    'approval_commit',
    'A send with an approval is counted when it is committed; quota_exceeded there takes nothing from the approval.',
  ],
} as const satisfies RequirementTable;
