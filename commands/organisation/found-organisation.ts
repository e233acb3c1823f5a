/**
 * The first organisation and its owner, for the admin command and for a person with the link of a first start. Both take one
 * reservation, so only one wins, and an interrupted one is resumed with the same ids.
 */
import { account, emailKey, emailReservation, registerAccount, reserveEmail } from '../accounts/account.ts';
import { storePassword } from '../accounts/change-password.ts';
import {
  invalidLink,
  isLongEnough,
  MIN_PASSWORD_LENGTH,
  NewEmail,
  NewPassword,
  personAuthor,
} from '../accounts/credentials.ts';
import { refuseWeakPassword } from '../accounts/new-password.ts';
import { type Author, decideAndAppend, loadAggregate, systemAuthor } from '../kernel/decide-and-append.ts';
import { GatewayError } from '../values/errors.ts';
import { holdLease } from '../kernel/hold-lease.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import type { HashedPassword } from '../ports/sign-in-port.ts';
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
import { z } from 'zod';
import { lineOfText } from '../values/input-fields.ts';
import { definePublicRoute } from '../kernel/public-route.ts';

export type FoundingPorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'secrets' | 'leases' | 'server'
>;

interface Founded {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string | null;
}

interface Founding<Result> {
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
 * `overloaded`. Resolves when the directory contains all of it.
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
  if (founding.password !== null) {
    const about = [founding.ownerEmail, founding.ownerName, founding.orgName];
    await refuseWeakPassword(ports, founding.password, { path: 'password', about });
  }
  if (!(await isUnfounded(ports))) throw organisationExists();
  // Before the first step: a failure here leaves nothing behind.
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

/** True while there is no organisation, or only one whose set-up was interrupted. */
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

/** Each step adds nothing when it was done before, so an interrupted run resumes where it stopped. */
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
    decide: (state) =>
      state.status === 'none' ? registerAccount(state, { email, name, isVerified: true }) : [],
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

const Input = z.strictObject({
  token: z.string().min(1).max(200),
  email: NewEmail,
  password: NewPassword,
  name: lineOfText(100),
  org_name: lineOfText(100),
});

const SetUp = z.object({ org_id: z.string(), user_id: z.string() });
type SetUp = z.output<typeof SetUp>;

/** POST /auth/setup: the first owner and organisation, with the link that a first start prints (`contract.md` 18). */
export const setUpOrganisation = definePublicRoute<z.output<typeof Input>, SetUp>({
  name: 'set_up',
  title: 'Set up the first organisation',
  summary: 'Creates the first owner and organisation with the token of the setup link.',
  description:
    'Works once, with the token of the link that the gateway prints while there is no organisation. Then sign in.',
  rest: { method: 'post', path: '/auth/setup', status: 201 },
  input: Input,
  output: SetUp,
  handle: async (input, context) => {
    const { ports, source } = context;
    const on = { account: `setup ${source}`, source: null };
    // Only an organisation makes this link and all earlier ones invalid; an attempt that fails does not.
    const link = await ports.attempts.attempt(on, async () =>
      (await isUnfounded(ports)) ? await ports.links.find('setup', input.token) : null,
    );
    if (link === null) {
      ports.accessLog.countRefusal('invalid_credentials', source);
      throw invalidLink('setup');
    }
    return await foundOrganisation(ports, {
      orgName: input.org_name,
      ownerEmail: input.email,
      ownerName: input.name,
      password: input.password,
      agentName: null,
      authorOf: (founded) => personAuthor(context, founded),
      finish: ({ orgId, userId }) =>
        Promise.resolve({ result: { org_id: orgId, user_id: userId }, position: null }),
    });
  },
});

/** The link for the browser; the token is behind the #, so that no server and no log receives it. */
export const newSetUpLink = async ({ links, server }: Pick<Ports, 'links' | 'server'>): Promise<string> =>
  `${server.baseUrl}/console#setup=${await links.make('setup', null, null)}`;
