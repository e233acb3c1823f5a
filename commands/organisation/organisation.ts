/** An organisation and its members. Who may change what is decided on its own stream, so that of two changes the second sees the first. */
import type { Aggregate } from '../kernel/decide-and-append.ts';
import type { OAuthClientRule } from '../ports/directory.ts';
import { catalogueOf, type Fact, type PastFact } from '../values/event.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { type Role, ROLE_SCOPES } from '../values/scopes.ts';
import { type OrganisationEvent, organisationEvents, type RemovalReason } from './organisation-events.ts';

/** Deleted, then restored or erased. */
type Lifetime = 'live' | 'deleted' | 'erased';

export interface OrganisationState {
  readonly name: string | null;
  readonly members: ReadonlyMap<string, Role>;
  /** The invites that made somebody a member once. */
  readonly usedInvites: ReadonlySet<string>;
  readonly lifetime: Lifetime;
  /** The last time it was deleted: when it is erased. */
  readonly eraseAt: string | null;
  readonly oauthClients: OAuthClientRule;
}

export const organisation: Aggregate<OrganisationState, OrganisationEvent> = {
  category: 'organisation',
  catalogue: catalogueOf(organisationEvents),
  initial: {
    name: null,
    members: new Map(),
    usedInvites: new Set(),
    lifetime: 'live',
    eraseAt: null,
    oauthClients: 'any',
  },
  evolve: (state, fact: PastFact<OrganisationEvent>) => {
    switch (fact.type) {
      case 'OrganisationCreated':
      case 'OrganisationRenamed':
        return { ...state, name: fact.data.name };
      case 'OrganisationDeleted':
        return { ...state, lifetime: 'deleted', eraseAt: fact.data.erase_at };
      case 'OrganisationRestored':
        return { ...state, lifetime: 'live', eraseAt: null };
      case 'OrganisationErased':
        return { ...state, lifetime: 'erased' };
      case 'OrganisationOAuthClientsSet':
        return { ...state, oauthClients: fact.data.rule };
      case 'MemberAdded':
        return {
          ...withRole(state, fact.data),
          usedInvites: new Set([...state.usedInvites, ...inviteOf(fact.data)]),
        };
      case 'MemberRoleChanged':
        return withRole(state, fact.data);
      case 'MemberRemoved':
        return { ...state, members: new Map([...state.members].filter(([id]) => id !== fact.data.user_id)) };
    }
  },
};

const inviteOf = ({ invite_id }: { readonly invite_id?: string | undefined }): readonly string[] =>
  invite_id === undefined ? [] : [invite_id];

const withRole = (
  state: OrganisationState,
  { user_id, role }: { readonly user_id: string; readonly role: Role },
): OrganisationState => ({ ...state, members: new Map(state.members).set(user_id, role) });

type Facts = readonly Fact<OrganisationEvent>[];

/** Who asks: a member, whose role of this moment counts, or the gateway and its operator. */
export type Actor = { readonly userId: string } | 'operator';

/** A member is added by a person who may give that role, or by the operator. */
interface NewMember {
  readonly userId: string;
  readonly role: Role;
  readonly inviteId?: string;
  /** Who gives the role. */
  readonly by: Actor;
}

/** Creates the organisation with its first owner. Refuses when it exists. */
export function createOrganisation(
  state: OrganisationState,
  command: { readonly name: string; readonly ownerId: string },
): Facts {
  if (state.name !== null) throw new GatewayError('conflict', 'This organisation exists already.');
  return [
    { type: 'OrganisationCreated', data: { name: command.name } },
    { type: 'MemberAdded', data: { user_id: command.ownerId, role: 'owner' } },
  ];
}

/**
 * Adds a member. An existing member keeps the role: throws `conflict` for another role, adds nothing for the same. An invite
 * adds one member once: a person who was removed since is not added again.
 */
export function addMember(state: OrganisationState, { userId, role, inviteId, by }: NewMember): Facts {
  assertLive(state);
  const present = state.members.get(userId);
  if (present === role || (inviteId !== undefined && state.usedInvites.has(inviteId))) return [];
  if (present !== undefined)
    throw new GatewayError('conflict', `This person is a member already, as ${present}.`);
  assertMayGive(state, by, role);
  return [
    {
      type: 'MemberAdded',
      data: { user_id: userId, role, ...(inviteId !== undefined && { invite_id: inviteId }) },
    },
  ];
}

/**
 * Gives a member another role. Throws `not_found`, `insufficient_scope` when the actor may not change that member or give that
 * role, `last_owner`.
 */
export function changeRole(
  state: OrganisationState,
  { userId, role, by }: { readonly userId: string; readonly role: Role; readonly by: Actor },
): Facts {
  assertLive(state);
  const present = roleOf(state, userId);
  if (present === role) return [];
  assertMayGive(state, by, present);
  assertMayGive(state, by, role);
  assertNotLastOwner(state, userId);
  return [{ type: 'MemberRoleChanged', data: { user_id: userId, role } }];
}

