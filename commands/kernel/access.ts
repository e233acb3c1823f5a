/**
 * The present rights of a token: a pure function of the directory, computed at each request, never from claims
 * (`contract.md` 3).
 */
import type {
  AgentEntry,
  DirectoryState,
  GrantEntry,
  MemberEntry,
  OrganisationEntry,
  PersonEntry,
  PositionText,
  SessionEntry,
  TokenEntry,
} from '../ports/directory.ts';
import {
  AGENT_ORG_SCOPES,
  isMailboxScope,
  MAILBOX_SCOPES,
  type OrgScope,
  type Role,
  ROLE_SCOPES,
  type Scope,
  SESSION_ONLY_SCOPES,
} from '../values/scopes.ts';
import { quotasOn } from './grant-quotas.ts';
import {
  endedByDeletion,
  isBefore,
  memberOfOrg,
  restorerOf,
  scopesHeldSince,
  WITHHELD_UNVERIFIED,
} from './membership.ts';
import type { FolderRole } from '../values/folder-roles.ts';

/** The kind of caller that policy distinguishes; an agent's credential is always `agent`. */
export type ActorKind = 'person' | 'delegated' | 'agent' | 'system';

export interface Caller {
  readonly actor: ActorKind;
  readonly principal: { readonly kind: 'user' | 'agent'; readonly id: string; readonly name: string };
  /** The person behind a delegated token or an agent; null for a person's own session. */
  readonly onBehalfOf: string | null;
  readonly org: {
    readonly id: string;
    readonly name: string;
    /** An owner's session: the organisation can only be restored. */
    readonly isDeleted: boolean;
  };
  /** The credential of the request; a session is described as a token with the id of the session. */
  readonly token: TokenEntry;
  /** Only for a person who is signed in; null for every token. */
  readonly session: CallerSession | null;
  readonly role: Role | null;
  /** False while the person behind has not verified the address: some scopes are withheld. */
  readonly isVerified: boolean;
  readonly orgScopes: ReadonlySet<Scope>;
  /** Mailboxes with a live grant, each with the scopes that token, cap and grant all contain. */
  readonly mailboxes: ReadonlyMap<string, MailboxAccess>;
  /** Every scope held anywhere: it makes a tool visible. */
  readonly scopes: ReadonlySet<Scope>;
}

export interface CallerSession {
  readonly id: string;
  /** The end of the time in which the password counts as just given (`contract.md` 18); null = it does not. */
  readonly steppedUpUntil: string | null;
}

export interface MailboxAccess {
  readonly scopes: ReadonlySet<Scope>;
  /** Null = every folder; otherwise source and destination must have one of these roles. */
  readonly folderRoles: readonly FolderRole[] | null;
  readonly quotas: Readonly<Record<string, number>> | null;
}

const isLive = (grant: GrantEntry, now: Date): boolean =>
  grant.expiresAt === null || Date.parse(grant.expiresAt) > now.getTime();

/** False for a grant from an earlier membership of its person. */
export function isOfMembership(state: DirectoryState, grant: GrantEntry): boolean {
  if (grant.principalKind === 'agent') return true;
  const orgId = state.mailboxes.get(grant.mailboxId)?.orgId ?? '';
  const member = memberOfOrg(state, orgId, grant.principalId);
  return member !== null && !isBefore(grant.position, member.since);
}

/** The grant of a principal on a mailbox; null without one, once it has expired, and when its membership ended. */
export function liveGrant(
  state: DirectoryState,
  mailboxId: string,
  principalId: string,
  now: Date,
): GrantEntry | null {
  const grantId = state.grantIds.get(mailboxId)?.get(principalId);
  const grant = grantId === undefined ? undefined : state.grants.get(grantId);
  return grant && isLive(grant, now) && isOfMembership(state, grant) ? grant : null;
}

const commonRoles = (
  a: readonly FolderRole[] | null,
  b: readonly FolderRole[] | null,
): readonly FolderRole[] | null => (a === null ? b : b === null ? a : a.filter((role) => b.includes(role)));

