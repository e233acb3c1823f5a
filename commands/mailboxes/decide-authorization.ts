/** Decisions about a mailbox that logs in with a provider (`contract.md` 4 and 18). Pure. */
import { GatewayError } from '../values/errors.ts';
import { hostsOf, type MailProvider, PROVIDER_NAMES } from '../ports/mail-logins.ts';
import type { Sealed } from '../values/sealed.ts';
import { assertLive, type MailboxFact, type MailboxRecord } from './mailbox.ts';

/** Throws `not_found`, or `conflict` for a mailbox that is removed or does not log in with this provider. */
export function assertAuthorizable(state: MailboxRecord, provider: MailProvider): void {
  assertLive(state);
  if (state.provider === provider) return;
  throw new GatewayError(
    'conflict',
    `This mailbox does not log in with ${PROVIDER_NAMES[provider]}; PATCH {"auth": {"type": "oauth2", "provider": "${provider}"}} first.`,
  );
}

export interface AuthorizeProvider {
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
