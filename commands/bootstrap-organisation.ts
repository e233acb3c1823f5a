/** Sets up the first organisation, its owner, an agent and their tokens. Not a capability: there is no caller yet. */
import { account, emailReservation, registerAccount, reserveEmail } from './accounts/account.ts';
import { type Author, decideAndAppend, loadAggregate } from './kernel/decide-and-append.ts';
import { GatewayError } from './kernel/errors.ts';
import type { Ports, Position } from './kernel/ports.ts';
import { MAILBOX_SCOPES, PRESETS, type Scope } from './kernel/scopes.ts';
import { systemAuthor } from './kernel/system-author.ts';
import { agent, createAgent } from './organisation/agent.ts';
import {
  bootstrap,
  BOOTSTRAP_ID,
  bootstrapRunning,
  type BootstrapTerms,
  finishBootstrap,
  organisationExists,
  startBootstrap,
} from './organisation/bootstrap.ts';
import { mintToken } from './organisation/mint-token.ts';
import { createOrganisation, organisation } from './organisation/organisation.ts';
import { issueToken, token } from './organisation/token.ts';

export interface BootstrapOrganisation {
  readonly orgName: string;
  readonly ownerEmail: string;
  readonly ownerName: string;
  /** At least 15 characters; null = the owner gets one later. */
  readonly password: string | null;
  readonly agentName: string;
}

export interface Bootstrapped {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string;
  readonly restToken: string;
  readonly mcpToken: string;
}

/** The parts of the gateway that exist before it serves. */
export type BootstrapPorts = Pick<
  Ports,
  'events' | 'ids' | 'clock' | 'directory' | 'personal' | 'secrets' | 'tokens' | 'leases'
>;

const DAY_MS = 24 * 60 * 60 * 1_000;
const REST_TOKEN_MS = 365 * DAY_MS;
const MCP_TOKEN_MS = 90 * DAY_MS;
const MIN_PASSWORD = 15;

const OWNER_SCOPES: readonly Scope[] = [
  ...MAILBOX_SCOPES,
  'org:read', 'mailboxes:read', 'mailboxes:manage', 'mailboxes:grants', 'tokens:manage', 'agents:manage', 'audit:read',
]; // prettier-ignore

/**
 * Resumes a bootstrap that was cut off, with the same ids and fresh tokens. Throws `conflict` when an organisation exists
 * or another bootstrap runs, `invalid_request` for a short password. Resolves when the directory knows all of it.
 */
export async function bootstrapOrganisation(
  ports: BootstrapPorts,
  command: BootstrapOrganisation,
): Promise<Bootstrapped> {
  if (command.password !== null && command.password.length < MIN_PASSWORD) {
    throw new GatewayError(
      'invalid_request',
      `The password needs at least ${String(MIN_PASSWORD)} characters.`,
    );
  }
  await refuseSecond(ports);
  if (!(await ports.leases.acquire(LEASE))) throw bootstrapRunning();
  try {
    const terms = await start(ports, command);
    const author = systemAuthor(ports, terms.org_id);
    await setUp(ports, author, terms, command);
    const result = await issueTokens(ports, author, terms);
    const { appended } = await decideAndAppend(ports, author, bootstrap, {
      id: BOOTSTRAP_ID,
      decide: (state) => finishBootstrap(state, ports.leases.runId),
    });
    await ports.directory.waitFor(result.position);
    if (!appended) throw organisationExists();
    return result.tokens;
  } finally {
    await ports.leases.release(LEASE);
  }
}

const LEASE = 'bootstrap';

/** An organisation the directory knows is only no obstacle when it is the one an unfinished bootstrap was making. */
async function refuseSecond(ports: BootstrapPorts): Promise<void> {
  const { state } = await loadAggregate(ports.events, bootstrap, BOOTSTRAP_ID);
  const others = [...ports.directory.state.organisations.keys()].filter((id) => id !== state.started?.org_id);
  if (state.finished || others.length > 0) throw organisationExists();
}

