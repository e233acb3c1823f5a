import type { RequirementTable } from './requirement.ts';

/** How a mailbox is kept in step with its mail server: sections 4, 5, 11, 12, 15 and 20. */
export const contractSync = {
  'contract:4:mailbox-syncs': [
    'get_mailbox',
    'A mailbox goes connecting, syncing, connected; sync has the number of indexed messages and the total.',
  ],
  'contract:4:not-connected-yet': [
    ['email_query', 'list_messages', 'monitor_inbox', 'email_await'],
    'A mailbox that has not connected yet answers 503, one with refused credentials 424: never nothing, never a missing role.',
  ],
  'contract:4:whole-first-sync': [
    'get_mailbox',
    'A mailbox is connected when its mirror has all the server counts, also where the server reports no UIDNEXT (Courier).',
  ],
  'contract:7:append-after-examine': [
    'send_draft',
    'Copies in Sent and Drafts are filed where the server takes no message into a folder open for reading (Courier).',
  ],
  'contract:4:renamed-tree': [
    'list_folders',
    'A folder that was renamed with its children keeps every number (UIDVALIDITY and common prefix).',
  ],
  'contract:4:folder-gone': [
    ['email_query', 'get_message'],
    'A folder found gone answers 503 until it is listed again, which is at once; never 200 with nothing, never 502.',
  ],
  'contract:4:made-anew': [
    'get_message',
    'After a folder was removed and made again an old id never reads another message, also where the server serves it on.',
  ],
  'contract:4:freshness': [
    'get_mailbox',
    'sync.freshness says how soon news is visible; live: INBOX in 2 s, folders in 60 s.',
  ],
  'contract:20:mailboxes-shared': [
    'get_mailbox',
    'No process visits all mailboxes more than once a minute; a new or changed one is visited within a second, one whose process died when its lease runs out.',
  ],
  'contract:5:late-idle': [
    'monitor_inbox',
    'Where IDLE is late or missing, INBOX is polled: new mail is reported in 2 s. A server that reports in time is not polled.',
  ],
  'contract:15:connection-limit': [
    'email_query',
    'A limit of connections that the mail server has itself is learned and waited for, and does not make the mailbox degraded.',
  ],
  'contract:4:mailbox-degraded': [
    'get_mailbox',
    'A mailbox in use whose provider holds the gateway back is degraded, not failed.',
  ],
  'contract:4:flag-check': [
    'get_mailbox',
    'Without CONDSTORE flags are compared as a whole, which capabilities tell.',
  ],
  'contract:4:uidvalidity': [
    'list_messages',
    'A folder with a new UIDVALIDITY is indexed again and reported as mailbox.sync_reset.',
  ],
  'contract:11:feed': [
    'monitor_inbox',
    'What the mail server changes after the first sync is an event, at most 100 changes each, ids and flags only.',
  ],
  'contract:11:gmail-received-once': [
    'monitor_inbox',
    'A message that Gmail shows in several folders is received once.',
  ],
  'contract:11:first-sync': ['monitor_inbox', 'The first sync of a folder writes one FolderIndexed.'],
  'contract:11:own-changes': [
    'monitor_inbox',
    'A change matched to an own operation carries operation_id and is never received.',
  ],
  'contract:12:mailbox-index-erased': ['delete_mailbox', 'Erasing a mailbox deletes its index rows.'],
} as const satisfies RequirementTable;
