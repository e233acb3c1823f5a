/** How events of organisations, accounts, invites and agents change the directory. Pure except for opening sealed texts. */
import type {
  AgentEntry,
  HeldSince,
  InviteEntry,
  MemberEntry,
  OrganisationEntry,
  PersonEntry,
} from '../commands/ports/directory.ts';
import type { AnyEvent } from '../commands/event-catalogue.ts';
import type { PastFact, StoredEvent } from '../commands/values/event.ts';
import type { Sealed } from '../commands/values/sealed.ts';
import { type Role, rolesWithin } from '../commands/values/scopes.ts';
import {
  type DirectoryChange,
  type DirectoryEvent,
  type Entity,
  type LookUp,
  NOTHING,
  organisationOf,
  put,
} from './directory-entities.ts';
import type { Open } from './projection.ts';

type FactOf<Type extends AnyEvent['type']> = Extract<PastFact<AnyEvent>, { readonly type: Type }>;

/** An erased text is shown as empty. */
const openOr = async (open: Open, sealed: Sealed): Promise<string> => (await open(sealed)) ?? '';

export function organisationChanges(
  id: string,
  { fact, position }: DirectoryEvent,
  lookUp: LookUp,
): DirectoryChange {
  const at = fact.meta.occurred_at;
  const changed = (change: Partial<OrganisationEntry>): DirectoryChange => {
    const before = lookUp('organisation', id);
    return before ? put({ kind: 'organisation', value: { ...before, ...change } }) : NOTHING;
  };
  switch (fact.type) {
    case 'OrganisationCreated': {
      const life = {
        createdAt: at,
        eraseAt: null,
        isErased: false,
        notBefore: null,
        oauthClients: 'any',
      } as const;
      return put({ kind: 'organisation', value: { id, name: fact.data.name, ...life } });
    }
    case 'OrganisationRenamed':
      return changed({ name: fact.data.name });
    case 'OrganisationDeleted':
      return changed({ eraseAt: fact.data.erase_at, notBefore: String(position) });
    case 'OrganisationOAuthClientsSet':
      return changed({ oauthClients: fact.data.rule });
    case 'OrganisationRestored':
      return changed({ eraseAt: null });
    case 'OrganisationErased':
      return changed({ isErased: true });
    case 'MemberAdded':
      return put({ kind: 'member', value: memberOf(id, fact, String(position)) });
    case 'MemberRoleChanged': {
      const before = lookUp('member', `${id}/${fact.data.user_id}`);
      if (!before) return NOTHING;
      const { role } = fact.data;
      const heldSince = heldWith(role, before.heldSince, { position: String(position), at });
      return put({ kind: 'member', value: { ...before, role, changedAt: at, heldSince } });
    }
    case 'MemberRemoved':
      return { put: [], remove: [{ kind: 'member', id: `${id}/${fact.data.user_id}` }] };
    default:
      return NOTHING;
  }
}

const memberOf = (orgId: string, { data, meta }: FactOf<'MemberAdded'>, since: string): MemberEntry => ({
  id: `${orgId}/${data.user_id}`,
  orgId,
  userId: data.user_id,
  role: data.role,
  since,
  joinedAt: meta.occurred_at,
  changedAt: meta.occurred_at,
  heldSince: heldWith(data.role, {}, { position: since, at: meta.occurred_at }),
});

/** A role that was lost and given again is held since it was given again. */
const heldWith = (role: Role, before: MemberEntry['heldSince'], now: HeldSince): MemberEntry['heldSince'] =>
  Object.fromEntries(rolesWithin(role).map((each) => [each, before[each] ?? now]));

export async function accountChanges(
  id: string,
  { fact }: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  if (fact.type === 'AccountRegistered')
    return put({ kind: 'person', value: await registered(id, fact, open) });
  if (fact.type === 'AccountErased') {
    const remove = [
      { kind: 'person', id },
      { kind: 'sessions', id },
    ] as const;
    return { put: [], remove };
  }
  const before = lookUp('person', id);
  const change = before && (await accountChange(fact, open));
  return change ? put({ kind: 'person', value: { ...before, ...change } }) : NOTHING;
}

export async function inviteChanges(
  id: string,
  { fact }: DirectoryEvent,
  lookUp: LookUp,
  open: Open,
): Promise<DirectoryChange> {
  const before = lookUp('invite', id);
  switch (fact.type) {
    case 'InviteCreated':
      return put({ kind: 'invite', value: await invited(id, fact, open) });
    case 'InviteSettled':
    case 'InviteEnded':
      return { put: [], remove: [{ kind: 'invite', id }] };
    case 'InviteResent':
      return before
        ? put({ kind: 'invite', value: { ...before, expiresAt: fact.data.expires_at } })
        : NOTHING;
    case 'InviteAccepted':
      return before ? put({ kind: 'invite', value: { ...before, acceptedBy: fact.data.user_id } }) : NOTHING;
    default:
      return NOTHING;
  }
}

