/** The events of an organisation: its name, its members, its deletion. */
import { z } from 'zod';
import { OAUTH_CLIENT_RULES } from '../ports/directory.ts';
import { defineEvent } from '../values/event.ts';
import { instant } from '../values/event-fields.ts';
import { ROLES } from '../values/scopes.ts';

const UserId = z.string().describe('The person.');

const OrganisationCreated = defineEvent({
  type: 'OrganisationCreated',
  summary: 'An organisation was set up.',
  data: z.object({ name: z.string() }),
  webhook: null,
});

const OrganisationRenamed = defineEvent({
  type: 'OrganisationRenamed',
  summary: 'An organisation got another name.',
  data: z.object({ name: z.string() }),
  webhook: null,
});

const OrganisationDeleted = defineEvent({
  type: 'OrganisationDeleted',
  summary:
    'An organisation was deleted: its sessions and tokens ended. An owner can restore it until it is erased.',
  data: z.object({ erase_at: instant }),
  webhook: null,
});

const OrganisationRestored = defineEvent({
  type: 'OrganisationRestored',
  summary: 'An owner restored a deleted organisation. Its former sessions and tokens stay invalid.',
  data: z.object({}),
  webhook: null,
});

const OrganisationErased = defineEvent({
  type: 'OrganisationErased',
  summary: 'The time to restore a deleted organisation ended; its mailboxes are removed.',
  data: z.object({}),
  webhook: null,
});

const OrganisationOAuthClientsSet = defineEvent({
  type: 'OrganisationOAuthClientsSet',
  summary: 'An owner set which applications the members may connect.',
  data: z.object({ rule: z.enum(OAUTH_CLIENT_RULES) }),
  webhook: null,
});

const MemberAdded = defineEvent({
  type: 'MemberAdded',
  summary: 'A person became a member of the organisation with a role.',
  data: z.object({ user_id: z.string(), role: z.enum(ROLES), invite_id: z.string().optional() }),
  webhook: {
    type: 'member.added',
    data: z.object({
      user_id: UserId,
      role: z.enum(ROLES).describe('What the person may do in the organisation.'),
    }),
    adds: () => ({}),
  },
});

const MemberRoleChanged = defineEvent({
  type: 'MemberRoleChanged',
  summary: 'A member got another role. What needed the former role has ended.',
  data: z.object({ user_id: z.string(), role: z.enum(ROLES) }),
  webhook: null,
});

export const REMOVAL_REASONS = ['removed', 'left', 'erased'] as const;
export type RemovalReason = (typeof REMOVAL_REASONS)[number];

const MemberRemoved = defineEvent({
  type: 'MemberRemoved',
  summary: 'A membership ended: the sessions, tokens, grants and agents that hung on it have ended too.',
  data: z.object({ user_id: z.string(), reason: z.enum(REMOVAL_REASONS) }),
  webhook: {
    type: 'member.removed',
    data: z.object({
      user_id: UserId,
      reason: z
        .enum(REMOVAL_REASONS)
        .describe('`removed` by another member, `left` by the own wish, `erased` with the whole account.'),
    }),
    adds: () => ({}),
  },
});

export const organisationEvents = [
  OrganisationCreated,
  OrganisationRenamed,
  OrganisationDeleted,
  OrganisationRestored,
  OrganisationErased,
  OrganisationOAuthClientsSet,
  MemberAdded,
  MemberRoleChanged,
  MemberRemoved,
] as const;
export type OrganisationEvent = (typeof organisationEvents)[number];
