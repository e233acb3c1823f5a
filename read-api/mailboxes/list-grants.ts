/** GET /mailboxes/:mailbox_id/grants: who may use a mailbox, now or at an earlier moment. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { readEvent } from '../../commands/kernel/event.ts';
import { InstantField } from '../../commands/kernel/future-instant.ts';
import type { EventStore } from '../../commands/kernel/ports.ts';
import { MailboxIdParameter } from '../../commands/kernel/select.ts';
import { describeGrant, Grant } from '../../commands/mailboxes/grant-payload.ts';
import { mailbox, type MailboxRecord } from '../../commands/mailboxes/mailbox.ts';
import { collectionOf, pageFields } from '../page.ts';
import { pageOfEntries } from '../page-of-entries.ts';

const Grants = collectionOf(Grant);
const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  as_of: InstantField.optional().describe('The grants as they stood then; who may ask is decided as of now.'),
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
    const { mailbox_id: mailboxId, as_of: asOf } = input;
    const until = asOf === undefined ? null : new Date(asOf);
    const { grants } = await mailboxUntil(context.ports.events, mailboxId, until);
    const binding = { route: 'grants', query: { mailboxId, asOf: until?.toISOString() ?? null } };
    return pageOfEntries(context, binding, input, {
      entries: [...grants.values()],
      describe: (grant) => describeGrant(mailboxId, grant),
    });
  },
});

/** The mailbox folded up to and with events that occurred at `until`; null = all of them. */
async function mailboxUntil(events: EventStore, id: string, until: Date | null): Promise<MailboxRecord> {
  const stored = await events.readStream(`${mailbox.category}-${id}`);
  return stored.reduce((state, event) => {
    const fact = readEvent(mailbox.catalogue, event);
    const later = until !== null && fact !== null && new Date(fact.meta.occurred_at) > until;
    return fact === null || later
      ? state
      : mailbox.evolve(state, fact as Parameters<typeof mailbox.evolve>[1]);
  }, mailbox.initial);
}
