/** GET /agents and /agents/:agent_id. */
import { z } from 'zod';
import { defineCapability } from '../../commands/kernel/capability.ts';
import { Agent, agentVersion, describeAgent } from '../../commands/organisation/add-agent.ts';
import { agentIn } from '../../commands/organisation/manage-agents.ts';
import { managesAgent } from '../../commands/organisation/manage-tokens.ts';
import { collectionOf, pageFields, pageOfEntries } from '../paging/page.ts';

const Agents = collectionOf(Agent);
const ListInput = z.strictObject(pageFields);
const GetInput = z.strictObject({ agent_id: z.string().min(1).max(64) });

export const listAgents = defineCapability<z.output<typeof ListInput>, z.output<typeof Agents>>({
  name: 'list_agents',
  title: 'List agents',
  summary: 'Agents of yours, newest first; owners and admins see all.',
  description: 'Agents you own; owners and admins see those of the organisation.',
  effect: 'read',
  access: { any: ['agents:manage'], freeInSession: true },
  rest: { method: 'get', path: '/agents' },
  tool: null,
  idempotency: { kind: 'none' },
  input: ListInput,
  output: Agents,
  handle: async (input, context) => {
    const { caller, ports } = context;
    const entries = [...ports.directory.state.agents.values()].filter((entry) => managesAgent(caller, entry));
    return pageOfEntries(context, { route: 'agents', query: null }, input, {
      entries,
      describe: describeAgent,
    });
  },
});

export const getAgent = defineCapability<z.output<typeof GetInput>, Agent>({
  name: 'get_agent',
  title: 'Get an agent',
  summary: 'One agent and the person who owns it.',
  description: 'One agent and the person whose grants bound it.',
  effect: 'read',
  access: { any: ['agents:manage'], freeInSession: true },
  rest: { method: 'get', path: '/agents/:agent_id' },
  tool: null,
  idempotency: { kind: 'none' },
  input: GetInput,
  output: Agent,
  etag: agentVersion,
  handle: async ({ agent_id }, context) => describeAgent(agentIn(context, agent_id)),
});
