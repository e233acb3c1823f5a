/** What would be lost with an account, as legal holds judge it. */
import type { Loss } from '../kernel/legal-holds.ts';
import type { AgentOwnersEntry } from '../ports/legal-holds.ts';
import { loadAggregate } from '../kernel/decide-and-append.ts';
import type { Ports } from '../ports/ports.ts';
import { GatewayError } from '../values/errors.ts';
import { agent } from './agent.ts';

const REPAIRED_AFTER_SECONDS = 60;

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

/**
 * Whose agent it is must be known: its key goes with the person, or stays. Throws `index_building` while an event of one cannot be
 * read, and `store_unavailable`.
 */
export async function assertAgentsKnown(
  ports: Pick<Ports, 'directory' | 'events'>,
  userId: string,
): Promise<void> {
  for (const { id } of agentsLastOwnedBy(ports, userId)) {
    try {
      await loadAggregate(ports.events, agent, id);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw new GatewayError(
        'index_building',
        `An event of the agent ${id} cannot be read: the operator must repair it first.`,
        { retryAfterSeconds: REPAIRED_AFTER_SECONDS, cause: error },
      );
    }
  }
}
