import type { RequirementTable } from './requirement.ts';

/** Legal holds: sections 12, 13 and 17. */
export const contractHolds = {
  'contract:17:legal-holds': [
    ['place_legal_hold', 'list_legal_holds', 'get_legal_hold', 'release_legal_hold'],
    'Who holds holds:manage in a session places legal holds on people, mailboxes, drafts and approvals of the organisation, and lists them.',
  ],
  'contract:12:hold-blocks': [
    'place_legal_hold',
    'From the answer on nothing that a hold names is erased, expunged, moved to the trash or discarded, on any process: 409 legal_hold, which is a line.',
  ],
  'contract:12:hold-content': [
    'place_legal_hold',
    'Stored content under a hold is kept, and erased by itself once the hold is released.',
  ],
  'contract:12:hold-erasures': [
    'place_legal_hold',
    'An erasure that meets a hold waits, is recorded once for each hold, and is resumed when the hold is released.',
  ],
  'contract:12:hold-organisation': [
    'place_legal_hold',
    'While a hold of an organisation counts, the organisation is not deleted, and not erased when it had been deleted before.',
  ],
  'contract:12:hold-release': [
    'release_legal_hold',
    'One person asks for the release, and another one who manages holds releases it.',
  ],
  'contract:12:hold-operator': [
    'release_legal_hold',
    'Where nobody else manages holds, the operator on the machine is the second, and only there.',
  ],
} as const satisfies RequirementTable;
