/** What is kept to log in to a mailbox, and what a login gets of it. */
import type { HostSettings, MailLogin } from './mail-port.ts';
import type { MailProvider } from './mail-providers.ts';

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
