/** PATCH and DELETE of agents: a new name, another owner, or the end. */
import { z } from 'zod';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import type { AgentEntry } from '../ports/directory.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { notFound } from '../values/errors.ts';
import { uuidV5 } from '../values/ids.ts';
import { lineOfText } from '../values/input-fields.ts';
import { Agent, agentVersion, describeAgent, ownerOf } from './add-agent.ts';
import { agent, changeAgent, deleteAgent as decideDeletion } from './agent.ts';
import { settleLeftBehind } from './departures.ts';
import { managesAgent } from './manage-tokens.ts';

const AgentId = z.string().min(1).max(64);

/** An agent that the caller manages. Throws `not_found`. */
export function agentIn({ caller, ports }: Context, agentId: string): AgentEntry {
  const entry = ports.directory.state.agents.get(agentId);
  if (!entry || !managesAgent(caller, entry)) throw notFound('agent');
  return entry;
}

const UpdateInput = z.strictObject({
  agent_id: AgentId,
  name: lineOfText(100).optional(),
  owner_id: z.string().min(1).max(64).optional().describe('The member who owns it from now on.'),
});
type UpdateInput = z.output<typeof UpdateInput>;

const access = { any: ['agents:manage'], freeInSession: true } as const;

export const updateAgent = defineCapability<UpdateInput, Agent>({
  name: 'update_agent',
  title: 'Change an agent',
  summary: 'Renames an agent, or hands it to another member.',
  description:
    'Renames an agent or hands it to another member, whose grants bound it from then on. A hand-over revokes all its tokens ' +
    'and ends what it requested: issue new tokens afterwards. `If-Match` guards against changes in between.',
  effect: 'write',
  access: { ...access, steppedUp: ({ owner_id }) => owner_id !== undefined },
  rest: { method: 'patch', path: '/agents/:agent_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, { agent_id }, { ports }, settled) => {
      const entry = ports.directory.state.agents.get(agent_id);
      return Promise.resolve(settled && entry ? describeAgent(entry) : null);
    },
  },
  input: UpdateInput,
  output: Agent,
  etag: agentVersion,
  ifMatch: true,
  handle: async ({ agent_id: id, name, owner_id }, context) => {
    const { ports, writer, author, request } = context;
    const before = agentIn(context, id);
    const ownerId = owner_id === undefined ? undefined : ownerOf(context, owner_id);
    const decide = (state: typeof agent.initial) =>
      changeAgent(state, { name, ownerId, ifMatch: request.ifMatch });
    const loaded = await loadAggregate(ports.events, agent, id);
    decide(loaded.state);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, agent, { id, decide, loaded });
    await answerWhenKnown(context, position);
    const entry = ports.directory.state.agents.get(id);
    if (!entry) throw notFound('agent');
    if (entry.ownedSince !== before.ownedSince) await afterHandOver(context, entry);
    return describeAgent(entry);
  },
});

async function afterHandOver(context: Context, { id, ownerId, ownedSince }: AgentEntry): Promise<void> {
  await endOf(context, id);
  await tellNewOwner(context, { ownerId, ownedSince, agentIds: [id] });
}

/** A mail to the new owner of agents, unless it is who handed them over. */
export async function tellNewOwner(
  { writer, author, caller }: Context,
  {
    ownerId,
    ownedSince,
    agentIds,
  }: Pick<AgentEntry, 'ownerId' | 'ownedSince'> & { readonly agentIds: readonly string[] },
): Promise<void> {
  if (ownerId === caller.principal.id) return;
  const mailId = uuidV5('agents_handed_over', ownerId, ownedSince);
  await requestMail(writer, author, mailId, {
    kind: 'agents_handed_over',
    user_id: ownerId,
    to: null,
    agent_ids: [...agentIds],
  });
}

/** Ends the tokens and grants that no longer count. */
async function endOf(context: Context, agentId: string): Promise<void> {
  const leavers = { orgId: context.caller.org.id, principalIds: [agentId] };
  context.notePosition(await settleLeftBehind(context.ports, context.author, leavers));
}

const DeleteInput = z.strictObject({ agent_id: AgentId });

export const deleteAgent = defineCapability<z.output<typeof DeleteInput>, Nothing>({
  name: 'delete_agent',
  title: 'Delete an agent',
  summary: 'Deletes an agent with its tokens and grants.',
  description: 'Deletes an agent at once; its tokens are revoked and its grants end. It cannot be undone.',
  effect: 'write',
  access,
  rest: { method: 'delete', path: '/agents/:agent_id', status: 204 },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: DeleteInput,
  output: Nothing,
  handle: async ({ agent_id: id }, context) => {
    const { writer, author } = context;
    agentIn(context, id);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, agent, { id, decide: decideDeletion });
    await answerWhenKnown(context, position);
    await endOf(context, id);
    return {};
  },
});
