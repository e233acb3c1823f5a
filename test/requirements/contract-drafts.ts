import type { RequirementTable } from './requirement.ts';

const STARTS = ['start_draft', 'reply_to_thread'] as const;
const EDITS = ['edit_draft', 'patch_draft'] as const;

/** Drafts: sections 3, 7, 10, 14, 15 and 17. */
export const contractDrafts = {
  'contract:3:draft-scopes': [
    [...STARTS, ...EDITS],
    'A received attachment also needs attachments:read, forward_of also messages:body.',
  ],
  'contract:3:draft-not-found': [
    'read_draft',
    'A draft of another organisation, or of a mailbox without a grant, is 404.',
  ],
  'contract:7:draft': [
    'read_draft',
    'A draft has these fields; its content has text, html, markdown, attachments.',
  ],
  'contract:7:patch': ['patch_draft', 'Absent keeps, null clears, attachments are added and removed.'],
  'contract:7:edit-replaces': ['edit_draft', 'edit_draft replaces the content.'],
  'contract:7:body-bounds': [
    [...STARTS, ...EDITS],
    'A body with too many cells of tables, too deep nesting or too long HTML is refused with its path.',
  ],
  'contract:7:body-apart': [
    [...STARTS, ...EDITS],
    'Bodies are rendered apart from what answers requests, within a time and a memory limit.',
  ],
  'contract:7:version': [
    [...EDITS, 'discard_draft', 'delete_draft'],
    'expected_version or If-Match that is another: 412 version_conflict.',
  ],
  'contract:7:draft-etag': [
    [...EDITS, 'read_draft', 'discard_draft', 'delete_draft', 'send_draft', 'wants_to_send_draft'],
    'The ETag of a draft is "<version>.<revision>", another one with every change; If-Match compares all of it.',
  ],
  'contract:7:sent-by': [
    ['read_draft', 'list_drafts'],
    'A draft that was sent under an approval goes on naming it as approval_id.',
  ],
  'contract:7:reply-headers': [
    'reply_to_thread',
    'Replies build In-Reply-To and References from the stored message.',
  ],
  'contract:7:forwarded-pictures': [
    'start_draft',
    'A forward of HTML that shows pictures of its own keeps its HTML, with the pictures inline under their Content-ID.',
  ],
  'contract:7:upload': [
    'upload_attachment',
    'The raw body is streamed into the content store, at most 25 MiB.',
  ],
  'contract:7:attachment-references': [
    [...STARTS, ...EDITS],
    'Attachments are references, to received mail too, or inline base64 of 256 KiB in all.',
  ],
  'contract:7:drafts-folder': [
    'start_draft',
    'A copy is kept in the Drafts folder, marked as one, removed with the draft, and makes no event.',
  ],
  'contract:10:draft-edit': [EDITS, 'Editing takes a draft back to open from review and from a failed send.'],
  'contract:10:draft-locked': [
    [...EDITS, 'discard_draft'],
    'While it is sent, and once it is over, a draft is draft_locked.',
  ],
  'contract:10:discarded': ['discard_draft', 'A draft is discarded from any unsent state and stays so.'],
  'contract:14:draft-key': [STARTS, 'Starting a draft needs a key; the same key starts one draft.'],
  'contract:14:draft-change-once': [
    [...EDITS, 'discard_draft'],
    'A repeat of the key never changes a draft a second time, wherever the first request was interrupted.',
  ],
  'contract:15:recipients': [[...STARTS, ...EDITS], 'A draft has at most 100 recipients.'],
  'contract:17:start-draft': ['start_draft', 'start_draft takes its fields and answers 201 with the draft.'],
  'contract:17:reply-to-thread': [
    'reply_to_thread',
    'reply_to_thread takes its fields and answers 201 with the draft.',
  ],
  'contract:17:discard-draft': [
    ['discard_draft', 'delete_draft'],
    'discard_draft answers the draft, DELETE 204; both are one command.',
  ],
  'contract:17:drafts': ['list_drafts', 'GET /drafts is a collection with filters by status and mailbox.'],
  'contract:17:get-draft': [
    'get_draft',
    'get_draft reads one draft, with its content if wanted, or the list.',
  ],
  'contract:7:skipped-recipients': [
    'reply_to_thread',
    'Reply addresses that cannot be used appear in skipped_recipients; none left is 400.',
  ],
  'contract:17:draft-as-of': [['read_draft', 'read_draft_content'], '?as_of= folds up to that time.'],
} as const satisfies RequirementTable;
