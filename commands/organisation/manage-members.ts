/** PATCH and DELETE of members: roles, removal, leaving. Rights follow at once; what hung on them is ended here too. */
import { z } from 'zod';
import { emailKey } from '../accounts/account.ts';
import { lacks } from '../kernel/authorize.ts';
import {
  answerWhenKnown,
  type Context,
  defineCapability,
  Nothing,
  replayNothing,
} from '../kernel/capability.ts';
import { decideAndAppend, loadAggregate } from '../kernel/decide-and-append.ts';
import { memberOfOrg } from '../kernel/membership.ts';
import type { MemberEntry } from '../ports/directory.ts';
import { requestMail } from '../system-mail/system-mail.ts';
import { invalidField, notFound } from '../values/errors.ts';
import { uuidV5 } from '../values/ids.ts';
import { laterOf, type Position } from '../values/position.ts';
import type { Scope } from '../values/scopes.ts';
import { ROLES } from '../values/scopes.ts';
import { agent, handOver } from './agent.ts';
import { forgetInvite } from './carry-out-invite.ts';
import { settleLeftBehind } from './departures.ts';
import { endInvite, invite } from './invite.ts';
import { changeRole, organisation, removeMember } from './organisation.ts';
import { tellNewOwner } from './manage-agents.ts';
import { agentsOf, describeMember, Member } from './organisation-payload.ts';

const UserId = z.string().min(1).max(64);

/** The member of the caller's organisation. Throws `not_found`. */
export function memberIn({ caller, ports }: Context, userId: string): MemberEntry {
  const entry = memberOfOrg(ports.directory.state, caller.org.id, userId);
  if (entry === null) throw notFound('member');
  return entry;
}

/** For what concerns others; the stream decides which roles the caller may give and take. */
function requireScope({ caller }: Context, scope: Scope): void {
  if (!caller.scopes.has(scope)) throw lacks(caller, [scope]);
}

const ChangeInput = z.strictObject({ user_id: UserId, role: z.enum(ROLES) });

export const updateMember = defineCapability<z.output<typeof ChangeInput>, Member>({
  name: 'update_member',
  title: 'Change a role',
  summary: 'Gives a member another role.',
  description:
    'Gives a member another role, within your own; only owners make or change owners, and the last owner stays. The new role ' +
    'counts at once. Tokens that need more than it allows are revoked, and votes that needed the former role no longer count.',
  effect: 'write',
  access: 'stepped-up-session',
  errors: ['email_unverified'],
  rest: { method: 'patch', path: '/members/:user_id' },
  tool: null,
  idempotency: {
    kind: 'claim',
    replay: (_, { user_id }, context, settled) =>
      Promise.resolve(settled ? describe(context, user_id) : null),
  },
  input: ChangeInput,
  output: Member,
  handle: async ({ user_id, role }, context) => {
    const { ports, writer, author, caller } = context;
    requireScope(context, 'members:manage');
    const decide = (state: typeof organisation.initial) =>
      changeRole(state, { userId: user_id, role, by: { userId: caller.principal.id } });
    const { id } = caller.org;
    const loaded = await loadAggregate(ports.events, organisation, id);
    decide(loaded.state);
    await context.claim('req');
    const { position } = await decideAndAppend(writer, author, organisation, { id, decide, loaded });
    await answerWhenKnown(context, position);
    context.notePosition(await settleLeftBehind(ports, author, { orgId: id, principalIds: [user_id] }));
    return describe(context, user_id);
  },
});

const describe = (context: Context, userId: string): Member =>
  describeMember(context.ports.directory.state, memberIn(context, userId), context.ports.clock.now());

const RemoveInput = z.strictObject({
  user_id: UserId,
  agents_to_id: UserId.optional().describe(
    'The member who takes over their agents; without one these are deleted.',
  ),
});
type RemoveInput = z.output<typeof RemoveInput>;

