/** The `SystemMailer` port: by the mail server of `SYSTEM_SMTP_URL`, or into the log. */
import { isIP } from 'node:net';
import { createTransport } from 'nodemailer';
import { PRODUCT } from '../../commands/html/html-markup.ts';
import type { Log } from '../../commands/ports/ports.ts';
import { MailNotSent, type OutgoingMail, type SystemMailer } from '../../commands/ports/system-mailer.ts';

export interface SystemMailSettings {
  /** Null = links go to the log. */
  readonly smtpUrl: string | null;
  /** Null = `no-reply@` the host of the gateway. */
  readonly from: string | null;
}

interface MailerOptions extends SystemMailSettings {
  readonly baseUrl: string;
  readonly log: Log;
  /** For the whole exchange; absent = two minutes. */
  readonly deadlineMs?: number;
}

const CONNECT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 30_000;
const DEADLINE_MS = 120_000;

export const openSystemMailer = (options: MailerOptions): SystemMailer =>
  options.smtpUrl === null ? logMailer(options.log) : smtpMailer({ ...options, smtpUrl: options.smtpUrl });

/** The one place where a secret is logged: without a mail server nobody could get in (`contract.md` 18). */
const logMailer = (log: Log): SystemMailer => ({
  send: ({ id, kind, recipientId, link }) => {
    log.warn('system mail: not sent, because SYSTEM_SMTP_URL is not set', {
      mail_id: id,
      kind,
      recipient_id: recipientId,
      link,
    });
    return Promise.resolve();
  },
});

function smtpMailer(options: MailerOptions & { readonly smtpUrl: string }): SystemMailer {
  const { smtpUrl, baseUrl, deadlineMs = DEADLINE_MS } = options;
  const from = options.from ?? defaultSender(baseUrl);
  const domain = from.slice(from.lastIndexOf('@') + 1);
  const server = serverOf(smtpUrl);
  return {
    send: async (mail) => {
      const transport = createTransport({
        ...server,
        connectionTimeout: CONNECT_WITHIN_MS,
        greetingTimeout: ANSWER_WITHIN_MS,
        socketTimeout: ANSWER_WITHIN_MS,
        dnsTimeout: CONNECT_WITHIN_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      // Ends the exchange too: beside the next attempt it could still send a second copy.
      const signal = AbortSignal.timeout(deadlineMs);
      try {
        await transport.sendMail({ ...messageOf(mail, { from, domain }), signal });
      } catch (error) {
        throw signal.aborted ? new MailNotSent('timeout', false, error) : notSent(error);
      } finally {
        transport.close();
      }
    },
  };
}

/** An address of a network has no mail of its own. */
function defaultSender(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  const isAddress = isIP(hostname) !== 0 || hostname.startsWith('[');
  return `no-reply@${isAddress ? 'localhost' : hostname}`;
}

const messageOf = (
  mail: OutgoingMail,
  { from, domain }: { readonly from: string; readonly domain: string },
) => ({
  from: { name: PRODUCT, address: from },
  // As an object: an address given as a text could name several.
  to: { name: '', address: mail.to },
  subject: mail.subject,
  text: mail.text,
  html: mail.html,
  messageId: `<${mail.id}@${domain}>`,
  headers: [
    // RFC 3834 5: no program answers it.
    { key: 'Auto-Submitted', value: 'auto-generated' },
    ...mail.headers.map(({ name, value }) => ({ key: name, value })),
  ],
});

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The server of a `smtp://` or `smtps://` address; encrypted, except on this machine or with `?tls=off`. */
function serverOf(text: string) {
  const url = new URL(text);
  const { hostname, username, password, protocol, searchParams } = url;
  const secure = protocol === 'smtps:';
  const isPlain = !secure && (LOOPBACK.test(hostname) || searchParams.get('tls') === 'off');
  return {
    host: hostname.replaceAll(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    // Required even when the server does not offer it: who hides STARTTLS gets no credentials.
    requireTLS: !secure && !isPlain,
    ignoreTLS: isPlain,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
  };
}

/** `smtp://user:password@host:port`, `smtps://…`; `?tls=off` is the only parameter. */
export function isSmtpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, hash, search } = new URL(text);
  const isBare = (pathname === '' || pathname === '/') && hash === '';
  return /^smtps?:$/.test(protocol) && hostname !== '' && isBare && ['', '?tls=off'].includes(search);
}

/** nodemailer's own names of failures, in words. */
const WORDS: Readonly<Record<string, string>> = {
  EAUTH: 'login_refused',
  ECONNECTION: 'connection_failed',
  ECONNREFUSED: 'connection_failed',
  ESOCKET: 'connection_failed',
  EDNS: 'host_unknown',
  ETIMEDOUT: 'timeout',
  ETLS: 'tls_failed',
};

/** A permanent reply (RFC 5321 4.2.1) is about the mail only after these; before them the settings are wrong, which a person corrects. */
const ABOUT_THE_MAIL: readonly unknown[] = ['RCPT TO', 'DATA'];

function notSent(error: unknown): MailNotSent {
  const { code, command, responseCode } = error as Record<string, unknown>;
  if (typeof responseCode === 'number') {
    const isFinal = responseCode >= 500 && ABOUT_THE_MAIL.includes(command);
    return new MailNotSent(String(responseCode), isFinal, error);
  }
  return new MailNotSent(WORDS[String(code)] ?? 'connection_failed', false, error);
}
