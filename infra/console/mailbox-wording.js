/** Mailboxes in plain words: their state, why it is so, and what to do. */
import { badgeOf, CHECK, CLOCK, CROSS, DASH, DOT, PAUSE } from './badges.js';
import { foreign } from './foreign-text.js';

/** @import { Hosts, Mailbox, MailboxState, ProviderLogin, Security } from './setup-payloads.d.ts' */
/** @typedef {import('./badges.js').StatusWords} StatusWords */

/**
 * What to do after an error on these pages.
 * @type {Readonly<Record<string, string>>}
 */
export const NEXT = {
  not_found: 'The link may be wrong, or it was removed.',
  version_conflict: 'It changed meanwhile. Reload the page, then try again.',
  conflict: 'Reload the page to see how it is now.',
  target_blocked:
    'Use a mail server on the public internet. An operator can open others (EGRESS_ALLOW_MAIL).',
  mailbox_unavailable: 'Check the name of the server, then try again.',
  mailbox_auth_failed: 'Store a new password, or authorize the gateway at the provider again.',
  operation_unsupported:
    'The operator has not registered this gateway with the provider. Use an app password instead, or ask the operator.',
  insufficient_scope: 'Your role does not include this. Ask an owner or admin of the organisation.',
};

/** @type {Readonly<Record<MailboxState, StatusWords>>} */
export const MAILBOX_STATES = {
  pending: {
    label: 'Waiting',
    tone: 'ask',
    path: CLOCK,
    about: 'The gateway has not signed in to it yet.',
  },
  connecting: { label: 'Connecting', tone: 'go', path: DOT, about: 'The gateway is signing in.' },
  syncing: {
    label: 'First sync',
    tone: 'go',
    path: CLOCK,
    about: 'The gateway reads what there is. It can be used meanwhile; searches are complete afterwards.',
  },
  connected: { label: 'Connected', tone: 'good', path: CHECK, about: 'New mail shows within seconds.' },
  degraded: {
    label: 'Slowed down',
    tone: 'ask',
    path: CLOCK,
    about: 'The mail server limits the gateway for now. It goes on by itself.',
  },
  connection_failed: {
    label: 'Not reached',
    tone: 'bad',
    path: CROSS,
    about: 'The gateway tries again with growing pauses.',
  },
  auth_failed: {
    label: 'Sign-in refused',
    tone: 'bad',
    path: CROSS,
    about: 'The gateway does not try again until it is reconnected.',
  },
  paused: {
    label: 'Paused',
    tone: 'over',
    path: PAUSE,
    about: 'Nothing is read or changed until you resume.',
  },
  removed: { label: 'Removed', tone: 'over', path: DASH, about: 'It can be restored until it is erased.' },
};

/** @param {Pick<Mailbox, 'state'>} mailbox */
export const stateBadge = ({ state }) => badgeOf(MAILBOX_STATES[state]);

/**
 * Why it is not connected, without a full stop, and what to do about it.
 * @type {Readonly<Record<string, readonly [why: string, next: string]>>}
 */
const REASONS = {
  login_refused: [
    'The mail server refuses the user name or the password',
    'Reconnect it with the right password. Many providers ask for an app password that you make in their settings.',
  ],
  login_unavailable: ['The mail server lets nobody sign in at the moment', 'Wait. The gateway tries again.'],
  dns: ['The name of the mail server does not exist', 'Reconnect it with the right server.'],
  refused: ['The mail server refused the connection', 'Check server and port, and whether it runs.'],
  unreachable: ['The mail server cannot be reached', 'Check server and port, and whether it runs.'],
  timeout: ['The mail server did not answer in time', 'Check server and port, and whether it runs.'],
  tls: [
    'No secure connection could be made',
    'Check the certificate of the mail server: its names, its dates, its chain.',
  ],
  protocol: ['What answered is no mail server of this kind', 'Check the port and the security.'],
  egress: ['The gateway may not connect to this server', 'An operator can allow it (EGRESS_ALLOW_MAIL).'],
  target_blocked: [
    'The gateway may not connect to this server',
    'An operator can allow it (EGRESS_ALLOW_MAIL).',
  ],
  plain_connection: ['The connection would not be encrypted', 'Reconnect it with TLS or STARTTLS.'],
  folders_refused: ['The mail server does not list its folders', 'Ask whoever runs the mail server.'],
  credentials_missing: [
    'Nothing is stored to sign in with',
    'Reconnect it with a password or at the provider.',
  ],
  authorized_for_other_hosts: [
    'The authorization was given for other servers',
    'Reconnect it at the provider.',
  ],
  authorization_refused: ['The provider withdrew its permission', 'Reconnect it at the provider.'],
  other_account: [
    'Another account was authorized than that of the mailbox',
    'Reconnect it with the right account.',
  ],
  provider_unavailable: ['The provider does not answer', 'Wait. The gateway tries again.'],
  provider_settings: [
    'The provider does not know this gateway',
    'An operator has to register it there again.',
  ],
};

/**
 * Null for a mailbox without a problem.
 * @param {Pick<Mailbox, 'state' | 'state_reason' | 'auth_type'>} mailbox
 * @returns {{ why: string, next: string } | null}
 */
export function troubleOf({ state, state_reason: reason, auth_type: type }) {
  if (state === 'pending' && type === 'oauth2')
    return {
      why: 'It waits for your permission at the provider',
      next: 'Reconnect it to sign in there.',
    };
  if (!['degraded', 'connection_failed', 'auth_failed'].includes(state)) return null;
  const [why, next] = REASONS[reason ?? ''] ?? [
    'It does not work',
    'Test the connection to see where it ends.',
  ];
  return { why, next };
}

/** @type {Readonly<Record<Security, string>>} */
export const SECURITIES = { tls: 'TLS', starttls: 'STARTTLS', none: 'not encrypted' };

/** @param {Hosts | null} hosts */
export const hostText = (hosts) =>
  hosts === null ? 'None' : [foreign(hosts.host), `:${String(hosts.port)}, ${SECURITIES[hosts.security]}`];

/** @type {Readonly<Record<ProviderLogin['provider'], string>>} */
export const PROVIDER_LOGINS = { google: 'Google', microsoft: 'Microsoft' };

/** Providers as autodiscovery names them, with the login that belongs to them. */
export const LOGIN_OF = /** @type {Readonly<Record<string, ProviderLogin['provider']>>} */ ({
  gmail: 'google',
  outlook: 'microsoft',
});
