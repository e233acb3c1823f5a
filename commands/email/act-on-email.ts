/** email.act: one declared operation on messages, as strict as the caller's mode and the policy want it. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { GatewayError } from '../kernel/errors.ts';
import { ActSelect, Cardinality, MailboxIdParameter } from '../kernel/select.ts';
import type { Scope } from '../kernel/scopes.ts';
import { Action, scopesOf } from '../operations/actions.ts';
import { MODES } from '../operations/authorize-operation.ts';
import { OperationReply } from '../operations/operation.ts';
import { submitOperation } from '../operations/submit-operation.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  operation: z.strictObject({
    type: z.literal('message_actions'),
    select: ActSelect.describe(
      'message_ids, or a folder and filter: then all matches, and cardinality.max is required.',
    ),
    actions: z
      .array(Action)
      .min(1)
      .max(8)
      .describe('In order on each message; a move-like action only as the last.'),
  }),
  authorization: z
    .strictObject({
      mode: z.enum(MODES).default('execute_or_request_approval'),
      reason: z.string().min(1).max(1_000).optional().describe('Why; kept in the audit trail.'),
    })
    .optional(),
  cardinality: Cardinality.optional(),
});
type Input = z.output<typeof Input>;

const modeOf = (input: Input): (typeof MODES)[number] =>
  input.authorization?.mode ?? 'execute_or_request_approval';

/** A filter tells what is in a folder, so it needs the right to read. */
const needs = ({ operation }: Input): readonly Scope[] => [
  ...scopesOf(operation.actions),
  ...(operation.select.message_ids === undefined ? (['messages:read'] as const) : []),
];

export const actOnEmail = defineCapability<Input, OperationReply>({
  name: 'email_act',
  title: 'Act on e-mail',
  summary: 'Change messages by one declared operation.',
  description:
    'Change messages of one mailbox: move, copy, archive, trash, spam, not_spam, set_flags. Name messages by ids from ' +
    'email_query, or by folder and filter. authorization.mode "preview" shows what would happen and changes nothing. ' +
    'cardinality aborts when the selection is not of the expected size. Always read status and each result: ids ' +
    'change when a message moves (new_message_id). Not for reading (email_query). Example: ' +
    '{"operation":{"type":"message_actions","select":{"message_ids":["msg_…"]},"actions":[{"type":"archive"}]},' +
    '"idempotency_key":"archive-1"}',
  effect: 'write',
  access: {
    any: [
      'messages:flag', 'messages:move', 'messages:copy', 'messages:archive', 'messages:spam', 'messages:trash',
    ], // prettier-ignore
    mailbox: (input) => input.mailbox_id,
    needs,
  },
  rest: { method: 'post', path: '/mailboxes/:mailbox_id/email.act' },
  tool: {
    surface: 'advertised',
    asTask: true,
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  },
  idempotency: { kind: 'operation', required: (input) => modeOf(input) !== 'preview' },
  input: Input,
  output: OperationReply,
  handle: async (input, context) => {
    const { select, actions } = input.operation;
    if (select.mailbox_id !== undefined && select.mailbox_id !== input.mailbox_id) {
      throw new GatewayError('invalid_request', 'select.mailbox_id names another mailbox than the path.', {
        details: {
          issues: [{ path: 'operation.select.mailbox_id', code: 'custom', message: 'must equal the path' }],
        },
      });
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
  },
});
