/** wants_to_send_draft: fixes the exact message now; it is sent when it is committed. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { DraftId } from '../drafts/draft-input.ts';
import { sendDraft } from '../sending/send-draft.ts';
import { OperationReply } from '../operations/operation.ts';

export const wantsToSendDraft = defineCapability({
  name: 'wants_to_send_draft',
  title: 'Prepare to send a draft',
  summary: 'Prepare a draft to be sent.',
  description:
    'Fix a draft exactly as it would be sent; nothing goes out yet. awaiting_approval: a person has to approve first, ' +
    'monitor_approval waits for it. pending_commit: approval_commit sends it. Editing the draft ends the approval, so ask ' +
    'again afterwards. approval_pending: this draft already has an open approval. policy_denied: not permitted, do not retry.',
  effect: 'write',
  access: { any: ['drafts:send'] },
  rest: { method: 'post', path: '/drafts/:draft_id/wants_to_send_draft' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  },
  idempotency: { kind: 'operation', required: () => true },
  input: z.strictObject({
    draft_id: DraftId,
    reason: z.string().min(1).max(1_000).optional().describe('The reason, shown to the approvers.'),
    expected_version: z
      .int()
      .min(1)
      .optional()
      .describe('Refuse with version_conflict when the draft has another version.'),
  }),
  output: OperationReply,
  ifMatch: true,
  handle: ({ draft_id, reason, expected_version }, context) =>
    sendDraft(context, {
      capability: 'wants_to_send_draft',
      draftId: draft_id,
      expectedVersion: expected_version,
      mode: 'prepare',
      reason,
    }),
});
