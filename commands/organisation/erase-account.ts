/**
 * Erases an account: the person leaves every organisation, loses every credential, and the keys of all that was sealed for them and
 * their agents.
 * The trail stays. Each step adds nothing when it was done before, so the sweeper resumes an interrupted erasure.
 */
import {
  account,
  emailKey,
  emailReservation,
  finishErasure,
  releaseEmail,
  startErasure,
  stopErasure,
} from '../accounts/account.ts';
import { endSessions, openSessionsOf } from '../accounts/session.ts';
import { type Author, decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { assertNotHeld } from '../kernel/legal-holds.ts';
import { recordKeyErasure } from '../kernel/personal-data.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import { allMembershipsOf } from '../kernel/membership.ts';
import type { MemberEntry } from '../ports/directory.ts';
import type { Ports } from '../ports/ports.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { GatewayError } from '../values/errors.ts';
import { uuidV5 } from '../values/ids.ts';
import type { Position } from '../values/position.ts';
import { endConnections } from '../oauth/connections.ts';
import { agentsLastOwnedBy, assertAgentsKnown, lossOfAccount } from './account-loss.ts';
import { agent, deleteLeftAgent } from './agent.ts';
import { organisation, type OrganisationState, removeMember } from './organisation.ts';
import { forgetToken, token } from './token.ts';

export type ErasurePorts = Pick<
  Ports,
  | 'events'
  | 'ids'
  | 'clock'
  | 'directory'
  | 'personal'
  | 'secrets'
  | 'links'
  | 'devices'
  | 'trails'
  | 'leases'
  | 'authorizationRequests'
>;

/**
 * Resolves when the account is erased, or when another process erases it: just now, or with its next sweep where the read models
 * are behind. Throws `last_owner` with the organisations that would have no owner; then the account stays, without the memberships
 * that had ended already. Throws `legal_hold`; an erasure that had begun waits then.
 */
export async function eraseAccount(
  ports: ErasurePorts,
  author: Author,
  userId: string,
): Promise<Position | null> {
  assertNotHeld(ports.directory, await lossOfAccount(ports, userId));
  await assertAgentsKnown(ports, userId);
  const held = allMembershipsOf(ports.directory.state, userId);
  const lastOf = [];
  for (const member of held) if (await isLastOwner(ports, member)) lastOf.push(member.orgId);
  if (lastOf.length > 0) throw lastOwner(ports, lastOf);
  const known = await ports.trails.organisationsOf(userId);
  const orgIds = [...new Set([...held.map(({ orgId }) => orgId), ...known])];
  const { position } = await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => startErasure(state, orgIds),
  });
  if (position !== null) await ports.directory.waitFor(position);
  try {
    const ended = await resumeErasure(ports, author, userId);
    return ended ?? position;
  } catch (error) {
    // It has begun, and a process that follows the log goes on with it.
    if (error instanceof GatewayError && error.code === 'index_building') return position;
    throw error;
  }
}

/** Accounts whose erasure began and has not ended. */
export const listErasures = ({ directory }: Pick<Ports, 'directory'>): readonly { readonly id: string }[] =>
  [...directory.state.people.values()].filter(({ isBeingErased }) => isBeingErased);

/** Finishes an interrupted erasure, or stops it when the person became the last owner of an organisation. */
export async function settleErasure(ports: ErasurePorts, userId: string): Promise<void> {
  try {
    await resumeErasure(ports, systemAuthor(ports, null), userId);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'last_owner') throw error;
  }
}

/** For an account that was erased by a version that told nobody of it. Adds nothing while the erasure is under way. */
export async function recordErasedAccount(ports: ErasurePorts, userId: string): Promise<void> {
  const { state } = await loadAggregate(ports.events, account, userId);
  if (state.status === 'erased') await tellTrails(ports, systemAuthor(ports, null), userId, null);
}

