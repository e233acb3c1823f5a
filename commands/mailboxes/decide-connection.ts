/**
 * Transitions of a mailbox's connection state and of its authorization with a provider (`contract.md` 4). Pure; only real
 * transitions are facts.
 */
import { assertLive, type MailboxFact, type MailboxRecord } from './mailbox.ts';
import { GatewayError } from '../values/errors.ts';
import { hostsOf, type MailProvider, PROVIDER_NAMES } from '../ports/mail-logins.ts';
import type { Sealed } from '../values/sealed.ts';

/**
 * A mailbox that is paused, removed, erased or not authorized does not change, whatever a late connection
 * attempt reports.
 */
export const mayConnect = (state: MailboxRecord): boolean =>
  state.number !== null &&
  !state.erased &&
  !state.awaitsAuthorization &&
  state.state !== 'paused' &&
  state.state !== 'removed';

/** Only the first attempt is recorded, not retries after a failure. */
export const startConnecting = (state: MailboxRecord): readonly MailboxFact[] =>
  mayConnect(state) && state.state === 'pending' ? [{ type: 'MailboxConnectionStarted', data: {} }] : [];

/** The mailbox answers: `connected` when a pass over its folders was once complete, else `syncing`. */
export const recordAnswering = (
  state: MailboxRecord,
  capabilities: readonly string[],
): readonly MailboxFact[] =>
  state.synced ? recordConnected(state, capabilities) : recordSyncing(state, capabilities);

/**
 * The mailbox answers and its mirror is complete. Adds nothing when it was connected with the same
 * capabilities.
 */
export function recordConnected(
  state: MailboxRecord,
  capabilities: readonly string[],
): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (state.state === 'connected' && sameCapabilities(state, capabilities)) return [];
  return [{ type: 'MailboxConnected', data: { capabilities: [...capabilities] } }];
}

function recordSyncing(state: MailboxRecord, capabilities: readonly string[]): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (state.state === 'syncing' && sameCapabilities(state, capabilities)) return [];
  return [{ type: 'MailboxSyncStarted', data: { capabilities: [...capabilities] } }];
}

const sameCapabilities = (state: MailboxRecord, capabilities: readonly string[]): boolean =>
  state.capabilities.length === capabilities.length &&
  capabilities.every((name, index) => name === state.capabilities[index]);

/**
 * The server is reachable but currently refuses all logins (`connectError`): a limit of the provider, not of
 * the mailbox.
 */
const HELD_BACK = 'login_unavailable';
const IN_USE: ReadonlySet<MailboxRecord['state']> = new Set(['syncing', 'connected', 'degraded']);

/**
 * The server cannot be reached. A mailbox in use whose server only throttles the gateway is degraded. The
 * same reason again adds nothing.
 */
export function recordConnectionFailed(state: MailboxRecord, reason: string): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (reason === HELD_BACK && IN_USE.has(state.state)) return recordDegraded(state, reason);
  if (state.state === 'connection_failed' && state.stateReason === reason) return [];
  return [{ type: 'MailboxConnectionFailed', data: { reason } }];
}

function recordDegraded(state: MailboxRecord, reason: string): readonly MailboxFact[] {
  if (state.state === 'degraded' && state.stateReason === reason) return [];
  return [{ type: 'MailboxDegraded', data: { reason } }];
}

/** The server permanently refused the credentials. The same reason again adds nothing. */
export function recordAuthFailed(state: MailboxRecord, reason: string): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (state.state === 'auth_failed' && state.stateReason === reason) return [];
  return [{ type: 'MailboxAuthFailed', data: { reason } }];
}

/** Throws `not_found`, or `conflict` for a mailbox that is removed or does not log in with this provider. */
export function assertAuthorizable(state: MailboxRecord, provider: MailProvider): void {
  assertLive(state);
  if (state.provider === provider) return;
  throw new GatewayError(
    'conflict',
    `This mailbox does not log in with ${PROVIDER_NAMES[provider]}; PATCH {"auth": {"type": "oauth2", "provider": "${provider}"}} first.`,
  );
}

interface AuthorizeProvider {
  readonly provider: MailProvider;
  readonly account: Sealed;
  /** The hosts that may receive the tokens, as of the authorization request. */
  readonly hosts: string;
}

/** Throws like `assertAuthorizable`, and `conflict` when the mailbox has other hosts since. */
export function authorizeProvider(
  state: MailboxRecord,
  { provider, account, hosts }: AuthorizeProvider,
): readonly MailboxFact[] {
  assertAuthorizable(state, provider);
  const { imap, smtp } = state;
  if (imap === null || hostsOf({ imap, smtp }) !== hosts) throw otherHosts();
  return [{ type: 'MailboxProviderAuthorized', data: { provider, account } }];
}

const otherHosts = (): GatewayError =>
  new GatewayError(
    'conflict',
    'The mail servers of the mailbox changed since the authorization was requested; request it again.',
  );

/**
 * Adds nothing for a mailbox that awaits its authorization. Throws `not_found`, `conflict` without a
 * provider.
 */
export function withdrawAuthorization(state: MailboxRecord, revoked: boolean): readonly MailboxFact[] {
  assertLive(state);
  if (state.authType !== 'oauth2') {
    throw new GatewayError('conflict', 'This mailbox logs in with a password; no provider is authorized.');
  }
  if (state.awaitsAuthorization) return [];
  return [{ type: 'MailboxProviderAuthorizationWithdrawn', data: { provider: state.provider, revoked } }];
}