async function start(ports: BootstrapPorts, { ownerEmail }: BootstrapOrganisation): Promise<BootstrapTerms> {
  const fresh: BootstrapTerms = {
    org_id: ports.ids.newId('org'),
    user_id: ports.ids.newId('usr'),
    agent_id: ports.ids.newId('agt'),
    owner_key: emailKey(ports, ownerEmail),
    run_id: ports.leases.runId,
  };
  const { state } = await decideAndAppend(ports, systemAuthor(ports, null), bootstrap, {
    id: BOOTSTRAP_ID,
    decide: (current) => startBootstrap(current, fresh),
  });
  return state.started ?? fresh;
}

const emailKey = (ports: Pick<Ports, 'ids'>, email: string): string =>
  ports.ids.reservationName(email.trim().toLowerCase());

/** Each step adds nothing when it was done before, so a cut-off bootstrap goes on where it stopped. */
async function setUp(
  ports: BootstrapPorts,
  author: Author,
  { org_id: orgId, user_id: userId, agent_id: agentId, owner_key: ownerKey }: BootstrapTerms,
  command: BootstrapOrganisation,
): Promise<void> {
  const { personal } = ports;
  await decideAndAppend(ports, author, emailReservation, {
    id: ownerKey,
    decide: (state) => reserveEmail(state, userId),
  });
  const email = await personal.seal(userId, command.ownerEmail.trim());
  const name = await personal.seal(userId, command.ownerName);
  if (command.password !== null) await ports.secrets.savePassword(userId, command.password);
  await decideAndAppend(ports, author, account, {
    id: userId,
    decide: (state) => (state.registered ? [] : registerAccount(state, { email, name })),
  });
  await decideAndAppend(ports, author, organisation, {
    id: orgId,
    decide: (state) =>
      state.name === null ? createOrganisation(state, { name: command.orgName, ownerId: userId }) : [],
  });
  await decideAndAppend(ports, author, agent, {
    id: agentId,
    decide: (state) =>
      state.name === null ? createAgent(state, { name: command.agentName, ownerId: userId }) : [],
  });
}

export interface FirstPrincipals {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string;
}

/** Fresh tokens for owner and agent, as the bootstrap gave them: when the old ones ran out or the address changed. */
export async function issueFirstTokens(
  ports: BootstrapPorts,
  { orgId, userId, agentId }: FirstPrincipals,
): Promise<Bootstrapped> {
  const terms = { org_id: orgId, user_id: userId, agent_id: agentId };
  const { tokens, position } = await issueTokens(ports, systemAuthor(ports, orgId), terms);
  await ports.directory.waitFor(position);
  return tokens;
}

async function issueTokens(
  ports: BootstrapPorts,
  author: Author,
  {
    org_id: orgId,
    user_id: userId,
    agent_id: agentId,
  }: Pick<BootstrapTerms, 'org_id' | 'user_id' | 'agent_id'>,
): Promise<{ readonly tokens: Bootstrapped; readonly position: Position }> {
  const now = ports.clock.now().getTime();
  const rest = await issue(ports, author, {
    orgId,
    principal: { id: userId, kind: 'user' },
    name: 'Owner',
    surface: 'rest',
    scopes: OWNER_SCOPES,
    expiresAt: new Date(now + REST_TOKEN_MS).toISOString(),
  });
  const mcp = await issue(ports, author, {
    orgId,
    principal: { id: agentId, kind: 'agent' },
    name: 'Agent',
    surface: 'mcp',
    scopes: PRESETS.operator,
    expiresAt: new Date(now + MCP_TOKEN_MS).toISOString(),
  });
  return {
    tokens: { orgId, userId, agentId, restToken: rest.secret, mcpToken: mcp.secret },
    position: mcp.position,
  };
}

async function issue(
  ports: BootstrapPorts,
  author: Author,
  request: Omit<Parameters<typeof mintToken>[1], 'tokenId' | 'mailboxIds'>,
): Promise<{ readonly secret: string; readonly position: Position }> {
  const tokenId = ports.ids.newId('tok');
  const { secret, terms } = await mintToken(ports, { ...request, tokenId, mailboxIds: null });
  const { appended } = await decideAndAppend(ports, author, token, {
    id: tokenId,
    decide: (state) => issueToken(state, terms),
  });
  if (!appended) throw new Error('a fresh token was not issued');
  return { secret, position: appended.position };
}
