/** GET /members and /members/:user_id. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { membersOf } from '../../commands/kernel/membership.ts';
import { memberIn } from '../../commands/organisation/manage-members.ts';
import { describeMember, Member, memberDescriber } from '../../commands/organisation/organisation-payload.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Members = collectionOf(Member);
const ListInput = z.strictObject(pageFields);
const GetInput = z.strictObject({ user_id: z.string().min(1).max(64) });
const access = { any: ['members:manage'], inSession: true } as const;

export const listMembers = defineCapability<z.output<typeof ListInput>, z.output<typeof Members>>({
  name: 'list_members',
  title: 'List members',
  summary: 'The people of the organisation, the newest account first.',
  description: 'Name, address and role of every member, and what their removal would end.',
  effect: 'read',
  access,
  rest: { method: 'get', path: '/members' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Members,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const { state } = ports.directory;
    const { id } = caller.org;
    return await Promise.resolve(
      pageOfEntries(context, { route: 'members', query: null }, input, {
        entries: membersOf(state, id),
        describe: memberDescriber(state, id, ports.clock.now()),
      }),
    );
  },
});

export const getMember = defineCapability<z.output<typeof GetInput>, Member>({
  name: 'get_member',
  title: 'Get a member',
  summary: 'One member, and what their removal would end.',
  description:
    'One member of the organisation: role, and the agents, tokens and grants that a removal would end.',
  effect: 'read',
  access,
  rest: { method: 'get', path: '/members/:user_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Member,
  handle: async ({ user_id }, context) => {
    const { ports } = context;
    return await Promise.resolve(
      describeMember(ports.directory.state, memberIn(context, user_id), ports.clock.now()),
    );
  },
});