/** Ends a membership; every member may end the own one. Throws as `changeRole` does. */
export function removeMember(
  state: OrganisationState,
  { userId, reason, by }: { readonly userId: string; readonly reason: RemovalReason; readonly by: Actor },
): Facts {
  const present = roleOf(state, userId);
  if (by === 'operator' || by.userId !== userId) assertMayGive(state, by, present);
  // Deleted by its owners, it needs none any longer.
  if (state.lifetime === 'live') assertNotLastOwner(state, userId);
  return [{ type: 'MemberRemoved', data: { user_id: userId, reason } }];
}

/** Throws `insufficient_scope` unless an owner asks. */
export function renameOrganisation(state: OrganisationState, name: string, by: Actor): Facts {
  assertLive(state);
  assertOwner(state, by);
  return state.name === name ? [] : [{ type: 'OrganisationRenamed', data: { name } }];
}

/** Which applications members may connect from now on; connected ones stay. Adds nothing when it is the same. */
export function setOAuthClients(state: OrganisationState, rule: OAuthClientRule, by: Actor): Facts {
  assertLive(state);
  assertOwner(state, by);
  return state.oauthClients === rule ? [] : [{ type: 'OrganisationOAuthClientsSet', data: { rule } }];
}

/** Deletes it; `eraseAt` is when it can no longer be restored. Adds nothing for a deleted one. */
export function deleteOrganisation(state: OrganisationState, eraseAt: Date, by: Actor): Facts {
  if (state.name === null || state.lifetime === 'erased') throw notFound('organisation');
  assertOwner(state, by);
  if (state.lifetime === 'deleted') return [];
  return [{ type: 'OrganisationDeleted', data: { erase_at: eraseAt.toISOString() } }];
}

/** Throws `conflict` when its time is over. Adds nothing for one that is not deleted. */
export function restoreOrganisation(state: OrganisationState, now: Date, by: Actor): Facts {
  if (state.name === null || state.lifetime === 'erased') throw notFound('organisation');
  assertOwner(state, by);
  if (state.lifetime === 'live') return [];
  if (state.eraseAt !== null && Date.parse(state.eraseAt) <= now.getTime())
    throw new GatewayError('conflict', 'The time to restore this organisation is over.');
  return [{ type: 'OrganisationRestored', data: {} }];
}

/** The end of a deleted organisation, when its time is over. */
export function eraseOrganisation(state: OrganisationState, now: Date): Facts {
  const isDue =
    state.lifetime === 'deleted' && state.eraseAt !== null && Date.parse(state.eraseAt) <= now.getTime();
  return isDue ? [{ type: 'OrganisationErased', data: {} }] : [];
}

function assertLive({ name, lifetime }: OrganisationState): void {
  if (name === null || lifetime === 'erased') throw notFound('organisation');
  if (lifetime === 'deleted')
    throw new GatewayError('conflict', 'This organisation is deleted; an owner can restore it.');
}

function roleOf({ members }: OrganisationState, userId: string): Role {
  const role = members.get(userId);
  if (role === undefined) throw notFound('member');
  return role;
}

/**
 * Nobody gives, changes or takes a role above their own, and only owners do so with owners (`contract.md` 20). A role is above
 * another when it holds a scope that the other lacks.
 */
export function mayGive(own: Role | null, role: Role): boolean {
  const held = own === null ? [] : ROLE_SCOPES[own];
  const isAbove = ROLE_SCOPES[role].some((scope) => !held.includes(scope));
  return held.includes('members:manage') && !isAbove && (role !== 'owner' || own === 'owner');
}

export function assertMayGive({ members }: OrganisationState, by: Actor, role: Role): void {
  if (by === 'operator' || mayGive(members.get(by.userId) ?? null, role)) return;
  throw new GatewayError(
    'insufficient_scope',
    `Your role does not allow you to give or take the role ${role}.`,
    {
      details: { required: ['members:manage'], role },
    },
  );
}

function assertOwner({ members }: OrganisationState, by: Actor): void {
  if (by === 'operator' || members.get(by.userId) === 'owner') return;
  throw new GatewayError('insufficient_scope', 'Only an owner of the organisation may do this.', {
    details: { required: ['org:manage'] },
  });
}

function assertNotLastOwner({ members }: OrganisationState, userId: string): void {
  if (members.get(userId) !== 'owner') return;
  const others = [...members].filter(([id, role]) => role === 'owner' && id !== userId);
  if (others.length > 0) return;
  throw new GatewayError(
    'last_owner',
    'This is the last owner; make another member an owner first, or delete the organisation.',
  );
}
