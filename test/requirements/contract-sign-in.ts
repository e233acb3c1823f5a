import type { RequirementTable } from './requirement.ts';

const SESSIONS = ['get_session', 'list_sessions'] as const;

/** How people sign in and what a session may do: sections 2, 3, 12, 15, 17 and 18. */
export const contractSignIn = {
  'contract:2:session-form': [
    'kernel',
    'The bearer of a session is mgs_, a route key, 43 base62 and 6 checksum characters; only its SHA-256 is kept.',
  ],
  'contract:2:session-person': [
    'kernel',
    'A session on REST is the only thing that makes a caller of the kind person.',
  ],
  'contract:2:session-ends': [
    'kernel',
    'A session ends after 30 minutes without use and after 12 hours at the latest.',
  ],
  'contract:2:session-not-on-mcp': ['transport', 'MCP refuses the bearer of a session.'],
  'contract:2:session-token': [
    'create_session_token',
    'A JWT made from a session names it as tid, is delegated, holds no more than it and ends with it.',
  ],
  'contract:3:session-scopes': [
    'kernel',
    'A session has the scopes of the role and of the grants; approvals:decide, policy:manage and audit:disclose only while stepped up.',
  ],
  'contract:3:step-up-required': [
    'kernel',
    'A session that lacks only the fresh password is answered step_up_required, a token insufficient_scope.',
  ],
  'contract:3:own-in-session': [
    ['create_token', 'create_agent', 'list_tokens'],
    'Own tokens and agents need no scope in a session.',
  ],
  'contract:3:wider-in-session': [
    ['create_token', 'create_grant'],
    'A stepped-up session gives tokens that outlive it, and grants wider than its own.',
  ],
  'contract:12:failed-sign-ins': [
    'kernel',
    'A failed sign-in on a known account is an event, one on an unknown account is counted.',
  ],
  'contract:13:invalid-credentials': [
    'kernel',
    'Wrong credentials of whatever kind answer 401 invalid_credentials.',
  ],
  'contract:15:sign-in-limit': [
    'kernel',
    'Ten passwords a minute from an address and on an account, then 429 with Retry-After.',
  ],
  'contract:17:login': ['kernel', 'login answers session_token, session and expires_at.'],
  'contract:17:logout': [['sign_out', 'delete_session', 'revoke_sessions'], 'Sessions are ended with 204.'],
  'contract:17:sessions': [SESSIONS, 'A person sees this session and all others, and no secret of them.'],
  'contract:17:password-change': [
    'change_password',
    'A password is changed with the old one; the other sessions end.',
  ],
  'contract:17:password-reset': ['kernel', 'A password is set with the token of a link; every session ends.'],
  'contract:17:sign-up': [
    'kernel',
    'Signing up answers 202 whatever the address, as far as SIGNUP allows it; the account is not verified.',
  ],
  'contract:17:verify': ['kernel', 'An address is verified with the token of the link mailed to it.'],
  'contract:17:verify-resend': ['kernel', 'Another link to verify an address is mailed on request.'],
  'contract:17:password-forgot': ['kernel', 'A link to set a new password is mailed on request.'],
  'contract:17:switch-org': [
    'switch_organisation',
    'A session is replaced by one in another organisation of the person, with the same end.',
  ],
  'contract:18:claimed-address': [
    'kernel',
    'An account that has not verified its address claims it: it can sign in, whoever has the address.',
  ],
  'contract:18:unverified': [
    'kernel',
    'An unverified address withholds what sends, invites, approves or calls out: 403 email_unverified.',
  ],
  'contract:18:weak-password': [
    'kernel',
    'A new password that is known, or guessed from the person, is refused with the rule.',
  ],
  'contract:18:new-device': [
    'kernel',
    'A sign-in from a device that a person has not used before is told to that person by mail.',
  ],
  'contract:18:session-device': ['list_sessions', 'Sessions are listed with the device in words.'],
  'contract:18:link-names': [
    'kernel',
    'A password link names its person to its holder without being used up; the console shows the name.',
  ],
  'contract:18:one-time-links': [
    'kernel',
    'A link counts once and for the time of its purpose, only its hash is kept, GET uses up none.',
  ],
  'contract:18:newest-link': [
    'kernel',
    'A new link replaces the unused one of the same purpose and subject.',
  ],
  'contract:18:system-mail': [
    'kernel',
    'A mail of the gateway is sent at least once, under one Message-ID; without a mail server its link goes to the log.',
  ],
  'contract:18:system-mail-retries': [
    'kernel',
    'A mail that was not taken is tried again after 1, 5 and 30 minutes, 2 and 8 hours.',
  ],
  'contract:18:system-mail-form': [
    'kernel',
    'Mails say the same as text and as HTML, link to the gateway only, and make no link of a name.',
  ],
  'contract:18:no-enumeration': ['kernel', 'An unknown address and a wrong password are refused alike.'],
  'contract:18:delays': [
    'kernel',
    'Each failure doubles the wait before the next attempt, and no person is locked out.',
  ],
  'contract:18:password-length': [
    'kernel',
    'A password has at least 15 characters; nothing else is asked of it.',
  ],
  'contract:18:argon2id': ['kernel', 'Passwords are kept as argon2id.'],
  'contract:18:setup-link': [
    'kernel',
    'A start without any organisation prints a link that makes the first owner and organisation, once.',
  ],
  'contract:18:step-up': [
    'step_up',
    'The password counts as fresh for 15 minutes, after sign-in and after step-up.',
  ],
  'contract:18:step-up-guards': [
    [
      'create_token',
      'create_session_token',
      'create_agent',
      'create_mailbox',
      'put_mailbox_credentials',
      'update_mailbox',
      'set_folder_roles',
    ],
    'Tokens, agents, mailboxes, credentials, folder roles and trusted_authserv_ids need a fresh password in a session, and with a token made from one.',
  ],
  'contract:18:admin-person': [
    'kernel',
    'The admin command adds people and gives them links to set a password.',
  ],
} as const satisfies RequirementTable;
