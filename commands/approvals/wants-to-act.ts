/** wants_to_*: prepares an action on messages by id; it runs when it is committed. */
import { z } from 'zod';
import { type CapabilityDefinition, defineCapability } from '../kernel/capability.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { Cardinality, FolderArgument, MailboxIdParameter, MessageIds } from '../mail/select.ts';
import type { Action } from '../messages/actions.ts';
import { OperationReply } from '../operations/operation.ts';
import { submitOperation } from '../messages/submit-operation.ts';

const Reason = z.string().min(1).max(1_000).describe('The reason, shown to the approvers.');
const common = {
  mailbox_id: MailboxIdParameter,
  message_ids: MessageIds,
  cardinality: Cardinality.optional(),
};
interface Common {
  readonly mailbox_id: string;
  readonly message_ids: string[];
  readonly reason?: string | undefined;
  readonly cardinality?: Cardinality | undefined;
}

interface Wish<Input extends Common> {
  readonly name: `wants_to_${'move' | 'copy' | 'expunge'}`;
  readonly title: string;
  readonly summary: string;
  readonly what: string;
  readonly scope: MailboxScope;
  readonly input: z.ZodType<Input>;
  readonly action: (input: Input) => Action;
}

const THEN =
  'Nothing runs yet. pending_commit: approval_commit runs it. awaiting_approval: a person has to approve first; ' +
  'monitor_approval waits for it. policy_denied: not permitted, do not retry.';

const defineWish = <Input extends Common>(wish: Wish<Input>): CapabilityDefinition<Input, OperationReply> =>
  defineCapability({
    name: wish.name,
    title: wish.title,
    summary: wish.summary,
    description: `${wish.what} ${THEN}`,
    effect: 'write',
    access: {
      any: [wish.scope],
      mailbox: (input) => input.mailbox_id,
      needs: () => [wish.scope, 'approvals:request'],
    },
    errors: ['email_unverified'],
    rest: { method: 'post', path: `/mailboxes/:mailbox_id/${wish.name}` },
    tool: {
      surface: 'granular',
      hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
    },
    idempotency: { kind: 'operation', required: () => true },
    input: wish.input,
    output: OperationReply,
    handle: (input, context) =>
      submitOperation(context, {
        capability: wish.name,
        mailboxId: input.mailbox_id,
        actions: [wish.action(input)],
        select: { message_ids: input.message_ids },
        cardinality: input.cardinality,
        mode: 'prepare',
        reason: input.reason,
      }),
  });

const withFolder = z.strictObject({ ...common, folder: FolderArgument, reason: Reason.optional() });

export const wantsToMove = defineWish({
  name: 'wants_to_move',
  title: 'Prepare to move',
  summary: 'Prepare messages to be moved to a folder.',
  what: 'Prepare a move of messages to a folder of the same mailbox, named by role, fld_ id or path.',
  scope: 'messages:move',
  input: withFolder,
  action: ({ folder }) => ({ type: 'move', folder }),
});

export const wantsToCopy = defineWish({
  name: 'wants_to_copy',
  title: 'Prepare to copy',
  summary: 'Prepare messages to be copied to a folder.',
  what: 'Prepare a copy of messages to a folder of the same mailbox; the originals will stay.',
  scope: 'messages:copy',
  input: withFolder,
  action: ({ folder }) => ({ type: 'copy', folder }),
});

export const wantsToExpunge = defineWish({
  name: 'wants_to_expunge',
  title: 'Prepare to expunge',
  summary: 'Prepare messages to be deleted permanently.',
  what: 'Prepare to delete messages from the mail server permanently; they cannot be restored. To move them to the trash, use trash.',
  scope: 'messages:expunge',
  input: z.strictObject({ ...common, reason: Reason }),
  action: () => ({ type: 'expunge' }),
});
