/** Transitions of a mailbox's connection state (`contract.md` 4). Pure; only real transitions are facts. */
import type { MailboxFact, MailboxRecord } from './mailbox.ts';

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
