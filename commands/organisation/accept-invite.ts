/** POST /auth/invites/accept and …/link: the holder of an invite's link sees what it offers, and becomes a member. */
import { z } from 'zod';
import { account, emailKey, emailReservation } from '../accounts/account.ts';
import { invalidLink, NewPassword, personAuthor } from '../accounts/credentials.ts';
import { refuseWeakPassword } from '../accounts/new-password.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { parseInput } from '../kernel/invoke-capability.ts';
import { definePublicRoute, type PublicContext } from '../kernel/public-route.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError, invalidField } from '../values/errors.ts';
import { lineOfText } from '../values/input-fields.ts';
import { ROLES } from '../values/scopes.ts';
import { carryOutInvite } from './carry-out-invite.ts';
import { acceptInvite as decideAcceptance, invite, type InviteEnd, type InviteState } from './invite.ts';
import { assertMayGive, organisation } from './organisation.ts';

const LinkToken = z.string().min(1).max(200);
const LinkInput = z.strictObject({ token: LinkToken });
const AcceptInput = z.strictObject({
  token: LinkToken,
  name: z.string().max(1_000).optional().describe('Needed when the address has no account.'),
  password: z
    .string()
    .max(10_000)
    .optional()
    .describe('Needed when the address has no account, and not read otherwise.'),
});

const InviteLink = z.object({
  org: z.object({ name: z.string() }),
  role: z.enum(ROLES),
  invited_by: z.object({ name: z.string() }).nullable().describe('Null once that person has left.'),
  email: z.string(),
  has_account: z.boolean().describe('False: name and password are needed to accept.'),
  expires_at: z.string(),
});
type InviteLink = z.output<typeof InviteLink>;

interface Waiting extends InviteState {
  readonly id: string;
  readonly terms: NonNullable<InviteState['terms']>;
  readonly email: string;
}

export const readInviteLink = definePublicRoute<z.output<typeof LinkInput>, InviteLink>({
  name: 'read_invite_link',
  title: 'Read an invite link',
  summary: 'Returns what an invite offers, without using its link up.',
  description:
    'Returns organisation, role, inviter and address of the invite, and whether the address has an account. The ' +
    'holder of the token has the mail. The token is in the body, so that no log contains it.',
  rest: { method: 'post', path: '/auth/invites/accept/link', status: 200 },
  errors: ['conflict'],
  input: LinkInput,
  output: InviteLink,
  handle: async ({ token }, context) => {
    const { state } = context.ports.directory;
    const { orgId, terms, createdBy, email, expiresAt } = await waitingInvite(context, token);
    const inviter = state.people.get(createdBy);
    return {
      org: { name: state.organisations.get(orgId)?.name ?? '' },
      role: terms.role,
      invited_by: inviter ? { name: inviter.name } : null,
      email,
      has_account: (await accountOf(context.ports, terms.email_key)) !== null,
      expires_at: expiresAt,
    };
  },
});

export const acceptInviteRoute = definePublicRoute<z.output<typeof AcceptInput>, Record<string, never>>({
  name: 'accept_invite',
  title: 'Accept an invite',
  summary: 'Makes the invited person a member, with a new account if needed.',
  description:
    'Uses the link of an invite up. A person with an account becomes a member, without any password. For another address an ' +
    'account is made, with this name and password. This does not sign in.',
  rest: { method: 'post', path: '/auth/invites/accept', status: 204 },
  errors: ['conflict', 'operation_unsupported'],
  input: AcceptInput,
  output: z.strictObject({}),
  handle: async (input, context) => {
    await acceptInvite(context, input);
    return {};
  },
});

interface Acceptance {
  readonly token: string;
  readonly name?: string | undefined;
  readonly password?: string | undefined;
  /** Where the person names an address, it must be the invited one. */
  readonly email?: string | undefined;
}

/**
 * Resolves when the person is a member. Throws `invalid_credentials` for a link that is not valid, `invalid_request` for a
 * missing name or password, `conflict` when the invite can no longer be carried out.
 */
export async function acceptInvite(context: PublicContext, acceptance: Acceptance): Promise<void> {
  const { ports } = context;
  const invited = await waitingInvite(context, acceptance.token);
  const { id, terms, orgId } = invited;
  if (acceptance.email !== undefined && emailKey(ports, acceptance.email) !== terms.email_key)
    throw invalidField('email', 'This invite is for another address; use that one.');
  await assertStillOffered(ports, invited);
  const person = await personOf(ports, invited, acceptance);
  const author = await personAuthor(context, { userId: person.userId, orgId });
  try {
    await decideAndAppend(ports, author, invite, {
      id,
      decide: (state, now) => decideAcceptance(state, { user_id: person.userId, name: person.name }, now),
    });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'conflict') throw error;
    if (person.name !== null) await forgetPerson(ports, person.userId);
    throw refusedLink(context);
  }
  const { failed, position } = await carryOutInvite(ports, author, id);
  context.notePosition(position);
  if (failed !== null) throw noLongerOffered(failed);
}

