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
    'Between cursors nothing is omitted and nothing reported twice, over processes and restarts.',
  ],
  'contract:5:inbox-within-two-seconds': [WAITS, 'New mail in INBOX is reported within 2 s.'],
  'contract:5:many-waiters': [
    WAITS,
    'A mailbox has one worker that receives its news, for any number of waits.',
  ],
  'contract:5:approval': [
    ['monitor_approval', 'email_await'],
    'Waiting for approvals answers when the status of one changes.',
  ],
  'contract:5:approval-cursor': [
    'monitor_approval',
    'Each change is reported once; without a cursor, every change since the approval was requested.',
  ],
  'contract:5:approval-expiry': ['monitor_approval', 'An approval that expires is reported at that moment.'],
  'contract:5:operation': ['email_await', 'for operation answers when an operation has finished.'],
  'contract:13:cursor-expired': [WAITS, 'A cursor that is too old is 410 cursor_expired.'],
  'contract:15:waits': [WAITS, 'Waits count apart: 50 per token, beyond 429.'],
  'contract:16:tasks-capability': [
    'email_await',
    'Tasks are a capability of 2025-11-25 and optional on the tools that take time, on no other.',
  ],
  'contract:16:tasks-ttl': [
    'email_await',
    'A task is kept for its ttl, at most 24 h, which the answer names.',
  ],
  'contract:16:tasks-live': ['email_await', 'At most 20 live tasks per principal.'],
  'contract:16:tasks-of-principal': [
    'email_await',
    "A task is its principal's; to others it is an unknown id, −32602.",
  ],
  'contract:16:tasks-any-replica': [
    'email_await',
    'Any replica answers for a task; one whose runner died is failed.',
  ],
  'contract:16:tasks-result': [
    'email_await',
    'tasks/result answers what the call would have, once it is over.',
  ],
  'contract:16:tasks-cancel': [
    'email_await',
    'tasks/cancel ends a working task; one that is over is −32602.',
  ],
  'contract:16:tasks-list': ['email_await', 'tasks/list pages over the own tasks.'],
  'contract:17:monitor-inbox': ['monitor_inbox', 'The payload of POST …/monitor_inbox.'],
  'contract:17:monitor-approval': ['monitor_approval', 'The payload of POST /approvals/monitor_approval.'],
  'contract:17:email-await': ['email_await', 'The payload of POST …/email.await.'],
} as const satisfies RequirementTable;