export const removeMemberCapability = defineCapability<RemoveInput, Nothing>({
  name: 'delete_member',
  title: 'Remove a member',
  summary: 'Removes a member, or lets you leave.',
  description:
    'Ends a membership: sessions, tokens, grants and votes of that person in this organisation end at once, for every ' +
    'replica. Agents go to `agents_to_id`, where they need new tokens, or are deleted; GET /members shows before what would ' +
    'end. Everybody may end their own membership; the last owner stays.',
  effect: 'write',
  access: 'stepped-up-session',
  errors: ['email_unverified'],
  rest: { method: 'delete', path: '/members/:user_id', status: 204, deleteBody: true },
  tool: null,
  idempotency: { kind: 'claim', replay: replayNothing },
  input: RemoveInput,
  output: Nothing,
  handle: async ({ user_id: userId, agents_to_id: heirId }, context) => {
    const { ports, writer, author, caller } = context;
    const { id: orgId } = caller.org;
    const isOwn = userId === caller.principal.id;
    if (!isOwn) requireScope(context, 'members:manage');
    const decide = (state: typeof organisation.initial) =>
      removeMember(state, {
        userId,
        reason: isOwn ? 'left' : 'removed',
        by: { userId: caller.principal.id },
      });
    const loaded = await loadAggregate(ports.events, organisation, orgId);
    decide(loaded.state);
    if (heirId !== undefined) assertHeir(context, userId, heirId);
    await context.claim('req');
    const member = memberOfOrg(ports.directory.state, orgId, userId);
    const agents = agentsOf(ports.directory.state, orgId, userId).map(({ id }) => id);
    await endInvitesOf(context, userId);
    if (heirId !== undefined) await handAgents(context, agents, userId, heirId);
    const { position } = await decideAndAppend(writer, author, organisation, { id: orgId, decide, loaded });
    await answerWhenKnown(context, position);
    if (!isOwn) {
      const mailId = uuidV5('member_removed', orgId, userId, member?.since ?? '');
      await requestMail(writer, author, mailId, { kind: 'member_removed', user_id: userId, to: null });
    }
    context.notePosition(await settleLeftBehind(ports, author, { orgId, principalIds: [userId, ...agents] }));
    return {};
  },
});

/** Another member, who then owns the agents. Throws `invalid_request`, `insufficient_scope`. */
function assertHeir(context: Context, userId: string, heirId: string): void {
  const { caller, ports } = context;
  if (heirId !== caller.principal.id) requireScope(context, 'agents:manage');
  if (heirId !== userId && memberOfOrg(ports.directory.state, caller.org.id, heirId) !== null) return;
  throw invalidField('agents_to_id', 'This is not another member of the organisation.');
}

/** Before the removal, so that an interrupted one leaves the agents with a member. */
async function handAgents(
  context: Context,
  agentIds: readonly string[],
  from: string,
  to: string,
): Promise<void> {
  const { ports, writer, author } = context;
  const handed: string[] = [];
  let last: Position | null = null;
  for (const id of agentIds) {
    const { state, position } = await decideAndAppend(writer, author, agent, {
      id,
      decide: (current) => handOver(current, from, to),
    });
    // It was deleted meanwhile, or somebody else has it.
    if (state.isDeleted || state.ownerId !== to) continue;
    handed.push(id);
    last = laterOf(last, position);
  }
  if (last === null) return;
  await ports.directory.waitFor(last);
  await tellNewOwner(context, { ownerId: to, ownedSince: String(last), agentIds: handed });
}

/** An invite to the address of a person who is removed must not bring them back. */
async function endInvitesOf({ ports, writer, author, caller }: Context, userId: string): Promise<void> {
  const { people, invites } = ports.directory.state;
  const key = emailKey(ports, people.get(userId)?.email ?? '');
  const waiting = [...invites.values()].filter(
    ({ orgId, emailKey: of, acceptedBy }) => orgId === caller.org.id && of === key && acceptedBy === null,
  );
  for (const { id } of waiting) {
    const { state } = await decideAndAppend(writer, author, invite, {
      id,
      decide: (current) => (current.status === 'waiting' ? endInvite(current, 'member_removed') : []),
    });
    if (state.status === 'ended') await forgetInvite(ports, id);
  }
}
