/** An organisation and its members. */
import { z } from 'zod';
import type { Aggregate } from '../kernel/decide-and-append.ts';
import { catalogueOf, defineEvent, type Fact, type PastFact } from '../values/event.ts';
import { GatewayError, notFound } from '../values/errors.ts';
import { type Role, ROLES } from '../values/scopes.ts';

const OrganisationCreated = defineEvent({
  type: 'OrganisationCreated',
  summary: 'An organisation was set up.',
  data: z.object({ name: z.string() }),
  webhook: null,
});

const MemberAdded = defineEvent({
  type: 'MemberAdded',
  summary: 'A person became a member of the organisation with a role.',
  data: z.object({ user_id: z.string(), role: z.enum(ROLES) }),
  webhook: {
    type: 'member.added',
    data: z.object({
      user_id: z.string().describe('The person.'),
      role: z.enum(ROLES).describe('What the person may do in the organisation.'),
    }),
    adds: () => ({}),
  },
});

export const organisationEvents = [OrganisationCreated, MemberAdded] as const;
type OrganisationEvent = (typeof organisationEvents)[number];

interface OrganisationState {
  readonly name: string | null;
  readonly members: ReadonlyMap<string, Role>;
}

export const organisation: Aggregate<OrganisationState, OrganisationEvent> = {
  category: 'organisation',
  catalogue: catalogueOf(organisationEvents),
  initial: { name: null, members: new Map() },
  evolve: (state, fact: PastFact<OrganisationEvent>) => {
    switch (fact.type) {
      case 'OrganisationCreated':
        return { ...state, name: fact.data.name };
      case 'MemberAdded':
        return { ...state, members: new Map(state.members).set(fact.data.user_id, fact.data.role) };
    }
  },
};

/** Adds a member. An existing member keeps the role: throws `conflict` for another role, adds nothing for the same. */
export function addMember(
  state: OrganisationState,
  command: { readonly userId: string; readonly role: Role },
): readonly Fact<OrganisationEvent>[] {
  if (state.name === null) throw notFound('organisation');
  const role = state.members.get(command.userId);
  if (role === command.role) return [];
  if (role !== undefined) throw new GatewayError('conflict', `This person is a member already, as ${role}.`);
  return [{ type: 'MemberAdded', data: { user_id: command.userId, role: command.role } }];
}

/** Creates the organisation with its first owner. Refuses when it exists. */
export function createOrganisation(
  state: OrganisationState,
  command: { readonly name: string; readonly ownerId: string },
): readonly Fact<OrganisationEvent>[] {
  if (state.name !== null) throw new GatewayError('conflict', 'This organisation exists already.');
  return [
    { type: 'OrganisationCreated', data: { name: command.name } },
    { type: 'MemberAdded', data: { user_id: command.ownerId, role: 'owner' } },
  ];
}
