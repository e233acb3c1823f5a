/**
 * Who is a member of an organisation, in which role, and what the role gives. Only this file reads the memberships of the
 * directory: one of a deleted organisation, or of a person whose account is being erased, does not count.
 */
import type {
  DirectoryState,
  MailboxEntry,
  MemberEntry,
  OrganisationEntry,
  PositionText,
} from '../ports/directory.ts';
import { type OrgScope, type Role, ROLE_SCOPES, ROLES, type Scope } from '../values/scopes.ts';

type Members = Pick<DirectoryState, 'members' | 'organisations' | 'people'>;
export type MembersByOrg = Members & Pick<DirectoryState, 'userIdsByOrg'>;
type MembersByPerson = Members & Pick<DirectoryState, 'orgIdsByUser'>;

/** What a person may not do before the address of the account is verified: nothing that sends, invites or calls out. */
export const WITHHELD_UNVERIFIED: ReadonlySet<Scope> = new Set<Scope>([
  'drafts:send',
  'approvals:request',
  'approvals:commit',
  'approvals:decide',
  'members:manage',
  'webhooks:manage',
  'deliveries:replay',
  'mailboxes:manage',
]);

/** The membership, if it counts now. */
export function memberOfOrg(state: Members, orgId: string, userId: string): MemberEntry | null {
  const org = state.organisations.get(orgId);
  const member = state.members.get(`${orgId}/${userId}`);
  if (!org || !member || org.eraseAt !== null || org.isErased) return null;
  return state.people.get(userId)?.isBeingErased === false ? member : null;
}

export const roleIn = (state: Members, orgId: string, userId: string): Role | null =>
  memberOfOrg(state, orgId, userId)?.role ?? null;

/** Members of an organisation whose membership counts now. */
export const membersOf = (state: MembersByOrg, orgId: string): readonly MemberEntry[] =>
  [...(state.userIdsByOrg.get(orgId) ?? [])].flatMap((userId) => memberOfOrg(state, orgId, userId) ?? []);

/** The memberships of a person that count now, the oldest first. */
export const membershipsOf = (state: MembersByPerson, userId: string): readonly MemberEntry[] =>
  allMembershipsOf(state, userId)
    .filter(({ orgId }) => memberOfOrg(state, orgId, userId) !== null)
    .toSorted(byAge);

/** Every membership of a person, also those that do not count now: for the one who ends them. */
export const allMembershipsOf = (
  { members, orgIdsByUser }: Pick<MembersByPerson, 'members' | 'orgIdsByUser'>,
  userId: string,
): readonly MemberEntry[] =>
  [...(orgIdsByUser.get(userId) ?? [])].flatMap((orgId) => members.get(`${orgId}/${userId}`) ?? []);

/** True while an organisation is deleted and not erased yet. */
export const isRestorable = (org: OrganisationEntry | undefined): boolean =>
  typeof org?.eraseAt === 'string' && !org.isErased;

/** Deleted organisations for which nothing is done or judged until they are restored or erased. */
export const restorableOrgs = ({ organisations }: Pick<DirectoryState, 'organisations'>): readonly string[] =>
  [...organisations.values()].filter(isRestorable).map(({ id }) => id);

/** An owner of a deleted organisation, who may restore it. */
export function restorerOf(state: Members, orgId: string, userId: string): MemberEntry | null {
  const member = state.members.get(`${orgId}/${userId}`);
  if (!isRestorable(state.organisations.get(orgId)) || member?.role !== 'owner') return null;
  return state.people.get(userId)?.isBeingErased === false ? member : null;
}

/** How many members an organisation has, also while it is deleted. */
export const countMembers = ({ userIdsByOrg }: Pick<DirectoryState, 'userIdsByOrg'>, orgId: string): number =>
  userIdsByOrg.get(orgId)?.size ?? 0;

/** False while the organisation of a mailbox is deleted: its mail is neither fetched nor sent. */
export const isWorkedOn = (
  { organisations }: Pick<DirectoryState, 'organisations'>,
  { orgId }: Pick<MailboxEntry, 'orgId'>,
): boolean => (organisations.get(orgId)?.eraseAt ?? null) === null;

/** The deleted organisations that a person may restore, the oldest membership first. */
export const restorableBy = (state: MembersByPerson, userId: string): readonly MemberEntry[] =>
  allMembershipsOf(state, userId)
    .filter(({ orgId }) => restorerOf(state, orgId, userId) !== null)
    .toSorted(byAge);

/** The organisation's scopes that a membership gives a token made at this position: those it has given ever since. */
export function scopesHeldSince(
  { role, heldSince }: MemberEntry,
  position: PositionText | null,
): readonly OrgScope[] {
  if (position === null) return ROLE_SCOPES[role];
  const held = ROLES.filter((each) => {
    const from = heldSince[each];
    return from !== undefined && !isBefore(position, from.position);
  });
  return [...new Set(held.flatMap((each) => ROLE_SCOPES[each]))];
}

/** The organisation's scopes of a person now; none of those that an unverified address withholds. */
export function orgScopesOf(state: Members, orgId: string, userId: string): readonly OrgScope[] {
  const role = roleIn(state, orgId, userId);
  if (role === null) return [];
  return isVerified(state, userId)
    ? ROLE_SCOPES[role]
    : ROLE_SCOPES[role].filter((scope) => !WITHHELD_UNVERIFIED.has(scope));
}

export const isVerified = ({ people }: Pick<DirectoryState, 'people'>, userId: string): boolean =>
  people.get(userId)?.isVerified === true;

/** Of decimal numbers without leading zeros the longer one is the greater. */
export const isBefore = (a: PositionText, b: PositionText): boolean =>
  a.length === b.length ? a < b : a.length < b.length;

const byAge = (a: MemberEntry, b: MemberEntry): number => (isBefore(a.since, b.since) ? -1 : 1);

/** True for a session or token that a deletion of its organisation ended. */
export const endedByDeletion = (org: OrganisationEntry, position: PositionText): boolean =>
  org.notBefore !== null && isBefore(position, org.notBefore);
