/** POST /agents: adds a program that acts within its owner's rights. */
import { z } from 'zod';
import { lacks } from '../kernel/authorize.ts';
import { answerWhenKnown, type Context, defineCapability, madeBefore } from '../kernel/capability.ts';
import { lineOfText } from '../values/input-fields.ts';
import { decideAndAppend, streamOf } from '../kernel/decide-and-append.ts';
import { notFound } from '../values/errors.ts';
import { agent, createAgent as decideAgent } from './agent.ts';
import type { AgentEntry } from '../ports/directory.ts';
import { memberOfOrg } from '../kernel/membership.ts';

export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  owner_id: z.string().describe('The person whose grants bound it.'),
  created_at: z.string(),
  version: z.number().describe('Its ETag: increases with each change.'),
});
export type Agent = z.output<typeof Agent>;

export const describeAgent = (entry: AgentEntry): Agent => ({
  id: entry.id,
  name: entry.name,
  owner_id: entry.ownerId,
  created_at: entry.createdAt,
  version: entry.version,
});

export const agentVersion = ({ version }: Agent): string => String(version);

const Input = z.strictObject({
  name: lineOfText(100),
  owner_id: z.string().min(1).max(64).optional().describe('A member; yourself when absent.'),
});
type Input = z.output<typeof Input>;

export const createAgent = defineCapability<Input, Agent>({
  name: 'create_agent',
  title: 'Create an agent',
  summary: 'Creates an agent; it can do nothing until it has a token and a grant.',
  description:
    "Creates an agent owned by a member. It never gets further than its owner's own grants. Give it a grant on a mailbox " +
    'and a token next.',
  effect: 'write',
  access: { any: ['agents:manage'], freeInSession: true, steppedUp: true },
  rest: { method: 'post', path: '/agents', status: 201, location: ({ id }) => `/agents/${id}` },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: async (targetId, _, context) => {
      const entry = await madeBefore(context, streamOf(agent, targetId), ({ agents }) =>
        agents.get(targetId),
      );
      return entry && describeAgent(entry);
    },
  },
  input: Input,
  output: Agent,
  etag: agentVersion,
  handle: async (input, context) => {
    const { ports, writer, author } = context;
    const ownerId = ownerOf(context, input.owner_id);
    const id = await context.claim('agt');
    const { position } = await decideAndAppend(writer, author, agent, {
      id,
      decide: (state) => decideAgent(state, { name: input.name, ownerId }),
    });
    await answerWhenKnown(context, position);
    const entry = ports.directory.state.agents.get(id);
    if (!entry) throw notFound('agent');
    return describeAgent(entry);
  },
});

/** Throws `not_found` for a person who is not a member, `insufficient_scope` for another person's agent without the scope. */
export function ownerOf({ caller, ports }: Context, id: string | undefined): string {
  const ownId = caller.onBehalfOf ?? caller.principal.id;
  const ownerId = id ?? ownId;
  if (ownerId !== ownId && !caller.scopes.has('agents:manage')) throw lacks(caller, ['agents:manage']);
  if (memberOfOrg(ports.directory.state, caller.org.id, ownerId) === null) throw notFound('member');
  return ownerId;
}
