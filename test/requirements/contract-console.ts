import type { RequirementTable } from './requirement.ts';

/** The approver's page: what section 18 and the quality rules say of it. */
export const contractConsole = {
  'contract:18:console-files': [
    'transport',
    'The files of /console need no bearer; nothing else is below it.',
  ],
  'contract:18:console-policy': [
    'transport',
    'The console runs under a strict CSP: own scripts and styles only, no frames around it, Trusted Types.',
  ],
  'contract:18:console-walk': [
    'decide_approval',
    'In the console a person signs in, sees what waits with a true preview, and approves or rejects with a reason.',
  ],
  'contract:18:console-session': [
    'decide_approval',
    'The session is in memory and sessionStorage, never in a cookie; when it ends, the sign-in leads back.',
  ],
  'contract:12:console-surface': [
    'transport',
    'What a person does in the console has the surface console in events and audit lines.',
  ],
  'contract:18:console-confirmation': [
    'decide_approval',
    'Headline, row and question name To, Cc, Bcc and who is outside; the question repeats the warnings, and serious ones want a second look.',
  ],
  'contract:18:console-attachments': [
    'download_approval_attachment',
    'In the console each attachment of a send can be saved, and text and pictures can be viewed.',
  ],
  'contract:18:console-readable': [
    'transport',
    'The console shows warnings once, above the preview, and the JSON an event keeps as text as JSON.',
  ],
  'contract:18:console-keyboard': [
    'transport',
    'Everything in the console is reached by keyboard, the preview and all of its text among it.',
  ],
  'contract:18:console-times': [
    'transport',
    'The console writes exact times in one form with a zone; relative ones stay true while the page is open.',
  ],
  'contract:18:console-errors': [
    'transport',
    'Each error in the console says what to do about it there; what may pass is tried again, and only then it says so.',
  ],
  'contract:18:console-list': [
    'list_approvals',
    'The list is read again every four seconds while it is visible, and not while it is hidden.',
  ],
  'contract:18:console-start': [
    'transport',
    "The console takes a new owner from the set-up link to an agent's first archived mail, step by step.",
  ],
  'contract:18:console-mailboxes': [
    'transport',
    'In the console a person connects, tests, pauses, reconnects, removes and restores mailboxes, and gives grants on them.',
  ],
  'contract:18:console-tokens': [
    'transport',
    'In the console a person makes agents and issues, renames, shortens and revokes tokens; a token is shown once.',
  ],
  'contract:18:console-pages': [
    'transport',
    'The console leads each person to the pages that their role includes, and to no others.',
  ],
  'contract:18:console-webhooks': [
    'create_webhook_endpoint',
    'In the console a person sets up, tests, watches and replays webhooks; a secret is shown once, and texts by others stay text.',
  ],
  'contract:18:console-people': [
    'create_invite',
    'In the console people are invited, accept, change roles and leave; what a person may not see goes from their page at once.',
  ],
  'contract:18:console-sign-up': [
    'transport',
    'Before sign-in the console makes accounts, verifies addresses and sets forgotten passwords; no link acts by being opened.',
  ],
  'contract:18:console-organisation': [
    'transport',
    'In the console an organisation is renamed, left, deleted by its typed name and restored; one person switches between several.',
  ],
  'contract:18:console-account': [
    'transport',
    'In the console a person changes name, password and mails, ends sessions, exports and erases the account.',
  ],
  'contract:18:console-applications': [
    ['decide_authorization_request', 'list_connected_applications'],
    'In the console a person sees which application asks and where its answer goes, allows part of it or refuses, and disconnects it; owners manage those of everybody.',
  ],
  'contract:18:console-holds': [
    ['place_legal_hold', 'release_legal_hold'],
    'In the console owners and admins place legal holds, ask for their release, and release them as the second person.',
  ],
  'contract:18:console-audit': [
    ['list_audit_events', 'get_audit_event'],
    'In the console owners, admins and auditors read the audit trail by filters that the address keeps, in words, with what is hidden, erased or unreadable told apart.',
  ],
  'contract:18:console-seal': [
    ['list_checkpoints', 'seal_checkpoint', 'verify_audit', 'get_audit_verification', 'get_audit_proof'],
    'The console says in words how far the audit trail is sealed, who outside holds a checkpoint and when it was checked, seals and checks when asked to, and saves the proof of a line.',
  ],
  'contract:18:console-export': [
    'export_audit',
    'The console exports the audit trail with progress, says what the file will prove, goes on after a broken connection, and shows how the file is verified, with the keys.',
  ],
  'contract:18:console-evidence': [
    'get_approval_evidence',
    'The page of an approval saves its evidence for printing and for verifying, for those who may have it, with the texts that they choose to open.',
  ],
  'contract:18:console-notices': [
    'list_approvals',
    'The title counts what waits for this person; a browser that they allowed tells of each that begins to wait, once, without text from a mail.',
  ],
} as const satisfies RequirementTable;