/** One process at a time: what cannot be taken back happens only after all memberships have ended, and only once that is certain. */
async function resumeErasure(ports: ErasurePorts, author: Author, userId: string): Promise<Position | null> {
  const lease = await holdLease(ports.leases, `erasure-${userId}`);
  if (lease === null) return null;
  try {
    const { state, position } = await loadAggregate(ports.events, account, userId);
    if (state.status !== 'being_erased') return null;
    // The key is the last to go: once it is gone, a hold keeps nothing, and the trails are still to be told.
    if (!(await ports.personal.isErased(userId))) {
      // From then on no process lets a new request of the person in.
      if (position !== null) await ports.directory.waitForAll(position);
      let loss = await lossOfAccount(ports, userId);
      const assertFree = (): void => {
        lease.assertHeld();
        assertNotHeld(ports.directory, loss);
      };
      const eraseKey = async (ownerId: string): Promise<void> => {
        loss = await lossOfAccount(ports, userId);
        assertFree();
        await ports.personal.erase(ownerId);
      };
      assertFree();
      await leaveAll(ports, author, userId);
      await endCredentials(ports, author, userId);
      await forgetAgents(ports, author, { userId, eraseKey });
      await forgetPerson(ports, author, { userId, assertFree, eraseKey });
    }
    return await endAccount(ports, author, userId, state.toldOrgIds);
  } finally {
    await lease.release();
  }
}

/** Organisations the person owns come first, always in the same order: of two owners who leave at once, one gets through. */
async function leaveAll(ports: ErasurePorts, author: Author, userId: string): Promise<void> {
  const held = allMembershipsOf(ports.directory.state, userId).toSorted(
    (a, b) => Number(b.role === 'owner') - Number(a.role === 'owner') || (a.orgId < b.orgId ? -1 : 1),
  );
  for (const { orgId } of held) {
    try {
      const { position } = await decideAndAppend(ports, { ...author, orgId }, organisation, {
        id: orgId,
        decide: (state) => leave(state, userId),
      });
      if (position !== null) await ports.directory.waitFor(position);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'last_owner') throw error;
      await stop(ports, author, userId, orgId);
      throw lastOwner(ports, [orgId]);
    }
  }
}

const leave = (state: OrganisationState, userId: string): ReturnType<typeof removeMember> =>
  state.members.has(userId) ? removeMember(state, { userId, reason: 'erased', by: { userId } }) : [];

async function stop(ports: ErasurePorts, author: Author, userId: string, orgId: string): Promise<void> {
  const { position } = await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => stopErasure(state, [orgId]),
  });
  if (position !== null) await ports.directory.waitFor(position);
}

async function isLastOwner({ events }: ErasurePorts, { orgId, userId }: MemberEntry): Promise<boolean> {
  const { state } = await loadAggregate(events, organisation, orgId);
  try {
    leave(state, userId);
    return false;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'last_owner') return true;
    throw error;
  }
}

function lastOwner({ directory: { state } }: ErasurePorts, orgIds: readonly string[]): GatewayError {
  const organisations = orgIds.map((id) => ({ id, name: state.organisations.get(id)?.name ?? '' }));
  const names = organisations.map(({ id, name }) => `${name} (${id})`).join(', ');
  return new GatewayError(
    'last_owner',
    `The account is the last owner of ${names}: make another member an owner first, or delete the organisation.`,
    { details: { organisations } },
  );
}

/** Tokens and sessions, in every organisation. They count no longer since the erasure began. */
async function endCredentials(ports: ErasurePorts, author: Author, userId: string): Promise<void> {
  const { state } = ports.directory;
  const principals = new Set([userId, ...agentsLastOwnedBy(ports, userId).map(({ id }) => id)]);
  for (const { id, orgId, principalId } of state.tokens.values()) {
    if (!principals.has(principalId)) continue;
    await decideAndAppend(ports, { ...author, orgId }, token, { id, decide: forgetToken });
  }
  const connected = [...state.oauthGrants.values()].filter(({ principalId }) => principalId === userId);
  await endConnections(ports, author, { entries: connected, reason: 'account_erased' });
  await endSessions(ports, author, openSessionsOf(ports.directory, userId), 'account_erased');
}

