/**
 * What a membership, a role, an agent or an organisation leaves behind when it ends. All of it is without effect at once,
 * because rights are read at each request; here it also ends in the log. Derived from the directory, so that nothing is lost
 * when a process dies in between.
 */
import { endSessions, type EndReason } from '../accounts/session.ts';
import { hasStanding, isOfMembership, sessionStands } from '../kernel/access.ts';
import { type Author, decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import { assertNotHeld, holdsAgainst } from '../kernel/legal-holds.ts';
import { endedByDeletion, isBefore, memberOfOrg, roleIn, scopesHeldSince } from '../kernel/membership.ts';
import { endConnections } from '../oauth/connections.ts';
import type { GrantEnd } from '../oauth/oauth-grant.ts';
import { revokeGrant } from '../mailboxes/decide-grants.ts';
import { removeMailbox } from '../mailboxes/decide-settings.ts';
import { mailbox } from '../mailboxes/mailbox.ts';
import type {
  AgentEntry,
  DirectoryState,
  GrantEntry,
  InviteEntry,
  OAuthGrantEntry,
  OrganisationEntry,
  SessionEntry,
  TokenEntry,
} from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';
import { laterOf, type Position } from '../values/position.ts';
import { isMailboxScope } from '../values/scopes.ts';
import { agent, deleteLeftAgent } from './agent.ts';
import { forgetInvite } from './carry-out-invite.ts';
import { endExpiredInvite, endInvite, invite, type InviteEnd } from './invite.ts';
import { eraseOrganisation, mayGive, organisation } from './organisation.ts';
import { revokeToken, token } from './token.ts';

interface Left {
  readonly id: string;
  readonly orgId: string;
}

/** One thing that was left behind. */
export type Departure = Left &
  (
    | { readonly kind: 'session'; readonly principalId: string; readonly reason: EndReason }
    | { readonly kind: 'token'; readonly principalId: string }
    | { readonly kind: 'oauthGrant'; readonly principalId: string; readonly reason: GrantEnd }
    | { readonly kind: 'agent'; readonly principalId: string }
    | { readonly kind: 'grant'; readonly principalId: string; readonly mailboxId: string }
    | { readonly kind: 'invite'; readonly principalId: string; readonly reason: InviteEnd }
    | { readonly kind: 'organisation' | 'mailbox' }
  );

/** Everything that was left behind. Pure. */
export function leftBehind(state: DirectoryState, now: Date): readonly Departure[] {
  return [
    ...[...state.organisations.values()].filter((org) => isDue(state, org, now)).map(erasureOf),
    ...leftOf(state, now, {
      sessions: [...state.sessions.values()],
      tokens: [...state.tokens.values()],
      oauthGrants: [...state.oauthGrants.values()],
      agents: [...state.agents.values()],
      grants: [...state.grants.values()],
      invites: [...state.invites.values()],
    }),
    ...[...state.mailboxes.values()].flatMap(({ id, orgId, state: of }): Departure[] =>
      of !== 'removed' && isErased(state, orgId) ? [{ kind: 'mailbox', id, orgId }] : [],
    ),
  ];
}

/** Principals of one organisation. */
export interface Leavers {
  readonly orgId: string;
  readonly principalIds: readonly string[];
}

/** What they left behind; nothing else is judged, because a request waits for it. Pure. */
export const leftBehindBy = (state: DirectoryState, now: Date, leavers: Leavers): readonly Departure[] =>
  leftOf(state, now, heldBy(state, leavers));

interface Held {
  readonly sessions: readonly SessionEntry[];
  readonly tokens: readonly TokenEntry[];
  readonly oauthGrants: readonly OAuthGrantEntry[];
  readonly agents: readonly AgentEntry[];
  readonly grants: readonly GrantEntry[];
  readonly invites: readonly InviteEntry[];
}

const leftOf = (state: DirectoryState, now: Date, held: Held): readonly Departure[] => [
  ...held.sessions.flatMap((session) => leftSession(state, session, now)),
  ...held.tokens.flatMap((each) => leftToken(state, each, now)),
  ...held.oauthGrants.flatMap((each) => leftOAuthGrant(state, each, now)),
  ...held.agents.flatMap((each) => leftAgent(state, each)),
  ...held.grants.flatMap((grant) => leftGrant(state, grant)),
  ...held.invites.flatMap((each) => leftInvite(state, each, now)),
];

function heldBy(state: DirectoryState, { orgId, principalIds }: Leavers): Held {
  const ids = new Set(principalIds);
  const isOfOrg = (entry: { readonly orgId: string } | undefined): boolean => entry?.orgId === orgId;
  return {
    sessions: principalIds.flatMap((id) => state.personSessions.get(id)?.sessions ?? []).filter(isOfOrg),
    tokens: [...state.tokens.values()].filter((each) => ids.has(each.principalId) && isOfOrg(each)),
    oauthGrants: [...state.oauthGrants.values()].filter((each) => ids.has(each.principalId) && isOfOrg(each)),
    agents: [...state.agents.values()].filter((each) => ids.has(each.ownerId) && isOfOrg(each)),
    grants: principalIds
      .flatMap((id) => grantsOf(state, id))
      .filter(({ mailboxId }) => isOfOrg(state.mailboxes.get(mailboxId))),
    invites: [...state.invites.values()].filter((each) => ids.has(each.createdBy) && isOfOrg(each)),
  };
}

const grantsOf = (state: DirectoryState, principalId: string): readonly GrantEntry[] =>
  [...(state.mailboxIdsByPrincipal.get(principalId) ?? [])].flatMap(
    (mailboxId) => state.grants.get(state.grantIds.get(mailboxId)?.get(principalId) ?? '') ?? [],
  );

const isDue = (state: DirectoryState, { id: orgId, eraseAt, isErased: over }: OrganisationEntry, now: Date) =>
  !over && eraseAt !== null && Date.parse(eraseAt) <= now.getTime() && !isHeld(state, orgId);
const isHeld = (state: DirectoryState, orgId: string): boolean =>
  holdsAgainst(state, { kind: 'organisation', orgId }).length > 0;

const erasureOf = ({ id }: OrganisationEntry): Departure => ({ kind: 'organisation', id, orgId: id });

const isErased = ({ organisations }: DirectoryState, orgId: string): boolean =>
  organisations.get(orgId)?.isErased === true;

/** True while an owner can restore it: its agents and grants then count again. */
const isRestorable = ({ organisations }: DirectoryState, orgId: string): boolean =>
  (organisations.get(orgId)?.eraseAt ?? null) !== null &&
  !isErased({ organisations } as DirectoryState, orgId);

/** The erasure of an account can still be stopped; once it is erased its person is gone. */
const mayStay = ({ people }: DirectoryState, userId: string): boolean =>
  people.get(userId)?.isBeingErased === true;

function leftSession(state: DirectoryState, session: SessionEntry, now: Date): readonly Departure[] {
  const { id, orgId, userId } = session;
  if (session.endedAt !== null || Date.parse(session.expiresAt) <= now.getTime()) return [];
  if (mayStay(state, userId) || sessionStands(state, session)) return [];
  const { notBefore = null } = state.organisations.get(orgId) ?? {};
  const reason =
    notBefore !== null && isBefore(session.position, notBefore) ? 'organisation_deleted' : 'member_removed';
  return [{ kind: 'session', id, orgId, principalId: userId, reason }];
}

function leftToken(state: DirectoryState, entry: TokenEntry, now: Date): readonly Departure[] {
  const { id, orgId, principalId, revokedAt, expiresAt } = entry;
  if (revokedAt !== null || Date.parse(expiresAt) <= now.getTime()) return [];
  const personId = state.agents.get(principalId)?.ownerId ?? principalId;
  if (mayStay(state, personId)) return [];
  const isLeft = !hasStanding(state, entry) || exceedsRole(state, entry);
  return isLeft ? [{ kind: 'token', id, orgId, principalId }] : [];
}

function leftOAuthGrant(state: DirectoryState, entry: OAuthGrantEntry, now: Date): readonly Departure[] {
  const { id, orgId, principalId, revokedAt, expiresAt, clientKind, clientId, position } = entry;
  if (revokedAt !== null || Date.parse(expiresAt) <= now.getTime() || mayStay(state, principalId)) return [];
  const left = (reason: GrantEnd): readonly Departure[] => [
    { kind: 'oauthGrant', id, orgId, principalId, reason },
  ];
  const org = state.organisations.get(orgId);
  if (org && position !== null && endedByDeletion(org, position)) return left('organisation_deleted');
  if (!hasStanding(state, entry)) return left('member_removed');
  // The address of an application that registered itself, or its id, is no id of an object here.
  return clientKind === 'registered' && !state.oauthClients.has(clientId) ? left('client_deleted') : [];
}

/** A role that was lowered takes the tokens with it that need more, also when it was raised again since. */
function exceedsRole(
  state: DirectoryState,
  { orgId, principalId, principalKind, scopes, position }: TokenEntry,
): boolean {
  const member = principalKind === 'user' ? memberOfOrg(state, orgId, principalId) : null;
  if (member === null) return false;
  const held = scopesHeldSince(member, position);
  return scopes.some((scope) => !isMailboxScope(scope) && !held.includes(scope));
}

function leftAgent(
  state: DirectoryState,
  { id, orgId, ownerId, ownedSince }: AgentEntry,
): readonly Departure[] {
  if (isRestorable(state, orgId) || mayStay(state, ownerId)) return [];
  const owner = memberOfOrg(state, orgId, ownerId);
  const isOwned = owner !== null && !isBefore(ownedSince, owner.since);
  return isOwned ? [] : [{ kind: 'agent', id, orgId, principalId: ownerId }];
}

function leftGrant(state: DirectoryState, grant: GrantEntry): readonly Departure[] {
  const { id, mailboxId, principalId, principalKind } = grant;
  const { orgId = '', state: of = 'removed' } = state.mailboxes.get(mailboxId) ?? {};
  if (of === 'removed' || isRestorable(state, orgId) || mayStay(state, principalId)) return [];
  const isHeld =
    principalKind === 'agent' ? state.agents.get(principalId)?.orgId === orgId : isOfMembership(state, grant);
  return isHeld ? [] : [{ kind: 'grant', id, orgId, principalId, mailboxId }];
}

function leftInvite(state: DirectoryState, entry: InviteEntry, now: Date): readonly Departure[] {
  const { id, orgId, createdBy, acceptedBy } = entry;
  const reason = acceptedBy === null ? endOf(state, entry, now) : null;
  return reason === null ? [] : [{ kind: 'invite', id, orgId, principalId: createdBy, reason }];
}

function endOf(
  state: DirectoryState,
  { orgId, createdBy, role, expiresAt }: InviteEntry,
  now: Date,
): InviteEnd | null {
  if ((state.organisations.get(orgId)?.eraseAt ?? null) !== null) return 'organisation_deleted';
  if (Date.parse(expiresAt) <= now.getTime()) return 'expired';
  const isPersons = createdBy.startsWith('usr_');
  return isPersons && !mayGive(roleIn(state, orgId, createdBy), role) ? 'inviter_lost_rights' : null;
}

/** Ends one of them in the log. What is gone already counts as ended. Throws `store_unavailable`. */
export async function settleDeparture(
  ports: Ports,
  departure: Departure,
  author: Author = systemAuthor(ports, departure.orgId),
): Promise<Position | null> {
  try {
    return await endDeparture(ports, departure, author);
  } catch (error) {
    const isGone = error instanceof GatewayError && (error.code === 'not_found' || error.code === 'conflict');
    if (isGone) return null;
    throw error;
  }
}

async function endDeparture(ports: Ports, left: Departure, author: Author): Promise<Position | null> {
  const { id } = left;
  const append = (decided: Promise<{ readonly position: Position | null }>) =>
    decided.then(({ position }) => position);
  switch (left.kind) {
    case 'session':
      return await endSessions(ports, author, [left], left.reason);
    case 'token':
      return await append(decideAndAppend(ports, author, token, { id, decide: revokeToken }));
    case 'oauthGrant':
      return await endConnections(ports, author, { entries: [left], reason: left.reason });
    case 'agent': {
      const decide = (state: typeof agent.initial) => deleteLeftAgent(state, left.principalId);
      return await append(decideAndAppend(ports, author, agent, { id, decide }));
    }
    case 'grant': {
      const decide = (state: typeof mailbox.initial) => revokeGrant(state, id);
      return await append(decideAndAppend(ports, author, mailbox, { id: left.mailboxId, decide }));
    }
    case 'invite':
      return await endLeftInvite(ports, author, left);
    case 'organisation':
      assertNotHeld(ports.directory, { kind: 'organisation', orgId: id });
      return await append(decideAndAppend(ports, author, organisation, { id, decide: eraseOrganisation }));
    case 'mailbox':
      return await append(decideAndAppend(ports, author, mailbox, { id, decide: removeMailbox }));
  }
}

async function endLeftInvite(
  ports: Ports,
  author: Author,
  { id, reason }: Extract<Departure, { readonly kind: 'invite' }>,
): Promise<Position | null> {
  const { state, position } = await decideAndAppend(ports, author, invite, {
    id,
    decide: (current, now) =>
      reason === 'expired' ? endExpiredInvite(current, now) : endInvite(current, reason),
  });
  if (state.status === 'ended') await forgetInvite(ports, id);
  return position;
}

/** More than one person leaves behind; what remains is ended by the background work. */
const MOST_AT_ONCE = 500;
/** An agent leaves tokens and grants in turn. */
const PASSES = 2;

/**
 * Ends what `leavers` left behind by the request of `cause`, before that request is answered. Resolves when the directory
 * contains it. Throws `store_unavailable`.
 */
export async function settleLeftBehind(
  ports: Ports,
  cause: Author,
  leavers: Leavers,
): Promise<Position | null> {
  const { correlationId, causationId, requestId } = cause;
  const author = { ...systemAuthor(ports, cause.orgId), correlationId, causationId, requestId };
  let last: Position | null = null;
  for (let pass = 0; pass < PASSES; pass += 1) {
    const left = leftBehindBy(ports.directory.state, ports.clock.now(), leavers);
    if (left.length === 0) break;
    for (const departure of left.slice(0, MOST_AT_ONCE))
      last = laterOf(last, await settleDeparture(ports, departure, author));
    if (last !== null) await ports.directory.waitFor(last);
  }
  return last;
}
