/** How a mailbox's connection state moves (`contract.md` 4). Pure; only real transitions are facts. */
import type { MailboxFact, MailboxRecord } from './mailbox.ts';

/** A mailbox that is paused, removed or erased is left alone, whatever a late connection attempt reports. */
export const mayConnect = (state: MailboxRecord): boolean =>
  state.number !== null && !state.erased && state.state !== 'paused' && state.state !== 'removed';

/** Retries after a failure are no news; the first attempt is. */
export const startConnecting = (state: MailboxRecord): readonly MailboxFact[] =>
  mayConnect(state) && state.state === 'pending' ? [{ type: 'MailboxConnectionStarted', data: {} }] : [];

/** The mailbox answers. Nothing new when it did already with the same capabilities. */
export function recordConnected(
  state: MailboxRecord,
  capabilities: readonly string[],
): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  const same =
    state.capabilities.length === capabilities.length &&
    capabilities.every((name, index) => name === state.capabilities[index]);
  if (state.state === 'connected' && same) return [];
  return [{ type: 'MailboxConnected', data: { capabilities: [...capabilities] } }];
}

/** The server cannot be reached. The same reason again adds nothing. */
export function recordConnectionFailed(state: MailboxRecord, reason: string): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (state.state === 'connection_failed' && state.stateReason === reason) return [];
  return [{ type: 'MailboxConnectionFailed', data: { reason } }];
}

/** The server definitely refused the credentials. The same reason again adds nothing. */
export function recordAuthFailed(state: MailboxRecord, reason: string): readonly MailboxFact[] {
  if (!mayConnect(state)) return [];
  if (state.state === 'auth_failed' && state.stateReason === reason) return [];
  return [{ type: 'MailboxAuthFailed', data: { reason } }];
}
