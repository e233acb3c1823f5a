/** An organisation and its members as callers see them. */
import { z } from 'zod';
import { liveGrant } from '../kernel/access.ts';
import { countMembers } from '../kernel/membership.ts';
import {
  type DirectoryState,
  type MemberEntry,
  OAUTH_CLIENT_RULES,
  type OrganisationEntry,
} from '../ports/directory.ts';
import { ROLES } from '../values/scopes.ts';

export const Organisation = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.string(),
  oauth_clients: z
    .enum(OAUTH_CLIENT_RULES)
    .describe(
      'Which applications members may connect: `any`, those `approved` here, or only those `registered` here.',
    ),
  members: z.number().describe('How many people belong to it.'),
  deletion: z
    .object({ erase_at: z.string() })
    .nullable()
    .describe('Set while it is deleted: an owner can restore it until then.'),
});
export type Organisation = z.output<typeof Organisation>;

export const describeOrganisation = (state: DirectoryState, entry: OrganisationEntry): Organisation => ({
  id: entry.id,
  name: entry.name,
  created_at: entry.createdAt,
  oauth_clients: entry.oauthClients,
  members: countMembers(state, entry.id),
  deletion: entry.eraseAt === null ? null : { erase_at: entry.eraseAt },
});

export const Member = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  joined_at: z.string(),
  is_verified: z.boolean().describe('Whether the address was shown to be their own.'),
  consequences: z
    .object({
      agents: z
        .array(z.object({ id: z.string(), name: z.string() }))
        .describe('Agents they own: deleted, unless another member takes them over.'),
      tokens: z.number().describe('Valid tokens of theirs and of these agents.'),
      grants: z.number().describe('Grants of theirs on mailboxes.'),
    })
    .describe('What ends when they are removed.'),
});
export type Member = z.output<typeof Member>;

export const agentsOf = ({ agents }: DirectoryState, orgId: string, userId: string) =>
  [...agents.values()].filter((agent) => agent.orgId === orgId && agent.ownerId === userId);

/** The member at `now`. */
export const describeMember = (state: DirectoryState, entry: MemberEntry, now: Date): Member =>
  memberDescriber(state, entry.orgId, now)(entry);

/** Describes members of one organisation at `now`. Agents and tokens are gone over once, however many members there are. */
export function memberDescriber(
  state: DirectoryState,
  orgId: string,
  now: Date,
): (entry: MemberEntry) => Member {
  const ofOrg = [...state.agents.values()].filter((agent) => agent.orgId === orgId);
  const agentsByOwner = Map.groupBy(ofOrg, ({ ownerId }) => ownerId);
  const valid = [...state.tokens.values()].filter(
    (token) =>
      token.orgId === orgId && token.revokedAt === null && Date.parse(token.expiresAt) > now.getTime(),
  );
  const tokensByPrincipal = Map.groupBy(valid, ({ principalId }) => principalId);
  return ({ userId, role, joinedAt }) => {
    const person = state.people.get(userId);
    const agents = agentsByOwner.get(userId) ?? [];
    const tokens = [userId, ...agents.map(({ id }) => id)].flatMap((id) => tokensByPrincipal.get(id) ?? []);
    const granted = [...(state.mailboxIdsByPrincipal.get(userId) ?? [])].filter(
      (id) => state.mailboxes.get(id)?.orgId === orgId && liveGrant(state, id, userId, now) !== null,
    );
    return {
      id: userId,
      name: person?.name ?? '',
      email: person?.email ?? '',
      role,
      joined_at: joinedAt,
      is_verified: person?.isVerified === true,
      consequences: {
        agents: agents.map(({ id, name }) => ({ id, name })),
        tokens: tokens.length,
        grants: granted.length,
      },
    };
  };
}
