/** What is particular to each mail provider: where it issues tokens, for what, and which claim names the account. */
import type { MailProvider } from '../../commands/ports/mail-logins.ts';

/** What an operator sets for a provider; null = not set. */
export interface ProviderSettings {
  readonly clientId: string | null;
  readonly clientSecret: string | null;
  /** Issuer to use instead of the provider's own: a sovereign cloud, or one tenant. */
  readonly issuer: string | null;
}

export type OAuthSettings = Readonly<Record<MailProvider, ProviderSettings>>;

type Claims = Readonly<Record<string, unknown>>;

interface ProviderTraits {
  /** OpenID Connect Discovery 1.0 finds the endpoints below it. */
  readonly issuer: string;
  readonly scope: string;
  /** Said when a person is sent there. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Without a scope Microsoft may answer a refresh with a token for another of its services. */
  readonly refreshesWithScope: boolean;
  /** Addresses of the account that the provider vouches for. */
  readonly addressesOf: (claims: Claims) => readonly unknown[];
}

const MICROSOFT_MAIL = 'https://outlook.office.com';

export const PROVIDERS: Readonly<Record<MailProvider, ProviderTraits>> = {
  google: {
    issuer: 'https://accounts.google.com',
    scope: 'openid email https://mail.google.com/',
    // Without both there is no refresh token when the account has agreed once before.
    parameters: { access_type: 'offline', prompt: 'consent' },
    refreshesWithScope: false,
    addressesOf: ({ email, email_verified }) => (email_verified === true ? [email] : []),
  },
  microsoft: {
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    scope: `openid profile email offline_access ${MICROSOFT_MAIL}/IMAP.AccessAsUser.All ${MICROSOFT_MAIL}/SMTP.Send`,
    parameters: { prompt: 'consent' },
    refreshesWithScope: true,
    // Any tenant may write any `email`; of the user name, and of a verified one, it owns the domain.
    addressesOf: ({ preferred_username, email, xms_edov }) => [
      preferred_username,
      ...(xms_edov === true || xms_edov === '1' ? [email] : []),
    ],
  },
};
