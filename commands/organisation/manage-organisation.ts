/** PATCH, POST and DELETE of organisations; a deleted one can be restored for a week. */
import { z } from 'zod';
import { answerWhenKnown, type Context, defineCapability, madeBefore } from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { emailUnverified, insufficientScope } from '../kernel/authorize.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import { requireSession } from '../kernel/live-caller.ts';
import { membersOf, membershipsOf, restorableBy } from '../kernel/membership.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { OAUTH_CLIENT_RULES, type OrganisationEntry } from '../ports/directory.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { GatewayError, invalidField, notFound } from '../values/errors.ts';
import { uuidV5 } from '../values/ids.ts';
import { lineOfText } from '../values/input-fields.ts';
import {
  createOrganisation,
  deleteOrganisation as decideDeletion,
  organisation,
  renameOrganisation,
  restoreOrganisation,
  setOAuthClients,
} from './organisation.ts';
import { describeOrganisation, Organisation } from './organisation-payload.ts';

/** Each costs memory for as long as the gateway runs. */
const MOST_OWNED = 20;
/** How long a deleted organisation can be restored. */
const RESTORABLE_MS = 7 * 24 * 60 * 60 * 1_000;

/** The person who acts, or in whose name a token does. */
const actorOf = ({ caller }: Context) => ({ userId: caller.onBehalfOf ?? caller.principal.id });

export function organisationOf({ caller, ports }: Context): OrganisationEntry {
  const entry = ports.directory.state.organisations.get(caller.org.id);
  if (!entry) throw notFound('organisation');
  return entry;
}

const describe = (context: Context): Organisation =>
  describeOrganisation(context.ports.directory.state, organisationOf(context));

const UpdateInput = z.strictObject({
  name: lineOfText(100).optional(),
  oauth_clients: z
    .enum(OAUTH_CLIENT_RULES)
    .optional()
    .describe('Which applications members may connect from now on; connected ones stay.'),
  restore: z.literal(true).optional().describe('Undoes a deletion, until erase_at.'),
});
type UpdateInput = z.output<typeof UpdateInput>;

export const updateOrganisation = defineCapability<UpdateInput, Organisation>({
  name: 'update_organisation',
  title: 'Change the organisation',
  summary:
    'Renames the organisation, sets which applications may be connected, or restores it after a deletion.',
  description:
    'An owner renames the organisation, sets which applications members may connect, or restores a deleted one: sign in, then send {"restore": true} until `erase_at`. ' +
    'Members, agents, grants and mailboxes count again; sessions and tokens from before the deletion stay invalid.',
  effect: 'write',
  access: {
    any: ['org:manage'],
    steppedUp: ({ restore, oauth_clients }) => restore === true || oauth_clients !== undefined,
  },
  whileDeleted: true,
  rest: { method: 'patch', path: '/org' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, __, context, settled) => Promise.resolve(settled ? describe(context) : null),
  },
  input: UpdateInput,
  output: Organisation,
  handle: async ({ name, restore, oauth_clients }, context) => {
    const { ports, writer, author, caller } = context;
    if (oauth_clients !== undefined) requireSession(caller);
    const by = actorOf(context);
    const decide = (state: typeof organisation.initial, now: Date) => {
      const restored = restore === true ? restoreOrganisation(state, now, by) : [];
      const live = restored.length > 0 ? { ...state, lifetime: 'live' as const } : state;
      return [
        ...restored,
        ...(name === undefined ? [] : renameOrganisation(live, name, by)),
        ...(oauth_clients === undefined ? [] : setOAuthClients(live, oauth_clients, by)),
      ];
    };
    const { id } = caller.org;
    const loaded = await loadAggregate(ports.events, organisation, id);
    decide(loaded.state, ports.clock.now());
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, organisation, { id, decide, loaded });
    await answerWhenKnown(context, position);
    return describe(context);
  },
});

const CreateInput = z.strictObject({ name: lineOfText(100) });

