/** Connects and logs in to a submission server: guarded, never silently unencrypted, by password or OAuth token. */
import type { SMTPConnectionCustomAuthContext } from 'nodemailer/lib/smtp-connection';
import type { HostSettings, MailLogin } from '../../commands/ports/mail-port.ts';
import type { VettedTarget } from '../egress/egress-guard.ts';
import { assertPlainIsLocal, type LoginOptions, tlsOptions } from '../mail/imap-login.ts';
import { connectFailure, loginFailure } from './smtp-failures.ts';
import { SmtpExchange } from './smtp-exchange.ts';

/** A logged-in connection, and the server's capabilities (EHLO keywords, upper case). */
export interface OpenExchange {
  readonly exchange: SmtpExchange;
  readonly extensions: ReadonlySet<string>;
}

/** Connects and logs in, each within `phaseTimeoutMs`. Throws `SubmissionFailure` of phase `connect`. */
export async function openExchange(
  settings: HostSettings,
  login: MailLogin,
  options: LoginOptions,
  phaseTimeoutMs: number,
): Promise<OpenExchange> {
  const exchange = await connect(settings, options, phaseTimeoutMs);
  const { client } = exchange;
  // The last response is the EHLO reply only until the login.
  const extensions = extensionsOf(client.lastServerResponse);
  try {
    // A server without AUTH authenticates its clients otherwise, and receives no credentials.
    if (client.allowsAuth) {
      await exchange.step(phaseTimeoutMs, (done) => {
        client.login(authOf(login), done);
      });
    }
  } catch (error) {
    client.close();
    throw loginFailure(error);
  }
  return { exchange, extensions };
}

async function connect(
  settings: HostSettings,
  options: LoginOptions,
  phaseTimeoutMs: number,
): Promise<SmtpExchange> {
  let exchange: SmtpExchange | null = null;
  try {
    const target = await options.guard.vet(settings.host, settings.port);
    assertPlainIsLocal(settings, target);
    exchange = exchangeFor(settings, target, options, phaseTimeoutMs);
    const { client } = exchange;
    await exchange.step(phaseTimeoutMs, (done) => {
      client.connect((error) => {
        done(error);
      });
    });
    return exchange;
  } catch (error) {
    exchange?.client.close();
    throw connectFailure(error);
  }
}

function exchangeFor(
  { port, security }: HostSettings,
  { address, servername }: VettedTarget,
  options: LoginOptions,
  phaseTimeoutMs: number,
): SmtpExchange {
  const name = servername === undefined ? {} : { servername };
  return new SmtpExchange({
    host: address,
    port,
    secure: security === 'tls',
    // Required even when the server does not offer it: an attacker who hides STARTTLS gets no credentials.
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...name,
    tls: { ...tlsOptions(options.extraCertificates), ...name },
    connectionTimeout: phaseTimeoutMs,
    greetingTimeout: phaseTimeoutMs,
    socketTimeout: phaseTimeoutMs,
    customAuth: { [BEARER]: answerXoauth2 },
  });
}

/** RFC 5321 4.1.1.1: one keyword per line, the first line is the server's name. */
const extensionsOf = (reply: string | false): ReadonlySet<string> =>
  new Set(
    (reply === false ? '' : reply)
      .split('\n')
      .slice(1)
      .map((line) => (/^\d+[ -](\S+)/.exec(line)?.[1] ?? '').toUpperCase()),
  );

/** A private name of the mechanism: under XOAUTH2 the client may fall back to PLAIN, with the token as a password. */
const BEARER = 'BEARER';

const authOf = (login: MailLogin): Record<string, string> =>
  login.kind === 'oauth2'
    ? { method: BEARER, user: login.username, pass: login.accessToken }
    : { user: login.username, pass: login.password };

/** One line with user and token; 334 carries the reason of a refusal, and an empty line fetches the refusal itself. */
async function answerXoauth2(context: SMTPConnectionCustomAuthContext): Promise<void> {
  const { user, pass } = context.auth.credentials;
  const token = Buffer.from(`user=${user}\u0001auth=Bearer ${pass}\u0001\u0001`).toString('base64');
  let reply = await context.sendCommand(`AUTH XOAUTH2 ${token}`);
  if (reply.status === 334) reply = await context.sendCommand('');
  if (reply.status >= 200 && reply.status < 300) context.resolve();
  else context.reject('The token was refused.');
}