/** An agent has at most the rights of its owner on that mailbox. */
function boundByOwner(
  state: DirectoryState,
  grant: GrantEntry,
  ownerId: string | null,
  now: Date,
): { scopes: readonly Scope[]; folderRoles: readonly FolderRole[] | null } | null {
  if (ownerId === null) return grant;
  const owners = liveGrant(state, grant.mailboxId, ownerId, now);
  if (!owners) return null;
  return {
    scopes: grant.scopes.filter((scope) => owners.scopes.includes(scope)),
    folderRoles: commonRoles(grant.folderRoles, owners.folderRoles),
  };
}

function mailboxAccess(
  state: DirectoryState,
  token: TokenEntry,
  { agent, person }: Standing,
  now: Date,
): ReadonlyMap<string, MailboxAccess> {
  const ownerId = agent?.ownerId ?? null;
  const access = new Map<string, MailboxAccess>();
  for (const mailboxId of state.mailboxIdsByPrincipal.get(token.principalId) ?? []) {
    const mailbox = state.mailboxes.get(mailboxId);
    if (mailbox?.orgId !== token.orgId || mailbox.state === 'removed') continue;
    if (token.mailboxIds !== null && !token.mailboxIds.includes(mailboxId)) continue;
    const grant = liveGrant(state, mailboxId, token.principalId, now);
    const bounded = grant && boundByOwner(state, grant, ownerId, now);
    if (!bounded) continue;
    access.set(mailboxId, {
      scopes: new Set(
        bounded.scopes.filter((scope) => token.scopes.includes(scope) && mayHold(person, scope)),
      ),
      folderRoles: bounded.folderRoles,
      quotas: quotasOn(state, mailboxId, token.principalId),
    });
  }
  return access;
}

const mayHold = ({ isVerified }: PersonEntry, scope: Scope): boolean =>
  isVerified || !WITHHELD_UNVERIFIED.has(scope);

function orgScopes(
  token: TokenEntry,
  { member, person }: Standing,
  session: CallerSession | null,
): ReadonlySet<Scope> {
  const given = session === null ? scopesHeldSince(member, token.position) : ROLE_SCOPES[member.role];
  const held = given.filter((scope) => mayHold(person, scope));
  const cap =
    token.principalKind === 'agent' ? AGENT_ORG_SCOPES.filter((scope) => held.includes(scope)) : held;
  return new Set(
    token.scopes.filter(
      (scope): scope is OrgScope =>
        !isMailboxScope(scope) &&
        cap.includes(scope) &&
        (session !== null || !SESSION_ONLY_SCOPES.includes(scope)),
    ),
  );
}

/** True while the password counts as just given (`contract.md` 18). */
export const isFresh = (session: Pick<CallerSession, 'steppedUpUntil'> | null, now: Date): boolean =>
  session?.steppedUpUntil != null && Date.parse(session.steppedUpUntil) > now.getTime();

/** A session described as a token: all rights of the person's role and grants, some of them only for minutes. */
const tokenInSession = (session: SessionEntry, role: Role, now: Date): TokenEntry => ({
  id: session.id,
  orgId: session.orgId,
  principalId: session.userId,
  principalKind: 'user',
  name: 'Session',
  surface: 'rest',
  scopes: [
    ...MAILBOX_SCOPES,
    ...ROLE_SCOPES[role].filter((scope) => !SESSION_ONLY_SCOPES.includes(scope) || isFresh(session, now)),
  ],
  mailboxIds: null,
  expiresAt: session.expiresAt,
  createdAt: session.startedAt,
  position: session.position,
  createdBy: session.userId,
  revokedAt: session.endedAt,
  secretHash: null,
});

/** The person behind a valid session, also an owner who may restore it. Null when they have left the organisation. */
export function callerInSession(state: DirectoryState, session: SessionEntry, now: Date): Caller | null {
  const standing = standingInSession(state, session);
  return (
    standing &&
    describeCaller(state, tokenInSession(session, standing.member.role, now), standing, { now, session })
  );
}

type SessionPlace = Pick<SessionEntry, 'orgId' | 'userId' | 'position'>;

