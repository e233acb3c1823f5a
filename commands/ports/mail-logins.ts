/** The stored credentials of mailboxes, and the logins made from them. */
import type { HostSettings, MailLogin } from './mail-port.ts';

export type PasswordLogin = Extract<MailLogin, { readonly kind: 'password' }>;

/** The tokens of a provider's account. They are sent only to the hosts they were authorized for. */
export interface ProviderCredentials {
  readonly kind: 'oauth2';
  readonly provider: MailProvider;
  /** The address of the account: the user name of XOAUTH2. */
  readonly username: string;
  /** Null once the provider refused it permanently: a new authorization is required then. */
  readonly refreshToken: string | null;
  readonly accessToken: string;
  /** RFC 3339, by this gateway's clock. */
  readonly accessTokenExpiresAt: string;
  /** `hostsOf` the mailbox at its authorization. */
  readonly hosts: string;
}

interface MailboxHosts {
  readonly imap: HostSettings;
  readonly smtp: HostSettings | null;
}

/** The stored credentials of a mailbox. */
export type MailCredentials = PasswordLogin | ProviderCredentials;

/** The hosts as one text, equal only for the same hosts, ports and securities. */
export const hostsOf = ({ imap, smtp }: MailboxHosts): string =>
  [imap, smtp].map((host) => host && `${host.host}:${String(host.port)}/${host.security}`).join(' ');

export interface MailLogins {
  /**
   * A login that is valid now. `refused` names a token that the mail server just refused; it is replaced
   * first. Throws `mailbox_auth_failed` when no (or no longer any) stored credential could log in to these
   * hosts, `mailbox_unavailable` when the provider does not answer.
   */
  current(mailbox: MailboxHosts & { readonly id: string }, refused?: MailLogin): Promise<MailLogin>;
}

/** Providers whose mailboxes are opened with an OAuth token (XOAUTH2) instead of a password. */

export const MAIL_PROVIDERS = ['google', 'microsoft'] as const;
export type MailProvider = (typeof MAIL_PROVIDERS)[number];

/** The names that people know them by. */
export const PROVIDER_NAMES: Readonly<Record<MailProvider, string>> = {
  google: 'Google',
  microsoft: 'Microsoft',
};

/** The path a provider redirects a person to, below the gateway's address (`contract.md` 18). */
export const PROVIDER_CALLBACK_PATH = '/oauth/provider/callback';

/** The requester of an authorization; its answer is accepted in this name. */
interface AuthorizationRequester {
  readonly principalId: string;
  readonly tokenId: string;
  readonly actor: 'person' | 'delegated' | 'agent' | 'system';
  readonly requestId: string;
}

export interface AuthorizationRequest {
  readonly provider: MailProvider;
  readonly orgId: string;
  readonly mailboxId: string;
  /** The mailbox's address: sent to the provider as a hint, and required to be the account's address. */
  readonly email: string;
  /** `hostsOf` the mailbox: the hosts that the tokens will be sent to. */
  readonly hosts: string;
  readonly requester: AuthorizationRequester;
}

/** A request that cannot be answered again. `proof` is internal to the port. */
export interface TakenAuthorization {
  readonly request: AuthorizationRequest;
  readonly proof: unknown;
}

/** The result of the provider: tokens, and the addresses of the account that it attests. */
export interface GrantedTokens {
  readonly addresses: readonly string[];
  readonly tokens: Pick<ProviderCredentials, 'accessToken' | 'accessTokenExpiresAt'> & {
    readonly refreshToken: string;
  };
}

export interface ProviderAuthorizations {
  /** Throws `operation_unsupported` naming the missing setting of a provider. */
  requireRegistered(provider: MailProvider): void;
  /**
   * Stores a request for ten minutes and returns where the person signs in. Throws `operation_unsupported`,
   * and `mailbox_unavailable` when the provider does not answer.
   */
  begin(request: AuthorizationRequest): Promise<{ readonly authorizeUrl: string; readonly expiresAt: Date }>;
  /** The request of a state; null when there is none, or no longer. */
  find(state: string): Promise<AuthorizationRequest | null>;
  /** Like `find`; the request cannot be found again. */
  take(state: string): Promise<TakenAuthorization | null>;
  /**
   * Exchanges the provider's answer for tokens. Throws `mailbox_auth_failed` when the provider refuses it or
   * grants no lasting access, and `mailbox_unavailable`.
   */
  redeem(taken: TakenAuthorization, answer: Readonly<Record<string, string>>): Promise<GrantedTokens>;
  /** Deletes the unanswered requests of a mailbox. */
  forget(mailboxId: string): Promise<void>;
  /** Revokes a refresh token at the provider. Returns false when that is impossible, or not possible now. */
  revoke(provider: MailProvider, refreshToken: string): Promise<boolean>;
}
