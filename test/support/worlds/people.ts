/** Entries of the directory about people, for worlds that are made without events. */
import type {
  AgentEntry,
  DirectoryState,
  MemberEntry,
  OrganisationEntry,
  PersonEntry,
} from '../../../commands/ports/directory.ts';
import { type Role, rolesWithin } from '../../../commands/values/scopes.ts';

const AT = '2026-01-01T00:00:00.000Z';

export const orgEntry = (id: string, traits: Partial<OrganisationEntry> = {}): OrganisationEntry => ({
  id,
  name: id,
  createdAt: AT,
  eraseAt: null,
  isErased: false,
  notBefore: null,
  oauthClients: 'any',
  ...traits,
});

export const personEntry = (id: string, traits: Partial<PersonEntry> = {}): PersonEntry => ({
  id,
  name: id,
  email: `${id}@example.com`,
  registeredAt: AT,
  isVerified: true,
  notifications: 'each',
  isBeingErased: false,
  ...traits,
});

export const memberEntry = (
  orgId: string,
  userId: string,
  role: Role,
  traits: Partial<MemberEntry> = {},
): MemberEntry => ({
  id: `${orgId}/${userId}`,
  orgId,
  userId,
  role,
  since: '1',
  joinedAt: AT,
  changedAt: AT,
  heldSince: Object.fromEntries(rolesWithin(role).map((each) => [each, { position: '1', at: AT }])),
  ...traits,
});

export const agentEntry = (id: string, orgId: string, ownerId: string): AgentEntry => ({
  id,
  orgId,
  ownerId,
  name: 'Agent',
  createdAt: AT,
  ownedSince: '1',
  ownedAt: AT,
  version: 1,
});

type Memberships = Pick<DirectoryState, 'members' | 'userIdsByOrg' | 'orgIdsByUser'>;

/** The memberships of a directory, with their indexes. */
export function membershipsWith(...entries: readonly MemberEntry[]): Memberships {
  const state = { members: new Map(), userIdsByOrg: new Map(), orgIdsByUser: new Map() };
  for (const entry of entries) seat(state, entry);
  return state;
}

function seat({ members, userIdsByOrg, orgIdsByUser }: Memberships, entry: MemberEntry): void {
  const { id, orgId, userId } = entry;
  (members as Map<string, MemberEntry>).set(id, entry);
  (userIdsByOrg as Map<string, ReadonlySet<string>>).set(
    orgId,
    new Set([...(userIdsByOrg.get(orgId) ?? []), userId]),
  );
  (orgIdsByUser as Map<string, ReadonlySet<string>>).set(
    userId,
    new Set([...(orgIdsByUser.get(userId) ?? []), orgId]),
  );
}

/** Makes a person a member of an organisation of the directory, or gives the member another role. */
export function seatMember(state: DirectoryState, orgId: string, userId: string, role: Role): void {
  const people = state.people as Map<string, PersonEntry>;
  if (!people.has(userId)) people.set(userId, personEntry(userId));
  seat(state, memberEntry(orgId, userId, role));
}

export function unseatMember(state: DirectoryState, orgId: string, userId: string): void {
  (state.members as Map<string, MemberEntry>).delete(`${orgId}/${userId}`);
  (state.userIdsByOrg.get(orgId) as Set<string> | undefined)?.delete(userId);
  (state.orgIdsByUser.get(userId) as Set<string> | undefined)?.delete(orgId);
}
