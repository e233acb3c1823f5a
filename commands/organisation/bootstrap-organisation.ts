/** Sets up the first organisation, its owner, an agent and their tokens. Not a capability: there is no caller yet. */
import { type FoundingPorts, foundOrganisation } from './found-organisation.ts';
import { type Author, decideAndAppend, systemAuthor } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import type { Position } from '../values/position.ts';
import { MAILBOX_SCOPES, PRESETS, type Scope } from '../values/scopes.ts';
import { issueToken, mintToken, token } from './token.ts';

interface BootstrapOrganisation {
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

/** The parts of the gateway that exist before it accepts requests. */
export type BootstrapPorts = FoundingPorts & Pick<Ports, 'tokens'>;

const DAY_MS = 24 * 60 * 60 * 1_000;
const REST_TOKEN_MS = 365 * DAY_MS;
const MCP_TOKEN_MS = 90 * DAY_MS;

const OWNER_SCOPES: readonly Scope[] = [
  ...MAILBOX_SCOPES,
  'org:read', 'mailboxes:read', 'mailboxes:manage', 'mailboxes:grants', 'approvals:read', 'tokens:manage', 'agents:manage', 'audit:read',
  'webhooks:read', 'webhooks:manage', 'deliveries:read', 'deliveries:replay',
]; // prettier-ignore

/**
 * Resumes an interrupted bootstrap with the same ids and new tokens. Throws `conflict` when an organisation exists
 * or another bootstrap runs, `invalid_request` for a short password. Resolves when the directory contains all of it.
 */
export async function bootstrapOrganisation(
  ports: BootstrapPorts,
  command: BootstrapOrganisation,
): Promise<Bootstrapped> {
  return await foundOrganisation(ports, {
    ...command,
    authorOf: ({ orgId }) => Promise.resolve(systemAuthor(ports, orgId)),
    finish: async ({ orgId, userId, agentId }, author) => {
      if (agentId === null) throw new Error('a bootstrap chooses the id of its agent');
      const { tokens, position } = await issueTokens(ports, author, { orgId, userId, agentId });
      return { result: tokens, position };
    },
  });
}

interface FirstPrincipals {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string;
}

/** New tokens for owner and agent like those of the bootstrap, when the old ones expired or the address changed. */
export async function issueFirstTokens(
  ports: BootstrapPorts,
  { orgId, userId, agentId }: FirstPrincipals,
): Promise<Bootstrapped> {
  const principals = { orgId, userId, agentId };
  const { tokens, position } = await issueTokens(ports, systemAuthor(ports, orgId), principals);
  await ports.directory.waitFor(position);
  return tokens;
}

async function issueTokens(
  ports: BootstrapPorts,
  author: Author,
  { orgId, userId, agentId }: FirstPrincipals,
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
