/** The direct verb: a draft is sent at once or refused. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { OperationReply } from '../operations/operation.ts';
import { DraftId } from '../drafts/draft-input.ts';
import { sendDraft } from './send-draft.ts';

export const sendDraftCapability = defineCapability({
  name: 'send_draft',
  title: 'Send draft',
  summary: 'Send a draft now.',
  description:
    'Send a draft as it is; the mail goes out at once and cannot be taken back. Needs an idempotency key: a repeat with the ' +
    'same key never sends twice and answers with what became of the first call. completed: the mail server took the ' +
    'message; draft.rejected names recipients it refused. approval_required: policy wants an approval first, ask with wants_to_send_draft. ' +
    'pending_commit: policy holds it back until draft.commit_at, and discard_draft ends it. provider_timeout ' +
    'with retry_at: it is tried again by itself until then; discard_draft ends that. provider_rejected: it was not sent, ' +
    'edit the draft and send it again. outcome_unknown: nobody knows yet whether it was sent; do not send it again, ask ' +
    'with the same key later.',
  effect: 'write',
  access: { any: ['drafts:send'] },
  rest: { method: 'post', path: '/drafts/:draft_id/send_draft' },
  tool: {
    surface: 'granular',
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  },
  idempotency: { kind: 'operation', required: () => true },
  input: z.strictObject({
    draft_id: DraftId,
    expected_version: z
      .int()
      .min(1)
      .optional()
      .describe('Refuse with version_conflict when the draft has another version.'),
  }),
  output: OperationReply,
  ifMatch: true,
  handle: (input, context) =>
    sendDraft(context, {
      capability: 'send_draft',
      draftId: input.draft_id,
      expectedVersion: input.expected_version,
      mode: 'execute',
    }),
});
