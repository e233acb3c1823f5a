/** An agent: a program that acts within the rights of the person who owns it. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { GatewayError, notFound } from '../values/errors.ts';

const AgentCreated = defineEvent({
  type: 'AgentCreated',
  summary: 'An agent was created for a person who owns it.',
  data: z.object({ owner_id: z.string(), name: z.string() }),
  webhook: null,
});

const AgentChanged = defineEvent({
  type: 'AgentChanged',
  summary: 'An agent was renamed or handed to another owner; the tokens it had end with a hand-over.',
  data: z.object({ owner_id: z.string().optional(), name: z.string().optional() }),
  webhook: null,
});

const AgentDeleted = defineEvent({
  type: 'AgentDeleted',
  summary: 'An agent was deleted; its tokens and grants have ended.',
  data: z.object({}),
  webhook: null,
});

export const agentEvents = [AgentCreated, AgentChanged, AgentDeleted] as const;
type AgentEvent = (typeof agentEvents)[number];

interface AgentState {
  readonly ownerId: string | null;
  readonly name: string | null;
  readonly isDeleted: boolean;
}

export const agent: Aggregate<AgentState, AgentEvent> = {
  category: 'agent',
  catalogue: catalogueOf(agentEvents),
  initial: { ownerId: null, name: null, isDeleted: false },
  evolve: (state, fact: PastFact<AgentEvent>) => {
    switch (fact.type) {
      case 'AgentCreated':
        return { ...state, ownerId: fact.data.owner_id, name: fact.data.name };
      case 'AgentChanged':
        return {
          ...state,
          ownerId: fact.data.owner_id ?? state.ownerId,
          name: fact.data.name ?? state.name,
        };
      case 'AgentDeleted':
        return { ...state, isDeleted: true };
    }
  },
};

/** Refuses when the id is taken by another agent; the same agent again adds nothing. */
export function createAgent(
  state: AgentState,
  command: { readonly name: string; readonly ownerId: string },
): readonly Fact<AgentEvent>[] {
  if (state.ownerId === null) {
    return [{ type: 'AgentCreated', data: { owner_id: command.ownerId, name: command.name } }];
  }
  if (state.ownerId === command.ownerId && state.name === command.name && !state.isDeleted) return [];
  throw new GatewayError('conflict', 'This agent exists already.');
}

/** Writes only what differs. Throws `not_found` for a deleted agent. */
export function changeAgent(
  state: AgentState,
  change: { readonly name?: string | undefined; readonly ownerId?: string | undefined },
): readonly Fact<AgentEvent>[] {
  if (state.ownerId === null || state.isDeleted) throw notFound('agent');
  const isRenamed = change.name !== undefined && change.name !== state.name;
  const isHandedOver = change.ownerId !== undefined && change.ownerId !== state.ownerId;
  if (!isRenamed && !isHandedOver) return [];
  const data = {
    ...(isRenamed && { name: change.name }),
    ...(isHandedOver && { owner_id: change.ownerId }),
  };
  return [{ type: 'AgentChanged', data }];
}

/** Adds nothing for a deleted agent. */
export function deleteAgent(state: AgentState): readonly Fact<AgentEvent>[] {
  if (state.ownerId === null) throw notFound('agent');
  return state.isDeleted ? [] : [{ type: 'AgentDeleted', data: {} }];
}
