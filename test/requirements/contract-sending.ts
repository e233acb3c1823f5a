/** Rules of sending: `contract.md` 7, 10, 14 and 15 as far as a send is concerned. */
import type { RequirementTable } from './requirement.ts';

export const contractSending = {
  'contract:7:send-order': [
    'send_draft',
    'Operation first, then the intent on the draft, then the phase event before the data, then outcome on draft and operation.',
  ],
  'contract:7:draft-is-the-lock': [
    'send_draft',
    'Of several sends of a draft one begins; what was refused by the draft is the recorded outcome of its operation.',
  ],
  'contract:7:date-at-sending': ['send_draft', 'Date is that of the attempt, Message-ID that of the freeze.'],
  'contract:7:temporary': [
    'send_draft',
    '4xx before the final dot or a server that is down: tried again, 504 with operation_id and retry_at.',
  ],
  'contract:7:discard-ends-retries': [
    'send_draft',
    'A send that waits for its next attempt ends with discard_draft.',
  ],
  'contract:7:partial-refusal': ['send_draft', 'Recipients that were refused are told in rejected[].'],
  'contract:10:send-failed': ['send_draft', 'A refused message is send_failed, and editable.'],
  'contract:10:send-unknown': [
    'send_draft',
    'What may have been sent is send_unknown, looked for in Sent, and never sent again.',
  ],
  'contract:10:send-cut-off': [
    'send_draft',
    'A send that was cut off is gone on with; with data out it is judged no sooner than 15 minutes.',
  ],
  'contract:10:sent-copy': ['send_draft', 'A copy lies in Sent once, seen, whoever files it.'],
  'contract:14:send-once': ['send_draft', 'A repeat of the key answers with the send as it stands.'],
  'contract:15:agent-quota': [
    'send_draft',
    'An agent sends 30 mails an hour; what surely failed is given back.',
  ],
} as const satisfies RequirementTable;