export const createAnotherOrganisation = defineCapability<z.output<typeof CreateInput>, Organisation>({
  name: 'create_organisation',
  title: 'Set up another organisation',
  summary: 'Creates an organisation of which you are the owner.',
  description:
    'Creates an organisation with you as its owner; switch to it with POST /auth/switch-org. Your address must be verified. ' +
    'Where sign-up is not open, only an owner of an organisation may do this. Who owns 20 sets up no more.',
  effect: 'write',
  access: 'session',
  errors: ['email_unverified'],
  rest: { method: 'post', path: '/org', status: 201 },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const stream = streamOf(organisation, targetId);
      const entry = await madeBefore(context, stream, ({ organisations }) => organisations.get(targetId));
      return entry && describeOrganisation(context.ports.directory.state, entry);
    },
  },
  input: CreateInput,
  output: Organisation,
  handle: async ({ name }, context) => {
    const { leases } = context.ports;
    const lease = await holdLease(leases, `organisations-of-${context.caller.principal.id}`);
    if (lease === null)
      throw new GatewayError('conflict', 'Another organisation is being set up for you just now; try again.');
    try {
      await assertMaySetUp(context);
      return await setUpAnother(context, name);
    } finally {
      await lease.release();
    }
  },
});

/** Under the lease of the person, so that of two requests the second counts the organisation of the first. */
async function assertMaySetUp({ caller, ports }: Context): Promise<void> {
  const { directory, server } = ports;
  if (!caller.isVerified) throw emailUnverified();
  await untilRightsKnown(directory);
  const { id } = caller.principal;
  const owned = membershipsOf(directory.state, id).filter(({ role }) => role === 'owner');
  if (server.signUp !== 'open' && owned.length === 0) throw insufficientScope(['org:manage'], 'any');
  if (owned.length + restorableBy(directory.state, id).length < MOST_OWNED) return;
  throw new GatewayError(
    'conflict',
    `Who owns ${String(MOST_OWNED)} organisations sets up no more; a deleted one counts until it is erased.`,
    { details: { most: MOST_OWNED } },
  );
}

async function setUpAnother(context: Context, name: string): Promise<Organisation> {
  const { ports, writer, author, caller } = context;
  const id = await context.claim('org');
  const { position } = await decideAndAppend(writer, { ...author, orgId: id }, organisation, {
    id,
    decide: (state) =>
      state.name === null ? createOrganisation(state, { name, ownerId: caller.principal.id }) : [],
  });
  await answerWhenKnown(context, position);
  const entry = ports.directory.state.organisations.get(id);
  if (!entry) throw notFound('organisation');
  return describeOrganisation(ports.directory.state, entry);
}

const DeleteInput = z.strictObject({ name: z.string().max(200).describe('Its name, as a confirmation.') });

const Deleted = z.object({ erase_at: z.string() });
type Deleted = z.output<typeof Deleted>;

export const deleteOrganisation = defineCapability<z.output<typeof DeleteInput>, Deleted>({
  name: 'delete_organisation',
  title: 'Delete the organisation',
  summary: 'Deletes the organisation; an owner can restore it for seven days.',
  description:
    'Ends every session and token of the organisation at once, also this one. Its mailboxes are left alone until `erase_at`, ' +
    'then removed. Until then an owner may sign in and send PATCH /org {"restore": true}.',
  effect: 'write',
  access: 'stepped-up-session',
  rest: { method: 'delete', path: '/org', status: 202, deleteBody: true },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, __, context, settled) =>
      Promise.resolve(settled ? { erase_at: organisationOf(context).eraseAt ?? '' } : null),
  },
  input: DeleteInput,
  output: Deleted,
  handle: async ({ name }, context) => {
    const { ports, writer, author, caller } = context;
    await untilRightsKnown(ports.directory);
    const { id } = caller.org;
    const owners = membersOf(ports.directory.state, id).filter(({ role }) => role === 'owner');
    const decide = (current: typeof organisation.initial, now: Date) => {
      const facts = decideDeletion(current, new Date(now.getTime() + RESTORABLE_MS), actorOf(context));
      if (current.name !== name)
        throw invalidField('name', 'This is not the name of the organisation; send its exact name.');
      if (facts.length > 0) assertNotHeld(ports.directory, { kind: 'organisation', orgId: id }, caller);
      return facts;
    };
    const loaded = await loadAggregate(ports.events, organisation, id);
    decide(loaded.state, ports.clock.now());
    await context.claim('req');
    const command = { id, decide, loaded };
    const { state, position, appended } = await decideAndAppend(writer, author, organisation, command);
    // A mail is written from the directory, so that has the deletion first.
    await answerWhenKnown(context, position);
    for (const { userId } of appended === null ? [] : owners) {
      const mailId = uuidV5('organisation_deleted', id, userId, String(position));
      await requestMail(writer, author, mailId, { kind: 'organisation_deleted', user_id: userId, to: null });
    }
    return { erase_at: state.eraseAt ?? '' };
  },
});
