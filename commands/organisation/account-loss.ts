/** What would be lost with an account, as legal holds judge it. */
import type { Loss } from '../kernel/legal-holds.ts';
import type { AgentOwnersEntry } from '../ports/legal-holds.ts';
import type { Ports } from '../ports/ports.ts';

/** Agents that are or may be last owned by the person, also deleted ones: their keys go with the account. */
export const agentsLastOwnedBy = (
  { directory }: Pick<Ports, 'directory'>,
  userId: string,
): readonly AgentOwnersEntry[] =>
  [...directory.state.agentOwners.values()].filter(({ lastOwnerIds }) => lastOwnerIds.includes(userId));

/**
 * As of now. It can grow for a moment after an erasure began, by what the person and their agents had begun before. Throws
 * `store_unavailable`, `index_building`.
 */
export async function lossOfAccount(
  ports: Pick<Ports, 'directory' | 'trails'>,
  userId: string,
): Promise<Extract<Loss, { readonly kind: 'account' }>> {
  const agents = agentsLastOwnedBy(ports, userId).map(({ id }) => id);
  return { kind: 'account', userId, approvals: await ports.trails.approvalsOf([userId, ...agents]) };
}
