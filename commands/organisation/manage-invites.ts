/** POST /invites, resend and DELETE: a person is invited to the organisation by mail. */
import { z } from 'zod';
import { emailKey, emailReservation } from '../accounts/account.ts';
import { NewEmail } from '../accounts/credentials.ts';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  madeBefore,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate, streamOf } from '../kernel/decide-and-append.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import { memberOfOrg } from '../kernel/membership.ts';
import { untilRightsKnown } from '../kernel/rights-known.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import type { InvitedGrant, InviteEntry } from '../ports/directory.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { folderRole } from '../values/event-fields.ts';
import { uuidV5 } from '../values/ids.ts';
import { chosenScopes, MAILBOX_SCOPES, PresetField, type Role, ROLES } from '../values/scopes.ts';
import { forgetInvite } from './carry-out-invite.ts';
import { createInvite as decideInvite, endInvite, invite, resendInvite as decideAgain } from './invite.ts';
import { assertMayGive, organisation } from './organisation.ts';

const INVITED_FOR_MS = 7 * 24 * 60 * 60_000;
const MOST_GRANTS = 100;

export const Invite = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  mailbox_grants: z.array(
    z.object({
      mailbox_id: z.string(),
      scopes: z.array(z.string()),
      folder_roles: z.array(folderRole).nullable().describe('Null = every folder.'),
    }),
  ),
  expires_at: z.string(),
  created_by: z.string(),
  created_at: z.string(),
});
export type Invite = z.output<typeof Invite>;

const describeGrant = ({ mailboxId, scopes, folderRoles }: InvitedGrant) => ({
  mailbox_id: mailboxId,
  scopes: [...scopes],
  folder_roles: folderRoles && [...folderRoles],
});

export const describeInvite = (entry: InviteEntry): Invite => ({
  id: entry.id,
  email: entry.email,
  role: entry.role,
  mailbox_grants: entry.mailboxGrants.map(describeGrant),
  expires_at: entry.expiresAt,
  created_by: entry.createdBy,
  created_at: entry.createdAt,
});

/** An invite of the caller's organisation that was not accepted. */
export const isOpenTo = ({ caller }: Pick<Context, 'caller'>, entry: InviteEntry): boolean =>
  entry.orgId === caller.org.id && entry.acceptedBy === null;

const PromisedGrant = z
  .strictObject({
    mailbox_id: MailboxIdParameter,
    scopes: z.array(z.enum(MAILBOX_SCOPES)).min(1).max(MAILBOX_SCOPES.length).optional(),
    preset: PresetField,
    folder_roles: z.array(folderRole).min(1).nullable().optional(),
  })
  .refine(({ scopes, preset }) => (scopes === undefined) !== (preset === undefined), {
    path: ['scopes'],
    error: 'Name either scopes or a preset.',
  });

const CreateInput = z.strictObject({
  email: NewEmail,
  role: z.enum(ROLES).describe('Not above your own; only owners invite owners.'),
  mailbox_grants: z
    .array(PromisedGrant)
    .max(MOST_GRANTS)
    .refine((grants) => new Set(grants.map(({ mailbox_id }) => mailbox_id)).size === grants.length, {
      error: 'Name each mailbox once.',
    })
    .optional()
    .describe('Grants that the person gets with the membership, one for each mailbox.'),
});
type CreateInput = z.output<typeof CreateInput>;

const Named = z.strictObject({ invite_id: z.string().min(1).max(64) });
type Named = z.output<typeof Named>;

export const createInvite = defineCapability<CreateInput, Invite>({
  name: 'create_invite',
  title: 'Invite a person',
  summary: 'Invites a person by mail, with a role and grants on mailboxes.',
  description:
    'Mails a link with which the person becomes a member, within seven days. With the membership the person gets the grants ' +
    'named here. One invite at a time for each address.',
  effect: 'write',
  access: {
    any: ['members:manage'],
    needs: ({ mailbox_grants = [] }) =>
      mailbox_grants.length > 0 ? ['members:manage', 'mailboxes:grants'] : ['members:manage'],
    inSession: true,
    steppedUp: true,
  },
  rest: { method: 'post', path: '/invites', status: 201 },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const stream = streamOf(invite, targetId);
      const entry = await madeBefore(context, stream, ({ invites }) => invites.get(targetId));
      if (entry === null) return null;
      // An interrupted request may have ended before this.
      await mailInvite(context, targetId, 'created');
      return describeInvite(entry);
    },
  },
  input: CreateInput,
  output: Invite,
  handle: async (input, context) => {
    const { ports } = context;
    const key = emailKey(ports, input.email);
    await assertMayInvite(context, input.role);
    const grants = promisedGrants(context, input.mailbox_grants ?? []);
    const lease = await holdLease(ports.leases, `invite-${context.caller.org.id}-${key}`);
    if (lease === null) throw new GatewayError('conflict', 'This address is being invited already.');
    try {
      await assertNotInvited(context, key);
      return await invitePerson(context, { ...input, key, grants });
    } finally {
      await lease.release();
    }
  },
});

interface NewInvite {
  readonly email: string;
  readonly key: string;
  readonly role: Role;
  readonly grants: readonly InvitedGrant[];
}

