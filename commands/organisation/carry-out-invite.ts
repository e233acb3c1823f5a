/**
 * What follows the acceptance of an invite: account, membership, grants. Each step adds nothing when it was done before, so the
 * request and the sweeper may both do it, and an interrupted one is resumed.
 */
import {
  account,
  emailReservation,
  registerAccount,
  reserveEmail,
  verifyEmail,
} from '../accounts/account.ts';
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { givePromisedGrant } from '../mailboxes/promised-grant.ts';
import type { InviteEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';
import type { Position } from '../values/position.ts';
import { ROLE_SCOPES } from '../values/scopes.ts';
import { abandonInvite, invite, type InviteEnd, type InviteState, settleInvite } from './invite.ts';
import { addMember, organisation, type OrganisationState, removeMember } from './organisation.ts';

export type InvitePorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'secrets' | 'links'
>;

/** An accepted invite, with the id of the person. */
interface Accepted extends InviteState {
  readonly id: string;
  readonly terms: NonNullable<InviteState['terms']>;
  readonly accepted: NonNullable<InviteState['accepted']>;
}

interface CarriedOut {
  /** Null when the person is a member; else the invite ended so. */
  readonly failed: InviteEnd | null;
  readonly position: Position | null;
}

/** Resolves when the directory contains the result. Does nothing for an invite that is not accepted or was carried out. */
export async function carryOutInvite(ports: InvitePorts, author: Author, id: string): Promise<CarriedOut> {
  const { state } = await loadAggregate(ports.events, invite, id);
  const { terms, accepted, status } = state;
  if (terms === null || accepted === null || status !== 'accepted') return { failed: null, position: null };
  const claim: Accepted = { ...state, id, terms, accepted };
  const failed = (await openAccount(ports, author, claim)) ?? (await join(ports, author, claim));
  const { position } = await decideAndAppend(ports, author, invite, {
    id,
    decide: (current) => (failed === null ? settleInvite(current) : abandonInvite(current, failed)),
  });
  if (position !== null) await ports.directory.waitFor(position);
  await forgetInvite(ports, id);
  return { failed, position };
}

/** The link and the address of an invite that has ended or was carried out: both are needed no longer. */
export async function forgetInvite(
  { links, personal }: Pick<Ports, 'links' | 'personal'>,
  id: string,
): Promise<void> {
  await links.withdraw(id);
  await personal.erase(id);
}

/** The person's account exists then, with a verified address. */
async function openAccount(ports: InvitePorts, author: Author, claim: Accepted): Promise<InviteEnd | null> {
  const { user_id: userId, name } = claim.accepted;
  const { state } = await loadAggregate(ports.events, account, userId);
  if (name !== null && state.status === 'none')
    return await registerInvited(ports, author, { ...claim, name });
  if (state.status !== 'live') return 'member_removed';
  await decideAndAppend(ports, author, account, { id: userId, decide: verifyEmail });
  return null;
}

async function registerInvited(
  ports: InvitePorts,
  author: Author,
  { terms, accepted, name }: Accepted & { readonly name: NonNullable<Accepted['accepted']['name']> },
): Promise<InviteEnd | null> {
  const { user_id: userId } = accepted;
  const address = await ports.personal.open(terms.email);
  // The invite's key is erased once the account exists: then another process was faster.
  if (address === null && (await isRegistered(ports, userId))) return null;
  const isOwn = address !== null && (await reserve(ports, author, { key: terms.email_key, userId }));
  if (!isOwn) {
    await ports.secrets.erasePassword(userId);
    await ports.personal.erase(userId);
    return 'address_taken';
  }
  const email = await ports.personal.seal(userId, address);
  await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) =>
      state.status === 'none'
        ? [...registerAccount(state, { email, name, isVerified: true }), PASSWORD_SET]
        : [],
  });
  return null;
}

