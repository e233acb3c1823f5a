/** Decisions about a mailbox whose provider logs it in (`contract.md` 4 and 18). Pure. */
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
  /** Where the tokens may go, as it stood when the authorization was asked for. */
  readonly hosts: string;
}

/** Throws like `assertAuthorizable`, and `conflict` when the mailbox got other hosts since. */
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

/** Nothing new for a mailbox that waits for its authorization. Throws `not_found`, `conflict` without a provider. */
export function withdrawAuthorization(state: MailboxRecord, revoked: boolean): readonly MailboxFact[] {
  assertLive(state);
  if (state.authType !== 'oauth2') {
    throw new GatewayError('conflict', 'This mailbox logs in with a password; no provider is authorized.');
  }
  if (state.awaitsAuthorization) return [];
  return [{ type: 'MailboxProviderAuthorizationWithdrawn', data: { provider: state.provider, revoked } }];
}