async function accountChange(fact: PastFact<AnyEvent>, open: Open): Promise<Partial<PersonEntry> | null> {
  switch (fact.type) {
    case 'EmailVerified':
      return { isVerified: true };
    case 'AccountRenamed':
      return { name: await openOr(open, fact.data.name) };
    case 'NotificationsSet':
      return { notifications: fact.data.level };
    case 'AccountErasureStarted':
      return { isBeingErased: true };
    case 'AccountErasureStopped':
      return { isBeingErased: false };
    default:
      return null;
  }
}

const registered = async (
  id: string,
  { data, meta }: FactOf<'AccountRegistered'>,
  open: Open,
): Promise<PersonEntry> => ({
  id,
  name: await openOr(open, data.name),
  email: await openOr(open, data.email),
  registeredAt: meta.occurred_at,
  isVerified: data.is_verified,
  notifications: 'each',
  isBeingErased: false,
});

const invited = async (
  id: string,
  { data, meta }: FactOf<'InviteCreated'>,
  open: Open,
): Promise<InviteEntry> => ({
  id,
  orgId: meta.org_id ?? '',
  email: await openOr(open, data.email),
  emailKey: data.email_key,
  role: data.role,
  mailboxGrants: data.mailbox_grants.map(({ mailbox_id, scopes, folder_roles }) => ({
    mailboxId: mailbox_id,
    scopes,
    folderRoles: folder_roles,
  })),
  expiresAt: data.expires_at,
  createdAt: meta.occurred_at,
  createdBy: meta.actor.id,
  acceptedBy: null,
});

export function agentChanges(
  id: string,
  { fact, position }: DirectoryEvent,
  lookUp: LookUp,
): DirectoryChange {
  if (fact.type === 'AgentCreated') {
    const value = created(id, fact, String(position));
    return put({ kind: 'agent', value }, ownedBy(value.ownerId, value, lookUp));
  }
  if (fact.type === 'AgentDeleted') return { put: [], remove: [{ kind: 'agent', id }] };
  if (fact.type !== 'AgentChanged') return NOTHING;
  const { owner_id } = fact.data;
  const owners =
    owner_id === undefined ? [] : [ownedBy(owner_id, { id, orgId: fact.meta.org_id ?? '' }, lookUp)];
  const before = lookUp('agent', id);
  if (!before) return put(...owners);
  const { name = before.name } = fact.data;
  const handedOver = owner_id !== undefined && {
    ownerId: owner_id,
    ownedSince: String(position),
    ownedAt: fact.meta.occurred_at,
  };
  const value = { ...before, name, ...handedOver, version: before.version + 1 };
  return put({ kind: 'agent', value }, ...owners);
}

/** An agent that was removed, as one of its events could not be read, keeps its owners too. */
function ownedBy(ownerId: string, { id, orgId }: Pick<AgentEntry, 'id' | 'orgId'>, lookUp: LookUp): Entity {
  const before = lookUp('agentOwners', id)?.ownerIds ?? [];
  const ownerIds = [...new Set([...before, ownerId])];
  return { kind: 'agentOwners', value: { id, orgId, ownerIds, lastOwnerIds: [ownerId] } };
}

/** Whoever the event names may own the agent now: a hold on them counts, and none of them is erased while that is not known. */
export function ownedUnread(id: string, { data, metadata }: StoredEvent, lookUp: LookUp): DirectoryChange {
  const named = JSON.stringify([data, metadata['actor'] ?? null]).matchAll(/\busr_[0-9a-z]{26}\b/g);
  const before = lookUp('agentOwners', id);
  const ownerIds = [...new Set([...(before?.ownerIds ?? []), ...[...named].map(([userId]) => userId)])];
  const orgId = before?.orgId ?? organisationOf(metadata);
  return put({ kind: 'agentOwners', value: { id, orgId, ownerIds, lastOwnerIds: ownerIds } });
}

const created = (id: string, { data, meta }: FactOf<'AgentCreated'>, since: string): AgentEntry => ({
  id,
  orgId: meta.org_id ?? '',
  ownerId: data.owner_id,
  name: data.name,
  createdAt: meta.occurred_at,
  ownedSince: since,
  ownedAt: meta.occurred_at,
  version: 1,
});
