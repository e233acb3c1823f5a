/** Providers whose mailboxes are opened with an OAuth token (XOAUTH2) instead of a password. */

export const MAIL_PROVIDERS = ['google', 'microsoft'] as const;
export type MailProvider = (typeof MAIL_PROVIDERS)[number];

/** How a person knows them. */
export const PROVIDER_NAMES: Readonly<Record<MailProvider, string>> = {
  google: 'Google',
  microsoft: 'Microsoft',
};