/** The invite behind a link, as long as it waits. Throws `invalid_credentials`; attempts are counted by source. */
async function waitingInvite(context: PublicContext, token: string): Promise<Waiting> {
  const { ports, source } = context;
  const on = { account: `link ${source}`, source: null };
  const found = await ports.attempts.attempt(on, async () => {
    const link = await ports.links.find('invite', token);
    return link?.subject == null ? null : await openInvite(ports, link.subject);
  });
  if (found === null) throw refusedLink(context);
  return found;
}

async function openInvite(ports: Ports, id: string): Promise<Waiting | null> {
  const { state } = await loadAggregate(ports.events, invite, id);
  const { terms, status, expiresAt } = state;
  const isOpen = status === 'waiting' && Date.parse(expiresAt) > ports.clock.now().getTime();
  const email = isOpen && terms !== null ? await ports.personal.open(terms.email) : null;
  return terms === null || email === null ? null : { ...state, id, terms, email };
}

function refusedLink({ ports, source }: PublicContext): GatewayError {
  ports.accessLog.countRefusal('invalid_credentials', source);
  return invalidLink('invite');
}

/** Decided again with the membership; told here before anything is made. Throws `conflict`. */
async function assertStillOffered(
  { events }: Pick<Ports, 'events'>,
  { orgId, createdBy, terms }: Waiting,
): Promise<void> {
  const { state } = await loadAggregate(events, organisation, orgId);
  if (state.name === null || state.lifetime !== 'live') throw noLongerOffered('organisation_deleted');
  try {
    assertMayGive(state, { userId: createdBy }, terms.role);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'insufficient_scope')
      throw noLongerOffered('inviter_lost_rights');
    throw error;
  }
}

const REASONS = {
  inviter_lost_rights:
    'The person who invited you may no longer give this role; ask another administrator for an invite.',
  organisation_deleted: 'The organisation was deleted.',
  address_taken:
    'An account with this address was made meanwhile; ask for a new invite and accept it with that account.',
} as const satisfies Partial<Record<InviteEnd, string>>;

const noLongerOffered = (why: InviteEnd): GatewayError =>
  new GatewayError(
    'conflict',
    why in REASONS ? REASONS[why as keyof typeof REASONS] : 'This invite has ended; ask for a new one.',
  );

/** The account that owns the address; null when a new one is needed. Throws `conflict` while one is being made or erased. */
async function accountOf({ events }: Pick<Ports, 'events'>, key: string): Promise<string | null> {
  const { state } = await loadAggregate(events, emailReservation, key);
  if (state.ownerId === null) return null;
  const { state: owner } = await loadAggregate(events, account, state.ownerId);
  if (owner.status === 'live') return state.ownerId;
  throw new GatewayError(
    'conflict',
    'The account of this address is being made or erased just now; use the link again in a few minutes.',
  );
}

const NewPerson = z.strictObject({ name: lineOfText(100), password: NewPassword });

/** Who accepts: an account there is, or a new one, whose password is stored before anything refers to it. */
async function personOf(ports: Ports, { terms, email, orgId }: Waiting, { name, password }: Acceptance) {
  const ownerId = await accountOf(ports, terms.email_key);
  if (ownerId !== null) return { userId: ownerId, name: null };
  if (ports.server.signUp === 'closed') {
    throw new GatewayError(
      'operation_unsupported',
      'New accounts are not made here; ask the operator to add you with the admin command.',
    );
  }
  const given = NewPerson.parse(parseInput(NewPerson, { name, password }));
  const orgName = ports.directory.state.organisations.get(orgId)?.name ?? '';
  const about = [email, given.name, orgName];
  await refuseWeakPassword(ports, given.password, { path: 'password', about });
  const hashed = await ports.secrets.hashPassword(given.password);
  const userId = ports.ids.newId('usr');
  await ports.secrets.savePassword(userId, hashed);
  return { userId, name: await ports.personal.seal(userId, given.name) };
}

/** Another request had accepted the invite: nothing refers to this person. */
async function forgetPerson({ secrets, personal }: Pick<Ports, 'secrets' | 'personal'>, userId: string) {
  await secrets.erasePassword(userId);
  await personal.erase(userId);
}
