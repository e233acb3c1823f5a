/** An agent: a program that acts within its owner's rights. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact } from '../values/event.ts';
import { GatewayError } from '../values/errors.ts';

const AgentCreated = defineEvent({
  type: 'AgentCreated',
  summary: 'An agent was created for a person who owns it.',
  data: z.object({ owner_id: z.string(), name: z.string() }),
  webhook: null,
});

export const agentEvents = [AgentCreated] as const;

interface AgentState {
  readonly ownerId: string | null;
  readonly name: string | null;
}

export const agent: Aggregate<AgentState, typeof AgentCreated> = {
  category: 'agent',
  catalogue: catalogueOf(agentEvents),
  initial: { ownerId: null, name: null },
  evolve: (_, fact) => ({ ownerId: fact.data.owner_id, name: fact.data.name }),
};

/** Refuses when the id is taken by another agent; the same agent again adds nothing. */
export function createAgent(
  state: AgentState,
  command: { readonly name: string; readonly ownerId: string },
): readonly Fact<typeof AgentCreated>[] {
  if (state.ownerId === null) {
    return [{ type: 'AgentCreated', data: { owner_id: command.ownerId, name: command.name } }];
  }
  if (state.ownerId === command.ownerId && state.name === command.name) return [];
  throw new GatewayError('conflict', 'This agent exists already.');
}
