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
  /** Number of events: the ETag. */
  readonly version: number;
}

export const agent: Aggregate<AgentState, AgentEvent> = {
  category: 'agent',
  catalogue: catalogueOf(agentEvents),
  initial: { ownerId: null, name: null, isDeleted: false, version: 0 },
  evolve: (before, fact: PastFact<AgentEvent>) => {
    const state = { ...before, version: before.version + 1 };
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

interface AgentChange {
  readonly name?: string | undefined;
  readonly ownerId?: string | undefined;
  /** The version it is based on; null = any. */
  readonly ifMatch?: string | null;
}

/** Writes only what differs. Throws `not_found` for a deleted agent, `version_conflict`. */
export function changeAgent(state: AgentState, change: AgentChange): readonly Fact<AgentEvent>[] {
  if (state.ownerId === null || state.isDeleted) throw notFound('agent');
  assertVersion(state, change.ifMatch ?? null);
  const isRenamed = change.name !== undefined && change.name !== state.name;
  const isHandedOver = change.ownerId !== undefined && change.ownerId !== state.ownerId;
  if (!isRenamed && !isHandedOver) return [];
  const data = {
    ...(isRenamed && { name: change.name }),
    ...(isHandedOver && { owner_id: change.ownerId }),
  };
  return [{ type: 'AgentChanged', data }];
}

function assertVersion({ version }: AgentState, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch === '*' || ifMatch === String(version)) return;
  throw new GatewayError(
    'version_conflict',
    'The agent changed since the version in If-Match; read it again.',
    {
      details: { version },
    },
  );
}

/** Hands it over from a person who leaves. Adds nothing once it is deleted or has another owner. */
export const handOver = (state: AgentState, from: string, to: string): readonly Fact<AgentEvent>[] =>
  state.ownerId === from && !state.isDeleted ? changeAgent(state, { ownerId: to }) : [];

/** Deletes what a person left behind. Adds nothing once it has another owner. */
export const deleteLeftAgent = (state: AgentState, ownerId: string): readonly Fact<AgentEvent>[] =>
  state.ownerId === ownerId ? deleteAgent(state) : [];

/** Adds nothing for a deleted agent. */
export function deleteAgent(state: AgentState): readonly Fact<AgentEvent>[] {
  if (state.ownerId === null) throw notFound('agent');
  return state.isDeleted ? [] : [{ type: 'AgentDeleted', data: {} }];
}