async function isRegistered({ events }: Pick<Ports, 'events'>, userId: string): Promise<boolean> {
  const { state } = await loadAggregate(events, account, userId);
  return state.status !== 'none';
}

/** Its hash was stored before the invite was accepted. */
const PASSWORD_SET = { type: 'PasswordSet', data: { by: 'link' } } as const;

/** False when the address belongs to another account meanwhile. */
async function reserve(
  ports: InvitePorts,
  author: Author,
  { key, userId }: { readonly key: string; readonly userId: string },
): Promise<boolean> {
  const decide = (state: Parameters<typeof reserveEmail>[0]) => reserveEmail(state, userId);
  const reserved = await unlessRefused(decideAndAppend(ports, author, emailReservation, { id: key, decide }));
  return !(reserved instanceof GatewayError);
}

/** The refusal, or what the work resolves with. */
async function unlessRefused<T>(work: Promise<T>): Promise<T | GatewayError> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof GatewayError && REFUSALS.has(error.code)) return error;
    throw error;
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['conflict', 'not_found', 'insufficient_scope']);

/** Membership and grants. */
async function join(ports: InvitePorts, author: Author, claim: Accepted): Promise<InviteEnd | null> {
  const { id: inviteId, orgId, createdBy, terms, accepted } = claim;
  const { user_id: userId } = accepted;
  const added = await unlessRefused(
    decideAndAppend(ports, author, organisation, {
      id: orgId,
      decide: (state) =>
        state.members.has(userId)
          ? []
          : addMember(state, { userId, role: terms.role, inviteId, by: { userId: createdBy } }),
    }),
  );
  if (added instanceof GatewayError)
    return added.code === 'insufficient_scope' ? 'inviter_lost_rights' : 'organisation_deleted';
  if (!added.state.members.has(userId)) return 'member_removed';
  if (await wasErased(ports, author, claim)) return 'member_removed';
  if (mayStillGrant(added.state, createdBy)) await giveGrants(ports, author, claim);
  return null;
}

/**
 * An erasure that began after the account was looked at may have left every organisation before this membership began: then it
 * ends here.
 */
async function wasErased(
  ports: InvitePorts,
  author: Author,
  { orgId, accepted: { user_id: userId } }: Accepted,
): Promise<boolean> {
  const { state } = await loadAggregate(ports.events, account, userId);
  if (state.status === 'live') return false;
  await decideAndAppend(ports, author, organisation, {
    id: orgId,
    decide: (current) =>
      current.members.has(userId) ? removeMember(current, { userId, reason: 'erased', by: { userId } }) : [],
  });
  return true;
}

const mayStillGrant = ({ members }: OrganisationState, inviterId: string): boolean => {
  const role = members.get(inviterId);
  return role !== undefined && ROLE_SCOPES[role].includes('mailboxes:grants');
};

async function giveGrants(
  ports: InvitePorts,
  author: Author,
  { terms, createdBy, accepted }: Accepted,
): Promise<void> {
  for (const { mailbox_id, scopes, folder_roles } of terms.mailbox_grants) {
    await givePromisedGrant(ports, author, {
      mailboxId: mailbox_id,
      userId: accepted.user_id,
      giverId: createdBy,
      terms: { scopes, folderRoles: folder_roles },
    });
  }
}

/** Invites that were accepted and not carried out: a request does so at once, unless it was interrupted. */
export const listAcceptedInvites = ({ directory }: Pick<Ports, 'directory'>): readonly InviteEntry[] =>
  [...directory.state.invites.values()].filter(({ acceptedBy }) => acceptedBy !== null);

/** Erases the address of an invite that is over. False for one that is not. */
export async function forgetEndedInvite(ports: InvitePorts, id: string): Promise<boolean> {
  const { state } = await loadAggregate(ports.events, invite, id);
  const isOver = state.status === 'ended' || state.status === 'settled';
  if (isOver) await forgetInvite(ports, id);
  return isOver;
}
