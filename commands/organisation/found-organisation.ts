/**
 * The first organisation and its owner, whoever asks for it: the admin command, or a person with the link of a fresh start.
 * One reservation stands behind all of them, so only one wins, and one that was cut off is resumed with the same ids.
 */
import { account, emailKey, emailReservation, registerAccount, reserveEmail } from '../accounts/account.ts';
import { storePassword } from '../accounts/change-password.ts';
import { isLongEnough, MIN_PASSWORD_LENGTH } from '../accounts/credentials.ts';
import { type Author, decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import type { HashedPassword } from '../ports/sign-in-port.ts';
import { systemAuthor } from '../kernel/system-author.ts';
import { agent, createAgent } from './agent.ts';
import {
  bootstrap,
  BOOTSTRAP_ID,
  bootstrapRunning,
  type BootstrapTerms,
  finishBootstrap,
  organisationExists,
  startBootstrap,
} from './bootstrap-reservation.ts';
import { createOrganisation, organisation } from './organisation.ts';

export type FoundingPorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'secrets' | 'leases'
>;

export interface Founded {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string | null;
}

export interface Founding<Result> {
  readonly orgName: string;
  readonly ownerEmail: string;
  readonly ownerName: string;
  /** At least 15 characters; null = the owner gets one later. */
  readonly password: string | null;
  /** Null = no agent. */
  readonly agentName: string | null;
  authorOf(founded: Founded): Promise<Author>;
  /** The last step; `position` is that of its newest event, null when it wrote none. */
  finish(
    founded: Founded,
    author: Author,
  ): Promise<{ readonly result: Result; readonly position: Position | null }>;
}

const LEASE = 'bootstrap';

/**
 * Throws `conflict` when an organisation exists or another founding runs, `invalid_request` for a short password,
 * `overloaded`. Resolves
 * when the directory knows all of it.
 */
export async function foundOrganisation<Result>(
  ports: FoundingPorts,
  founding: Founding<Result>,
): Promise<Result> {
  if (founding.password !== null && !isLongEnough(founding.password)) {
    throw new GatewayError(
      'invalid_request',
      `The password needs at least ${String(MIN_PASSWORD_LENGTH)} characters.`,
    );
  }
  if (!(await isUnfounded(ports))) throw organisationExists();
  // Before the first step: what fails here leaves nothing half made.
  const hashed = founding.password === null ? null : await ports.secrets.hashPassword(founding.password);
  const lease = await holdLease(ports.leases, LEASE);
  if (lease === null) throw bootstrapRunning();
  try {
    const terms = await start(ports, founding);
    const founded = { orgId: terms.org_id, userId: terms.user_id, agentId: terms.agent_id };
    const author = await founding.authorOf(founded);
    const madeAt = await setUp(ports, author, terms, { ...founding, hashed });
    const { result, position } = await founding.finish(founded, author);
    const { appended } = await decideAndAppend(ports, author, bootstrap, {
      id: BOOTSTRAP_ID,
      decide: (state) => finishBootstrap(state, ports.leases.runId),
    });
    await ports.directory.waitFor(position ?? madeAt);
    if (!appended) throw organisationExists();
    return result;
  } finally {
    await lease.release();
  }
}

/** True while there is no organisation but one whose founding was cut off. */
export async function isUnfounded(ports: Pick<Ports, 'events' | 'directory'>): Promise<boolean> {
  const { state } = await loadAggregate(ports.events, bootstrap, BOOTSTRAP_ID);
  const others = [...ports.directory.state.organisations.keys()].filter((id) => id !== state.started?.org_id);
  return !state.finished && others.length === 0;
}

async function start(
  ports: FoundingPorts,
  { ownerEmail, agentName }: Pick<Founding<unknown>, 'ownerEmail' | 'agentName'>,
): Promise<BootstrapTerms> {
  const fresh: BootstrapTerms = {
    org_id: ports.ids.newId('org'),
    user_id: ports.ids.newId('usr'),
    agent_id: agentName === null ? null : ports.ids.newId('agt'),
    owner_key: emailKey(ports, ownerEmail),
    run_id: ports.leases.runId,
  };
  const { state } = await decideAndAppend(ports, systemAuthor(ports, null), bootstrap, {
    id: BOOTSTRAP_ID,
    decide: (current) => startBootstrap(current, fresh),
  });
  return state.started ?? fresh;
}

/** Each step adds nothing when it was done before, so what was cut off goes on where it stopped. */
async function setUp(
  ports: FoundingPorts,
  author: Author,
  { org_id: orgId, user_id: userId, agent_id: agentId, owner_key: ownerKey }: BootstrapTerms,
  founding: Founding<unknown> & { readonly hashed: HashedPassword | null },
): Promise<Position> {
  const { personal } = ports;
  await decideAndAppend(ports, author, emailReservation, {
    id: ownerKey,
    decide: (state) => reserveEmail(state, userId),
  });
  const email = await personal.seal(userId, founding.ownerEmail.trim());
  const name = await personal.seal(userId, founding.ownerName);
  await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => (state.registered ? [] : registerAccount(state, { email, name })),
  });
  if (founding.hashed !== null) {
    await storePassword(ports, author, { userId, hashed: founding.hashed, by: 'setup' });
  }
  const { position } = await decideAndAppend(ports, author, organisation, {
    id: orgId,
    decide: (state) =>
      state.name === null ? createOrganisation(state, { name: founding.orgName, ownerId: userId }) : [],
  });
  await addAgent(ports, author, { agentId, name: founding.agentName, ownerId: userId });
  return position ?? -1n;
}

async function addAgent(
  ports: FoundingPorts,
  author: Author,
  { agentId, name, ownerId }: { agentId: string | null; name: string | null; ownerId: string },
): Promise<void> {
  if (agentId === null || name === null) return;
  await decideAndAppend(ports, author, agent, {
    id: agentId,
    decide: (state) => (state.name === null ? createAgent(state, { name, ownerId }) : []),
  });
}
