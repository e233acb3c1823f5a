/** DELETE /mailboxes/:mailbox_id: closes its connections now, erases it after seven days. */
import { z } from 'zod';
import { defineCapability } from '../kernel/capability.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { changeMailbox, entryOf } from './change-mailbox.ts';
import { removeMailbox } from './decide-settings.ts';
import { assertVersion } from './mailbox.ts';
import { describeMailbox, Mailbox } from './mailbox-payload.ts';

const Input = z.strictObject({ mailbox_id: MailboxIdParameter });

export const deleteMailbox = defineCapability<z.output<typeof Input>, Mailbox>({
  name: 'delete_mailbox',
  title: 'Remove a mailbox',
  summary: 'Removes a mailbox; it can be restored for seven days.',
  description:
    'Ends all use of the mailbox at once. Its credentials are erased at `erase_at`; until then PATCH {"restore": true} ' +
    'undoes the removal. Nothing is deleted on the mail server.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'delete', path: '/mailboxes/:mailbox_id', status: 202 },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { mailbox_id }, context, settled) =>
      settled ? await describeMailbox(context.ports, entryOf(context, mailbox_id)) : null,
  },
  input: Input,
  output: Mailbox,
  etag: ({ version }) => String(version),
  ifMatch: true,
  handle: async ({ mailbox_id }, context) => {
    const { ports, request } = context;
    await changeMailbox(context, mailbox_id, (state) => {
      assertVersion(state, request.ifMatch);
      return removeMailbox(state, ports.clock.now());
    });
    await ports.mail.disconnect(mailbox_id);
    return await describeMailbox(ports, entryOf(context, mailbox_id));
  },
});
