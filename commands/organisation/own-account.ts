/** PATCH and DELETE /users/me: a person changes or erases the own account. */
import { z } from 'zod';
import { account, renameAccount, setNotifications } from '../accounts/account.ts';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { decideAndAppend } from '../kernel/decide-and-append.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { membershipsOf, restorableBy } from '../kernel/membership.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { NOTIFICATION_LEVELS } from '../ports/directory.ts';
import { notFound } from '../values/errors.ts';
import { lineOfText } from '../values/input-fields.ts';
import { ROLES } from '../values/scopes.ts';
import { lossOfAccount } from './account-loss.ts';
import { eraseAccount } from './erase-account.ts';

export const Me = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  is_verified: z.boolean().describe('False: the address has to be verified before anything can be sent.'),
  notifications: z
    .enum(NOTIFICATION_LEVELS)
    .describe('Mails about waiting approvals: each, one a day, or none.'),
  organisations: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      role: z.enum(ROLES),
      erase_at: z.string().nullable().describe('Of a deleted one, which you may restore until then.'),
    }),
  ),
  created_at: z.string(),
});
export type Me = z.output<typeof Me>;

/** Throws `not_found` for an account that was erased meanwhile. */
export function describeMe({ caller, ports }: Pick<Context, 'caller' | 'ports'>): Me {
  const { state } = ports.directory;
  const person = state.people.get(caller.principal.id);
  if (!person) throw notFound('account');
  return {
    id: person.id,
    name: person.name,
    email: person.email,
    is_verified: person.isVerified,
    notifications: person.notifications,
    organisations: [...membershipsOf(state, person.id), ...restorableBy(state, person.id)].map(
      ({ orgId, role }) => {
        const org = state.organisations.get(orgId);
        return { id: orgId, name: org?.name ?? '', role, erase_at: org?.eraseAt ?? null };
      },
    ),
    created_at: person.registeredAt,
  };
}

const ChangeInput = z.strictObject({
  name: lineOfText(100).optional(),
  notifications: z.enum(NOTIFICATION_LEVELS).optional(),
});

export const updateMe = defineCapability<z.output<typeof ChangeInput>, Me>({
  name: 'update_me',
  title: 'Change the own account',
  summary: 'Changes your name, or which mails about approvals you get.',
  description: 'Changes what is sent: the name others see, and the mails about waiting approvals.',
  effect: 'write',
  access: 'session',
  rest: { method: 'patch', path: '/users/me' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, __, context, settled) => (settled ? describeMe(context) : null),
  },
  input: ChangeInput,
  output: Me,
  handle: async ({ name, notifications }, context) => {
    const { caller, ports, writer, author } = context;
    const { id } = caller.principal;
    await context.claim('req');
    const sealed = name === undefined ? null : await ports.personal.seal(id, name);
    const { position } = await decideAndAppend(writer, author, account, {
      id,
      decide: (state) => [
        ...(sealed === null ? [] : renameAccount(state, sealed)),
        ...(notifications === undefined ? [] : setNotifications(state, notifications, 'person')),
      ],
    });
    await answerWhenKnown(context, position);
    return describeMe(context);
  },
});

const NoInput = z.strictObject({});

export const deleteMe = defineCapability<z.output<typeof NoInput>, Nothing>({
  name: 'delete_me',
  title: 'Erase the own account',
  summary: 'Leaves every organisation and erases your account.',
  description:
    'Ends every membership, session, token and agent of yours, and erases your name, your address and everything sealed for ' +
    'you and the agents you own; what happened stays in the trail under your id, and names of agents and tokens stay. It ' +
    'cannot be undone. Export first what you need. Refused while a legal hold is on you, or on an approval, draft or mailbox ' +
    'of which you gave a reason.',
  effect: 'write',
  access: 'stepped-up-session',
  whileDeleted: true,
  errors: ['legal_hold', 'index_building'],
  rest: { method: 'delete', path: '/users/me', status: 202 },
  tool: null,
  // The key is not taken: after the erasure there is no session to repeat the request in.
  idempotency: { kind: 'claim', replay: replayNothing },
  input: NoInput,
  output: Nothing,
  handle: async (_, context) => {
    const { caller, ports, author } = context;
    await untilRightsKnown(ports.directory);
    assertNotHeld(ports.directory, await lossOfAccount(ports, caller.principal.id), caller);
    context.notePosition(await eraseAccount(ports, author, caller.principal.id));
    return {};
  },
});
