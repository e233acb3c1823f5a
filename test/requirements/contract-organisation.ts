import type { RequirementTable } from './requirement.ts';

/** Organisations, their members and agents: sections 3, 17, 18 and 20. */
export const contractOrganisation = {
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
