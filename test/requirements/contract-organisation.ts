import type { RequirementTable } from './requirement.ts';

/** Organisations, their members and agents: sections 3, 17, 18 and 20. */
export const contractOrganisation = {
  'contract:2:departures': [
    'kernel',
    'What a membership, a role or an owner left behind has no effect at once, ends in the log even when a process dies in between, and does not return with the person.',
  ],
  'contract:3:role-ends': [
    'update_member',
    'A lowered role ends the tokens that need more and the votes that needed it.',
  ],
  'contract:13:last-owner': [
    ['update_member', 'delete_member'],
    'An organisation keeps an owner: the last one is neither demoted nor removed, 409 last_owner.',
  ],
  'contract:17:agent-changes': [
    ['update_agent', 'delete_agent'],
    'An agent is renamed or handed to another member, which ends its tokens, or deleted with its tokens and grants.',
  ],
  'contract:17:members': [
    ['list_members', 'get_member', 'update_member', 'delete_member'],
    'Members are listed with what their removal would end; roles are changed and members removed in a stepped-up session.',
  ],
  'contract:17:organisation': [
    ['get_organisation', 'create_organisation', 'update_organisation'],
    'The organisation is shown and renamed; people with a verified address set up further ones, up to 20, where sign-up is open or they are owners.',
  ],
  'contract:17:organisation-delete': [
    'delete_organisation',
    'An owner deletes the organisation with its name, and restores it within seven days, without its former sessions and tokens.',
  ],
  'contract:17:token-changes': ['update_token', 'A token is renamed or set to expire earlier.'],
  'contract:20:role-ceiling': [
    'update_member',
    'Nobody gives or takes a role above their own; only owners make, change or remove owners.',
  ],
  'contract:17:delete-body': [
    'transport',
    'A DELETE has its fields in the query, or in a JSON body where its capability says so.',
  ],
  'contract:18:organisation-deletion': [
    'kernel',
    'In a deleted organisation only an owner who signs in afterwards may do anything: see it and restore it.',
  ],
  'contract:20:sessions-only': [
    'kernel',
    'A capability that only a signed-in person may use is refused to tokens whatever their scopes, and says so in the OpenAPI document.',
  ],
} as const satisfies RequirementTable;
