/**
 * Mail providers whose hosts are in their own documentation, known by who takes the mail of a domain. Each row names the
 * page. Missing on purpose: providers whose hosts depend on the account or its domain (GMX, Zoho).
 */
import type { HostSettings } from '../ports/mail-port.ts';

export const PROVIDERS = [
  'gmail', 'outlook', 'icloud', 'yahoo', 'fastmail', 'webde', 'ionos', 'mailbox_org', 'posteo',
] as const; // prettier-ignore
export type Provider = (typeof PROVIDERS)[number];

interface KnownProvider {
  readonly provider: Provider;
  /** Ends of the names of its mail exchangers. */
  readonly exchangers: readonly string[];
  readonly imap: HostSettings;
  readonly smtp: HostSettings;
}

const tls = (host: string, port: number): HostSettings => ({ host, port, security: 'tls' });
const startTls = (host: string): HostSettings => ({ host, port: 587, security: 'starttls' });

/** The first row that fits holds: an end of a name stands before a shorter one. */
const KNOWN: readonly KnownProvider[] = [
  {
    // https://developers.google.com/workspace/gmail/imap/imap-smtp
    provider: 'gmail',
    exchangers: ['.google.com', '.googlemail.com'],
    imap: tls('imap.gmail.com', 993),
    smtp: tls('smtp.gmail.com', 465),
  },
  {
    // Addresses at outlook.com, hotmail.com and live.com; below, those of organisations.
    // https://support.microsoft.com/office/pop-imap-and-smtp-settings-for-outlook-com-d088b986-291d-42b8-9564-9c414e2aa040
    provider: 'outlook',
    exchangers: ['.olc.protection.outlook.com'],
    imap: tls('outlook.office365.com', 993),
    smtp: startTls('smtp-mail.outlook.com'),
  },
  {
    // https://learn.microsoft.com/exchange/clients-and-mobile-in-exchange-online/pop3-and-imap4/pop3-and-imap4
    provider: 'outlook',
    exchangers: ['.protection.outlook.com', '.mx.microsoft'],
    imap: tls('outlook.office365.com', 993),
    smtp: startTls('smtp.office365.com'),
  },
  {
    // https://support.apple.com/en-us/102525
    provider: 'icloud',
    exchangers: ['.mail.icloud.com'],
    imap: tls('imap.mail.me.com', 993),
    smtp: startTls('smtp.mail.me.com'),
  },
  {
    // https://help.yahoo.com/kb/SLN4075.html
    provider: 'yahoo',
    exchangers: ['.yahoodns.net'],
    imap: tls('imap.mail.yahoo.com', 993),
    smtp: tls('smtp.mail.yahoo.com', 465),
  },
  {
    // https://www.fastmail.com/help/technical/servernamesandports.html
    provider: 'fastmail',
    exchangers: ['.messagingengine.com'],
    imap: tls('imap.fastmail.com', 993),
    smtp: tls('smtp.fastmail.com', 465),
  },
  {
    // https://hilfe.web.de/pop-imap/imap/imap-serverdaten.html
    provider: 'webde',
    exchangers: ['.web.de'],
    imap: tls('imap.web.de', 993),
    smtp: startTls('smtp.web.de'),
  },
  {
    // https://www.ionos.de/hilfe/e-mail/allgemeine-themen/serverinformationen-fuer-imap-pop3-und-smtp/
    provider: 'ionos',
    exchangers: ['.ionos.de', '.kundenserver.de'],
    imap: tls('imap.ionos.de', 993),
    smtp: tls('smtp.ionos.de', 465),
  },
  {
    // https://kb.mailbox.org/en/private/e-mail/e-mail-configuration
    provider: 'mailbox_org',
    exchangers: ['.mailbox.org'],
    imap: tls('imap.mailbox.org', 993),
    smtp: tls('smtp.mailbox.org', 465),
  },
  {
    // https://posteo.de/en/help/how-do-i-set-up-posteo-in-an-email-client-pop3-imap-and-smtp
    provider: 'posteo',
    exchangers: ['.posteo.de'],
    imap: tls('posteo.de', 993),
    smtp: tls('posteo.de', 465),
  },
];

/** The provider that takes the mail; null for any other. */
export const providerOf = (exchangers: readonly string[]): KnownProvider | null =>
  KNOWN.find((row) => exchangers.some((host) => row.exchangers.some((end) => `.${host}`.endsWith(end)))) ??
  null;
