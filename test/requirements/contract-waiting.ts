import type { RequirementTable } from './requirement.ts';

const WAITS = ['monitor_inbox', 'email_await'] as const;

/** Waiting: section 5, and what sections 2, 4, 15 and 17 say of it. */
export const contractWaiting = {
  'contract:2:wait-ends-with-rights': [
    WAITS,
    'A wait ends with its token, its grant or its scope, on every replica.',
  ],
  'contract:4:folder-absent-wait': [
    WAITS,
    'Without a folder: inbox on monitor, all but trash and junk on await.',
  ],
  'contract:4:wait-not-weakened': [
    WAITS,
    'A filter that cannot be waited for truthfully is filter_unsupported.',
  ],
  'contract:5:timeout': [WAITS, 'timeout_seconds is 0 to 50, 30 by default; a timeout is a normal answer.'],
  'contract:5:await-reply': [WAITS, 'The answer is status matched or timed_out, items and a cursor.'],
  'contract:5:from-now': [WAITS, 'Without a cursor only what arrives from now on counts.'],
  'contract:5:begins-to-match': [WAITS, 'What begins to match after the cursor counts, and counts once.'],
  'contract:5:query-cursor': ['email_await', "A query's page.as_of is a cursor."],
  'contract:5:no-gap-no-repeat': [
    WAITS,
    'Between cursors nothing is left out and nothing told twice, over processes and restarts.',
  ],
  'contract:5:inbox-within-two-seconds': [WAITS, 'New mail in INBOX is told within 2 s.'],
  'contract:5:operation': ['email_await', 'for operation answers when an operation has finished.'],
  'contract:13:cursor-expired': [WAITS, 'A cursor that is too old is 410 cursor_expired.'],
  'contract:15:waits': [WAITS, 'Waits count apart: 50 per token, beyond 429.'],
  'contract:17:monitor-inbox': ['monitor_inbox', 'The payload of POST …/monitor_inbox.'],
  'contract:17:email-await': ['email_await', 'The payload of POST …/email.await.'],
} as const satisfies RequirementTable;