async function invitePerson(context: Context, { email, key, role, grants }: NewInvite): Promise<Invite> {
  const { ports, writer, author } = context;
  const id = await context.claim('inv');
  const terms = {
    email: await ports.personal.seal(id, email.trim()),
    email_key: key,
    role,
    mailbox_grants: grants.map(describeGrant),
    expires_at: new Date(ports.clock.now().getTime() + INVITED_FOR_MS).toISOString(),
  };
  const { position } = await decideAndAppend(writer, author, invite, {
    id,
    decide: (state) => decideInvite(state, terms),
  });
  await answerWhenKnown(context, position);
  await mailInvite(context, id, 'created');
  return describeInvite(entryOf(context, id));
}

/**
 * The mail holds the invite's id only: the address is opened, and the link made, when it is sent. Asked for when every process
 * knows the invite.
 */
async function mailInvite({ writer, author }: Context, inviteId: string, occasion: string): Promise<void> {
  await requestMail(writer, author, uuidV5('invite', inviteId, occasion), {
    kind: 'invite',
    user_id: null,
    to: null,
    invite_id: inviteId,
  });
}

/** Decided on the organisation's own stream, as the membership will be. Throws `insufficient_scope`. */
async function assertMayInvite({ caller, ports }: Context, role: Role): Promise<void> {
  const { state } = await loadAggregate(ports.events, organisation, caller.org.id);
  assertMayGive(state, { userId: caller.principal.id }, role);
}

/** Under the lease of the address, so that of two requests the second sees the invite of the first. Throws `conflict`. */
async function assertNotInvited({ caller, ports }: Context, key: string): Promise<void> {
  const { directory, events, clock } = ports;
  await untilRightsKnown(directory);
  const { state: reserved } = await loadAggregate(events, emailReservation, key);
  const { ownerId } = reserved;
  if (ownerId !== null && memberOfOrg(directory.state, caller.org.id, ownerId) !== null) {
    throw new GatewayError(
      'conflict',
      'The person with this address is a member of the organisation already.',
      {
        details: { user_id: ownerId },
      },
    );
  }
  const earlier = [...directory.state.invites.values()].find(
    (entry) =>
      entry.emailKey === key &&
      entry.orgId === caller.org.id &&
      (entry.acceptedBy !== null || Date.parse(entry.expiresAt) > clock.now().getTime()),
  );
  if (!earlier) return;
  throw new GatewayError(
    'conflict',
    'This address is invited already; send that invite again or withdraw it first.',
    {
      details: { invite_id: earlier.id },
    },
  );
}

/** As `POST …/grants` in a session whose password was just given: every scope, on the organisation's mailboxes. Throws `not_found`. */
function promisedGrants(
  { caller, ports }: Context,
  wanted: readonly z.output<typeof PromisedGrant>[],
): readonly InvitedGrant[] {
  return wanted.map(({ mailbox_id: mailboxId, folder_roles, ...choice }) => {
    const mailbox = ports.directory.state.mailboxes.get(mailboxId);
    if (mailbox?.orgId !== caller.org.id || mailbox.state === 'removed') {
      throw new GatewayError(
        'not_found',
        `There is no mailbox ${mailboxId} here; GET /mailboxes lists them.`,
      );
    }
    return { mailboxId, scopes: chosenScopes(choice, MAILBOX_SCOPES), folderRoles: folder_roles ?? null };
  });
}

/** Throws `not_found`. */
function entryOf(context: Pick<Context, 'caller' | 'ports'>, inviteId: string): InviteEntry {
  const entry = context.ports.directory.state.invites.get(inviteId);
  if (!entry || !isOpenTo(context, entry)) throw notFound('invite');
  return entry;
}

export const resendInvite = defineCapability<Named, Invite>({
  name: 'resend_invite',
  title: 'Send an invite again',
  summary: 'Mails a new link, for another seven days; links sent before are invalid.',
  description:
    'Mails a new link, which is valid for seven days from now. Every link sent before is invalid at once.',
  effect: 'write',
  access: { any: ['members:manage'], inSession: true, steppedUp: true },
  rest: { method: 'post', path: '/invites/:invite_id/resend', status: 200 },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (_, { invite_id }, context, settled) =>
      settled ? describeInvite(entryOf(context, invite_id)) : null,
  },
  input: Named,
  output: Invite,
  handle: async ({ invite_id: id }, context) => {
    const { ports, writer, author } = context;
    await assertMayInvite(context, entryOf(context, id).role);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, invite, {
      id,
      decide: (state, now) => decideAgain(state, new Date(now.getTime() + INVITED_FOR_MS)),
    });
    await ports.links.withdraw(id);
    await answerWhenKnown(context, position);
    await mailInvite(context, id, String(position));
    return describeInvite(entryOf(context, id));
  },
});

export const deleteInvite = defineCapability<Named, Nothing>({
  name: 'delete_invite',
  title: 'Withdraw an invite',
  summary: 'Withdraws an invite; its link is invalid at once.',
  description:
    'Withdraws an invite that was not accepted. Its link is invalid at once, and its address is erased.',
  effect: 'write',
  access: { any: ['members:manage'], inSession: true },
  rest: { method: 'delete', path: '/invites/:invite_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: Named,
  output: Nothing,
  handle: async ({ invite_id: id }, context) => {
    const { ports, writer, author } = context;
    await assertMayInvite(context, entryOf(context, id).role);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, invite, {
      id,
      decide: (state) => endInvite(state, 'withdrawn'),
    });
    await forgetInvite(ports, id);
    await answerWhenKnown(context, position);
    return {};
  },
});