/** True while there is a caller behind the session; their rights are not computed. */
export const sessionStands = (state: DirectoryState, session: SessionPlace): boolean =>
  standingInSession(state, session) !== null;

function standingInSession(
  state: DirectoryState,
  { orgId, userId, position }: SessionPlace,
): Standing | null {
  const credential = { orgId, principalId: userId, principalKind: 'user', position } as const;
  return standingOf(state, credential) ?? standingOf(state, credential, restorerOf);
}

/** The caller behind a valid token. Null when its principal has left the organisation: then it counts as revoked. */
export function callerOf(state: DirectoryState, token: TokenEntry, now: Date): Caller | null {
  const standing = standingOf(state, token);
  return standing && describeCaller(state, token, standing, { now, session: null });
}

/** The principal of a token and its owner, all of them still in its organisation. */
interface Standing {
  readonly org: OrganisationEntry;
  readonly person: PersonEntry;
  readonly member: MemberEntry;
  readonly agent: AgentEntry | null;
}

/** True while the principal of a credential is of its organisation, without a break since it was made. */
export const hasStanding = (
  state: DirectoryState,
  credential: Pick<TokenEntry, 'orgId' | 'principalId' | 'principalKind' | 'position'>,
): boolean => standingOf(state, credential) !== null;

function standingOf(
  state: DirectoryState,
  token: Pick<TokenEntry, 'orgId' | 'principalId' | 'principalKind' | 'position'>,
  memberIn: typeof memberOfOrg = memberOfOrg,
): Standing | null {
  const org = state.organisations.get(token.orgId);
  const agent = agentOf(state, token);
  if (!org || agent === undefined) return null;
  const person = state.people.get(agent?.ownerId ?? token.principalId);
  const member = person && memberIn(state, org.id, person.id);
  if (!member) return null;
  const from = agent?.ownedSince ?? member.since;
  if (isBefore(from, member.since) || isOver(token.position, from, org)) return null;
  return { org, person, member, agent };
}

/** Null for a person's token; undefined for an agent that is not of the organisation. */
function agentOf(
  { agents }: DirectoryState,
  { principalId, principalKind, orgId }: Pick<TokenEntry, 'orgId' | 'principalId' | 'principalKind'>,
): AgentEntry | null | undefined {
  if (principalKind === 'user') return null;
  const agent = agents.get(principalId);
  return agent?.orgId === orgId ? agent : undefined;
}

/** Made in an earlier membership, by an earlier owner of the agent, or before the organisation was deleted. */
const isOver = (position: PositionText | null, from: PositionText, org: OrganisationEntry): boolean =>
  position !== null && (isBefore(position, from) || endedByDeletion(org, position));

function describeCaller(
  state: DirectoryState,
  token: TokenEntry,
  standing: Standing,
  { now, session }: { readonly now: Date; readonly session: SessionEntry | null },
): Caller {
  const { org, person, member, agent } = standing;
  const signedIn = session && { id: session.id, steppedUpUntil: session.steppedUpUntil };
  const mailboxes = mailboxAccess(state, token, standing, now);
  const ofOrg = orgScopes(token, standing, signedIn);
  const everywhere = new Set<Scope>(ofOrg);
  for (const { scopes } of mailboxes.values()) for (const scope of scopes) everywhere.add(scope);
  return {
    actor: agent ? 'agent' : session ? 'person' : 'delegated',
    principal: agent
      ? { kind: 'agent', id: agent.id, name: agent.name }
      : { kind: 'user', id: person.id, name: person.name },
    onBehalfOf: session ? null : person.id,
    org: { id: org.id, name: org.name, isDeleted: org.eraseAt !== null },
    token,
    session: signedIn,
    role: agent ? null : member.role,
    isVerified: person.isVerified,
    orgScopes: ofOrg,
    mailboxes,
    scopes: everywhere,
  };
}

/** Owners and admins reach every mailbox of their organisation with `mailboxes:*`; mail itself needs a grant. */
export const managesEveryMailbox = (caller: Caller): boolean =>
  (caller.role === 'owner' || caller.role === 'admin') && caller.token.mailboxIds === null;