interface Forgotten {
  readonly userId: string;
  /**
   * Destroys the key of the person or of an agent. Throws as `assertFree`, by the approvals of now: what the person had begun before
   * may end meanwhile.
   */
  readonly eraseKey: (ownerId: string) => Promise<void>;
}

/**
 * The person's agents end, and the keys of all that were last theirs: where their requests came from tells where the person
 * was. One that has another owner by now keeps its key. All of it comes before the person's key, so an interrupted erasure
 * does it again.
 */
async function forgetAgents(
  ports: ErasurePorts,
  author: Author,
  { userId, eraseKey }: Forgotten,
): Promise<void> {
  for (const { id, orgId } of agentsLastOwnedBy(ports, userId)) {
    const within = { ...author, orgId };
    const { state } = await decideAndAppend(ports, within, agent, {
      id,
      decide: (found) => deleteLeftAgent(found, userId),
    });
    if (state.ownerId !== userId) continue;
    await eraseKey(id);
    await recordKeyErasure(ports, within, { ownerId: id, basis: 'account_erased', orgIds: [orgId] });
  }
}

/** The key of what was sealed for the person is the last to go. */
async function forgetPerson(
  ports: ErasurePorts,
  author: Author,
  {
    userId,
    assertFree,
    eraseKey,
  }: Forgotten & {
    /** Throws once another process may erase, or a hold forbids it. */
    readonly assertFree: () => void;
  },
): Promise<void> {
  assertFree();
  const email = ports.directory.state.people.get(userId)?.email ?? '';
  // It cannot be read any longer after an interruption between the last two steps; then it was released and told before.
  if (email !== '') {
    await tell(ports, author, { userId, email });
    await decideAndAppend(ports, author, emailReservation, {
      id: emailKey(ports, email),
      decide: (state) => releaseEmail(state, userId),
    });
  }
  // A link sets a password until it is withdrawn.
  const steps = [
    () => ports.links.withdraw(userId),
    () => ports.secrets.erasePassword(userId),
    () => ports.devices.forget(userId),
  ];
  for (const step of steps) {
    assertFree();
    await step();
  }
  await eraseKey(userId);
}

/** The account's end comes last: until then the directory lists the erasure, and the sweeper resumes it. */
async function endAccount(
  ports: ErasurePorts,
  author: Author,
  userId: string,
  toldOrgIds: readonly string[] | null,
): Promise<Position | null> {
  await tellTrails(ports, author, userId, toldOrgIds);
  const { position } = await decideAndAppend(ports, author, account, { id: userId, decide: finishErasure });
  if (position !== null) await ports.directory.waitFor(position);
  return position;
}

/** The person's own trail comes last. */
async function tellTrails(
  ports: Pick<ErasurePorts, 'events' | 'ids' | 'clock' | 'trails'>,
  author: Author,
  userId: string,
  toldOrgIds: readonly string[] | null,
): Promise<void> {
  // An older version did not note them.
  const orgIds = toldOrgIds ?? (await ports.trails.organisationsOf(userId));
  const erasure = { ownerId: userId, basis: 'account_erased', orgIds: [...orgIds, null] } as const;
  await recordKeyErasure(ports, author, erasure);
}

/** The address is sealed under the mail's own id, because the person's key is gone when it is sent. */
async function tell(
  ports: ErasurePorts,
  author: Author,
  { userId, email }: { readonly userId: string; readonly email: string },
): Promise<void> {
  const id = uuidV5('account_erased', userId);
  const to = await ports.personal.seal(id, email);
  await requestMail(ports, author, id, { kind: 'account_erased', user_id: null, to });
}
