/** email.act: one declared operation on messages or a draft, under the caller's mode and the policy. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import { invalidField } from '../values/errors.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { Cardinality, MailboxIdParameter } from '../mail/select.ts';
import { type Mode, MODES } from '../operations/authorize-operation.ts';
import { OperationReply } from '../operations/operation.ts';
import { submitOperation } from '../messages/submit-operation.ts';
import { sendDraft } from '../sending/send-draft.ts';
import { replayDraft, writeDraft } from './act-on-draft.ts';
import { ActOperation, type MessageActions, scopesToAct } from './act-operations.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  operation: ActOperation,
  authorization: z
    .strictObject({
      mode: z.enum(MODES).default('execute_or_request_approval'),
      reason: z.string().min(1).max(1_000).optional().describe('Why; kept in the audit trail.'),
    })
    .optional(),
  cardinality: Cardinality.optional(),
});
type Input = z.output<typeof Input>;

const modeOf = (input: Input): Mode => input.authorization?.mode ?? 'execute_or_request_approval';

export const actOnEmail = defineCapability<Input, OperationReply>({
  name: 'email_act',
  title: 'Act on e-mail',
  summary: 'Change messages, or write or send a draft, by one declared operation.',
  description:
    'message_actions changes messages named by ids from email_query, or by folder and filter; the others write a ' +
    'draft, and draft_send sends one, once. authorization.mode "preview" shows what would happen and changes nothing. ' +
    'awaiting_approval: a person decides, email_await waits for it; then one with commit_at runs automatically, any other when ' +
    'email_requests commits it. Always read status and each result: ids change when a message moves (new_message_id). Example: ' +
    '{"operation":{"type":"message_actions","select":{"message_ids":["msg_…"]},"actions":[{"type":"archive"}]},' +
    '"idempotency_key":"archive-1"}',
  effect: 'write',
  access: {
    any: [
      'messages:flag',
      'messages:move',
      'messages:copy',
      'messages:archive',
      'messages:spam',
      'messages:trash',
      'messages:expunge',
      'drafts:write',
      'drafts:discard',
      'drafts:send',
    ],
    mailbox: (input) => input.mailbox_id,
    needs: (input) => [...scopesToAct(input.operation), ...scopesToAsk(modeOf(input))],
  },
  rest: { method: 'post', path: '/mailboxes/:mailbox_id/email.act' },
  tool: {
    surface: 'advertised',
    asTask: true,
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  },
  idempotency: {
    kind: 'operation',
    required: (input) => modeOf(input) !== 'preview',
    requiredWhen: 'Required unless authorization.mode is preview.',
    claimed: (input) =>
      isOperation(input.operation) || modeOf(input) === 'preview' ? null : replayDraft(input.operation),
  },
  input: Input,
  output: OperationReply,
  handle: async (input, context) => {
    const { mailbox_id: mailboxId, operation, cardinality } = input;
    const mode = modeOf(input);
    if (operation.type === 'message_actions') return await actOnMessages(context, input, operation);
    if (cardinality !== undefined)
      throw invalidField('cardinality', 'Only a selection of messages has a cardinality.');
    if (operation.type !== 'draft_send') return await writeDraft(context, { mailboxId, operation, mode });
    return await sendDraft(context, {
      capability: 'email_act',
      mailboxId,
      draftId: operation.draft_id,
      expectedVersion: operation.expected_version,
      mode,
      reason: input.authorization?.reason,
    });
  },
});

/** The default mode needs the scope only where policy requires an approval, which is not known yet. */
const scopesToAsk = (mode: Mode): readonly MailboxScope[] =>
  mode === 'request_approval' || mode === 'prepare' ? ['approvals:request'] : [];

/** True for an operation with its own stream; a written draft has the stream of its key. */
const isOperation = (operation: ActOperation) =>
  operation.type === 'message_actions' || operation.type === 'draft_send';

async function actOnMessages(
  context: Context,
  input: Input,
  { select, actions }: MessageActions,
): Promise<OperationReply> {
  if (select.mailbox_id !== undefined && select.mailbox_id !== input.mailbox_id) {
    throw invalidField(
      'operation.select.mailbox_id',
      'select.mailbox_id names another mailbox than the path.',
    );
  }
  return await submitOperation(context, {
    capability: 'email_act',
    mailboxId: input.mailbox_id,
    actions,
    select,
    cardinality: input.cardinality,
    mode: modeOf(input),
    reason: input.authorization?.reason,
  });
}
