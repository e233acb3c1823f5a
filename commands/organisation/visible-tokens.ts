/** Which tokens and agents a caller manages: its own and its agents'; owners and admins those of the organisation. */
import type { Caller } from '../kernel/access.ts';
import type { AgentEntry, DirectoryState, TokenEntry } from '../ports/directory.ts';

const managesOrganisation = ({ role }: Caller): boolean => role === 'owner' || role === 'admin';

/** True for the caller itself and for an agent it owns. */
export const isOwnPrincipal = (caller: Caller, state: DirectoryState, principalId: string): boolean =>
  principalId === caller.principal.id ||
  (state.agents.get(principalId)?.ownerId === caller.principal.id &&
    state.agents.get(principalId)?.orgId === caller.org.id);

export const managesToken = (caller: Caller, state: DirectoryState, token: TokenEntry): boolean =>
  token.orgId === caller.org.id &&
  (managesOrganisation(caller) || isOwnPrincipal(caller, state, token.principalId));

export const managesAgent = (caller: Caller, agent: AgentEntry): boolean =>
  agent.orgId === caller.org.id && (managesOrganisation(caller) || agent.ownerId === caller.principal.id);
