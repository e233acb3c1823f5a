/** What is kept to log in to a mailbox, and what a login gets of it. */
import type { HostSettings, MailLogin } from './mail-port.ts';

export type PasswordLogin = Extract<MailLogin, { readonly kind: 'password' }>;

/** Tokens of a provider's account. They only go where they were authorized for. */
export interface ProviderCredentials {
  readonly kind: 'oauth2';
  readonly provider: MailProvider;
  /** The account's address: the user name of XOAUTH2. */
  readonly username: string;
  /** Null once the provider refused it for good: only a new authorization helps then. */
  readonly refreshToken: string | null;
  readonly accessToken: string;
  /** RFC 3339, by this gateway's clock. */
  readonly accessTokenExpiresAt: string;
  /** `hostsOf` the mailbox when it was authorized. */
  readonly hosts: string;
}

export interface MailboxHosts {
  readonly imap: HostSettings;
  readonly smtp: HostSettings | null;
}

/** What is stored to log in to a mailbox. */
export type MailCredentials = PasswordLogin | ProviderCredentials;

/** Hosts as one text: equal only for the same hosts, ports and securities. */
export const hostsOf = ({ imap, smtp }: MailboxHosts): string =>
  [imap, smtp].map((host) => host && `${host.host}:${String(host.port)}/${host.security}`).join(' ');

export interface MailLogins {
  /**
   * A login that is good now. A token that the mail server just refused is named as `refused` and is replaced before.
   * Throws `mailbox_auth_failed` when nothing (more) is stored that could log in to these hosts, `mailbox_unavailable` when the provider does not
   * answer.
   */
  current(mailbox: MailboxHosts & { readonly id: string }, refused?: MailLogin): Promise<MailLogin>;
}

/** Providers whose mailboxes are opened with an OAuth token (XOAUTH2) instead of a password. */

export const MAIL_PROVIDERS = ['google', 'microsoft'] as const;
export type MailProvider = (typeof MAIL_PROVIDERS)[number];

/** How a person knows them. */
export const PROVIDER_NAMES: Readonly<Record<MailProvider, string>> = {
  google: 'Google',
  microsoft: 'Microsoft',
};

/** Where a provider sends a person back to, below the gateway's address (`contract.md` 18). */
export const PROVIDER_CALLBACK_PATH = '/oauth/provider/callback';

/** Who asked, and so in whose name an answer is taken. */
export interface AuthorizationRequester {
  readonly principalId: string;
  readonly tokenId: string;
  readonly actor: 'person' | 'delegated' | 'agent' | 'system';
  readonly requestId: string;
}

export interface AuthorizationRequest {
  readonly provider: MailProvider;
  readonly orgId: string;
  readonly mailboxId: string;
  /** The mailbox's address: shown to the provider as a hint, and what the account's address must be. */
  readonly email: string;
  /** `hostsOf` the mailbox: where the tokens will go. */
  readonly hosts: string;
  readonly requester: AuthorizationRequester;
}

/** A request that can be answered no second time. `proof` is the port's own business. */
export interface TakenAuthorization {
  readonly request: AuthorizationRequest;
  readonly proof: unknown;
}

/** What the provider gave: tokens, and the addresses of the account as it vouches for them. */
export interface GrantedTokens {
  readonly addresses: readonly string[];
  readonly tokens: Pick<ProviderCredentials, 'accessToken' | 'accessTokenExpiresAt'> & {
    readonly refreshToken: string;
  };
}

export interface ProviderAuthorizations {
  /** Throws `operation_unsupported` naming the setting that is missing for a provider. */
  requireRegistered(provider: MailProvider): void;
  /**
   * Remembers a request for ten minutes; the answer is where the person signs in. Throws `operation_unsupported`, and
   * `mailbox_unavailable` when the provider does not answer.
   */
  begin(request: AuthorizationRequest): Promise<{ readonly authorizeUrl: string; readonly expiresAt: Date }>;
  /** The request a state stands for; null when there is none (any more). */
  find(state: string): Promise<AuthorizationRequest | null>;
  /** Like `find`, and nobody finds it again. */
  take(state: string): Promise<TakenAuthorization | null>;
  /**
   * Exchanges the provider's answer for tokens. Throws `mailbox_auth_failed` when the provider refuses it or gives nothing
   * lasting, `mailbox_unavailable`.
   */
  redeem(taken: TakenAuthorization, answer: Readonly<Record<string, string>>): Promise<GrantedTokens>;
  /** Forgets what was asked for a mailbox and is not answered yet. */
  forget(mailboxId: string): Promise<void>;
  /** Takes a refresh token back at the provider. False when that cannot be done, or not now. */
  revoke(provider: MailProvider, refreshToken: string): Promise<boolean>;
}
