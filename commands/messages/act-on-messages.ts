/** The direct verbs: one action on messages by id, run at once or refused. */
import { z } from 'zod';
import { type CapabilityDefinition, defineCapability, type ToolHints } from '../kernel/capability.ts';
import { Cardinality, FolderArgument, MailboxIdParameter, MessageIds } from '../mail/select.ts';
import type { MailboxScope } from '../values/scopes.ts';
import { type Action, changesFlags, flagFields, NO_FLAGS } from './actions.ts';
import { OperationReply } from '../operations/operation.ts';
import { submitOperation } from './submit-operation.ts';

const common = {
  mailbox_id: MailboxIdParameter,
  message_ids: MessageIds,
  cardinality: Cardinality.optional(),
};
interface Common {
  readonly mailbox_id: string;
  readonly message_ids: string[];
  readonly cardinality?: Cardinality | undefined;
}

interface Verb<Input extends Common> {
  readonly name: Action['type'];
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  readonly scope: MailboxScope;
  readonly input: z.ZodType<Input>;
  readonly action: (input: Input) => Action;
  readonly hints: Pick<ToolHints, 'destructive' | 'idempotent'>;
  /** A repeated copy makes a second copy, so it requires a key. */
  readonly keyRequired?: boolean;
}

const IDS_CHANGE = 'The answer has one result per message; new_message_id is its id from now on.';

const defineVerb = <Input extends Common>(verb: Verb<Input>): CapabilityDefinition<Input, OperationReply> =>
  defineCapability({
    name: verb.name,
    title: verb.title,
    summary: verb.summary,
    description: verb.description,
    effect: 'write',
    access: { any: [verb.scope], mailbox: (input) => input.mailbox_id },
    rest: { method: 'post', path: `/mailboxes/:mailbox_id/${verb.name}` },
    tool: { surface: 'granular', hints: { readOnly: false, openWorld: false, ...verb.hints } },
    idempotency: { kind: 'operation', required: () => verb.keyRequired ?? false },
    input: verb.input,
    output: OperationReply,
    handle: (input, context) =>
      submitOperation(context, {
        capability: verb.name,
        mailboxId: input.mailbox_id,
        actions: [verb.action(input)],
        select: { message_ids: input.message_ids },
        cardinality: input.cardinality,
        mode: 'execute',
        reason: undefined,
      }),
  });

const withFolder = z.strictObject({ ...common, folder: FolderArgument });
const idsOnly = z.strictObject(common);

export const moveMessages = defineVerb({
  name: 'move',
  title: 'Move messages',
  summary: 'Move messages to a folder.',
  description: `Move messages to a folder of the same mailbox, named by role, fld_ id or path. ${IDS_CHANGE}`,
  scope: 'messages:move',
  input: withFolder,
  action: ({ folder }) => ({ type: 'move', folder }),
  hints: { destructive: false, idempotent: false },
});

export const copyMessages = defineVerb({
  name: 'copy',
  title: 'Copy messages',
  summary: 'Copy messages to a folder.',
  description:
    'Copy messages to a folder of the same mailbox; the originals stay. new_message_id is the id of the copy.',
  scope: 'messages:copy',
  input: withFolder,
  action: ({ folder }) => ({ type: 'copy', folder }),
  hints: { destructive: false, idempotent: false },
  keyRequired: true,
});

export const trashMessages = defineVerb({
  name: 'trash',
  title: 'Trash messages',
  summary: 'Move messages to the trash.',
  description: `Move messages to the trash folder; they can be moved back until it is emptied. ${IDS_CHANGE}`,
  scope: 'messages:trash',
  input: idsOnly,
  action: () => ({ type: 'trash' }),
  hints: { destructive: true, idempotent: true },
});

export const markAsSpam = defineVerb({
  name: 'spam',
  title: 'Mark as spam',
  summary: 'Move messages to the junk folder.',
  description: `Move messages to the junk folder. To take one back use email_act with not_spam. ${IDS_CHANGE}`,
  scope: 'messages:spam',
  input: idsOnly,
  action: () => ({ type: 'spam' }),
  hints: { destructive: true, idempotent: true },
});

export const archiveMessages = defineVerb({
  name: 'archive',
  title: 'Archive messages',
  summary: 'Move messages to the archive.',
  description: `Move messages to the archive folder. ${IDS_CHANGE}`,
  scope: 'messages:archive',
  input: idsOnly,
  action: () => ({ type: 'archive' }),
  hints: { destructive: false, idempotent: true },
});

export const setFlags = defineVerb({
  name: 'set_flags',
  title: 'Set flags',
  summary: 'Set or clear flags and keywords of messages.',
  description:
    'Set or clear seen, flagged, answered, and add or remove keywords. Absent fields stay; ids stay valid.',
  scope: 'messages:flag',
  input: z.strictObject({ ...common, ...flagFields }).refine(changesFlags, NO_FLAGS),
  action: ({ mailbox_id: _mailbox, message_ids: _ids, cardinality: _cardinality, ...flags }) => ({
    type: 'set_flags',
    ...flags,
  }),
  hints: { destructive: false, idempotent: true },
});
