/** `admin call`: runs one capability as a person or agent, with every scope that principal may hold. */
import { type Caller, callerOf } from '../../commands/kernel/access.ts';
import type { DirectoryState, TokenEntry } from '../../commands/ports/directory.ts';
import { invokeCapability } from '../../commands/kernel/invoke-capability.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import { SCOPES } from '../../commands/values/scopes.ts';
import { capabilities } from '../../read-api/capabilities.ts';
import type { Author } from '../../commands/kernel/decide-and-append.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { membershipsOf } from '../../commands/kernel/membership.ts';

export interface CallArguments {
  readonly capability: string;
  readonly json: string;
  readonly as: string;
}

const MINUTE_MS = 60_000;

/**
 * Returns the output as JSON. Throws one sentence for an unknown capability or principal, else what the
 * capability throws.
 */
export async function callCommand(
  core: Omit<Ports, 'readModels'>,
  { capability: name, json, as }: CallArguments,
): Promise<string> {
  const capability = capabilities.find((candidate) => candidate.name === name);
  if (!capability) throw new Error(`There is no capability called ${name}; "list" names them.`);
  const ports: Ports = { ...core, readModels: { waitFor: () => Promise.resolve(false) } };
  const { output } = await invokeCapability({
    capability,
    input: JSON.parse(json) as unknown,
    caller: operatorAs(core, as),
    client: null,
    registry: capabilities,
    ports,
    request: {
      id: core.ids.newId('req'),
      surface: 'rest',
      idempotencyKey: core.ids.newUuid(),
      ifMatch: null,
      ifPosition: null,
      mcpSessionId: null,
    },
  });
  return JSON.stringify(output, null, 2);
}

/** The operator on the machine acts for the principal. The events record `system` as the actor. */
function operatorAs({ directory: { state }, clock }: Omit<Ports, 'readModels'>, principalId: string): Caller {
  const now = clock.now();
  const token: TokenEntry = {
    id: 'admin-command',
    orgId: orgOf(state, principalId),
    principalId,
    principalKind: state.agents.has(principalId) ? 'agent' : 'user',
    name: 'Admin command',
    surface: 'rest',
    scopes: SCOPES,
    mailboxIds: null,
    expiresAt: new Date(now.getTime() + MINUTE_MS).toISOString(),
    createdAt: now.toISOString(),
    position: null,
    createdBy: 'admin-command',
    revokedAt: null,
    secretHash: null,
  };
  const caller = callerOf(state, token, now);
  if (!caller) throw new Error(`There is no person or agent ${principalId} with a role here.`);
  return { ...caller, actor: 'system' };
}

function orgOf(state: DirectoryState, principalId: string): string {
  const agent = state.agents.get(principalId);
  if (agent) return agent.orgId;
  return membershipsOf(state, principalId)[0]?.orgId ?? '';
}

/** The operator on the machine, as the author of events. */
export function adminAuthor(ports: Pick<Ports, 'ids'>, orgId: string | null): Author {
  const author = systemAuthor(ports, orgId);
  return { ...author, actor: { ...author.actor, id: 'admin-command' } };
}

/** The named organisation, or the only one. Throws one sentence. */
export function organisationNamed({ organisations }: DirectoryState, org: string | undefined): string {
  const ids = [...organisations.keys()];
  const [only] = ids;
  if (only === undefined) throw new Error('There is no organisation yet; "bootstrap" makes the first.');
  if (org === undefined && ids.length === 1) return only;
  if (org !== undefined && organisations.has(org)) return org;
  throw new Error(`Name the organisation with --org: ${ids.join(', ')}.`);
}
