/** GET /invites: the invites that wait for an answer. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { describeInvite, Invite, isOpenTo } from '../../commands/organisation/manage-invites.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Invites = collectionOf(Invite);
const ListInput = z.strictObject(pageFields);

export const listInvites = defineCapability<z.output<typeof ListInput>, z.output<typeof Invites>>({
  name: 'list_invites',
  title: 'List invites',
  summary: 'Invites that wait for an answer, newest first.',
  description:
    'Invites of the organisation that were neither accepted nor withdrawn and have not expired, newest first.',
  effect: 'read',
  access: { any: ['members:manage'], inSession: true },
  rest: { method: 'get', path: '/invites' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Invites,
  handle: async (input, context) => {
    const { clock, directory } = context.ports;
    const now = clock.now().getTime();
    const entries = [...directory.state.invites.values()].filter(
      (entry) => isOpenTo(context, entry) && Date.parse(entry.expiresAt) > now,
    );
    const binding = { route: 'invites', query: null };
    return pageOfEntries(context, binding, input, { entries, describe: describeInvite });
  },
});
