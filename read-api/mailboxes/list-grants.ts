/** GET /mailboxes/:mailbox_id/grants: the grants of a mailbox, now or at an earlier moment. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { notFound } from '../../commands/values/errors.ts';
import { MailboxIdParameter } from '../../commands/mail/select.ts';
import { describeGrant, Grant } from '../../commands/mailboxes/manage-grants.ts';
import { mailbox } from '../../commands/mailboxes/mailbox.ts';
import { AsOfField, loadAsOf, momentAsOf } from '../paging/as-of.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Grants = collectionOf(Grant);
const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  as_of: AsOfField,
  ...pageFields,
});

export const listGrants = defineCapability<z.output<typeof Input>, z.output<typeof Grants>>({
  name: 'list_grants',
  title: 'List grants',
  summary: 'Who may use a mailbox, and how far.',
  description: 'The grants on this mailbox, newest first; with as_of as they stood at that moment.',
  effect: 'read',
  access: { any: ['mailboxes:grants'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'get', path: '/mailboxes/:mailbox_id/grants' },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: Grants,
  handle: async (input, context) => {
    const { mailbox_id: mailboxId } = input;
    const moment = momentAsOf(context.ports.clock, input.as_of);
    const asOf = moment?.toISOString() ?? null;
    const then = await loadAsOf(context.ports.events, mailbox, mailboxId, moment);
    if (then === null) throw notFound('mailbox');
    const binding = { route: 'grants', query: { mailboxId, asOf } };
    const { items, page } = pageOfEntries(context, binding, input, {
      entries: [...then.grants.values()],
      describe: (grant) => describeGrant(mailboxId, grant),
    });
    return { items, page: { ...page, as_of: asOf ?? page.as_of } };
  },
});
