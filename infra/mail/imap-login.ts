/** One logged-in IMAP client: guarded, never silently unencrypted, with errors that say what to do. */
import { ImapFlow } from 'imapflow';
import { GatewayError } from '../../commands/values/errors.ts';
import type { HostSettings, MailLogin, ServerCapabilities } from '../../commands/ports/mail-port.ts';
import type { EgressGuard, VettedTarget } from '../egress/egress-guard.ts';
import { connectError } from './mail-errors.ts';

export interface LoginOptions {
  readonly guard: EgressGuard;
  /** Certificates to trust in addition to the system's, PEM. */
  readonly extraCertificates: readonly string[];
  /** For connecting and for the greeting, each. */
  readonly connectTimeoutMs: number;
}

/** The command timeout detects a silent link; this closes links without commands. */
const SOCKET_TIMEOUT_MS = 5 * 60_000;
const MAX_LITERAL_BYTES = 64 * 1024 * 1024;
const MAX_RESPONSE_BYTES = 96 * 1024 * 1024;

/** Refuses an unencrypted connection to anything but this machine. Throws `target_blocked`. */
export function assertPlainIsLocal(settings: HostSettings, target: VettedTarget): void {
  if (settings.security !== 'none' || target.isLoopback) return;
  throw new GatewayError(
    'target_blocked',
    'Connections without TLS are allowed only to this machine; use security "tls" or "starttls".',
    { details: { reason: 'plain_connection', host: settings.host, port: settings.port } },
  );
}

/** TLS options of both clients: the system's certificates and, where configured, additional ones. */
export const tlsOptions = (extraCertificates: readonly string[]): { ca?: string[] } =>
  extraCertificates.length === 0 ? {} : { ca: [...extraCertificates] };

/** A client that has not connected yet and connects only to the vetted address. */
export function clientFor(
  settings: HostSettings,
  login: MailLogin,
  target: VettedTarget,
  options: LoginOptions,
): ImapFlow {
  const client = new ImapFlow({
    host: target.address,
    port: settings.port,
    secure: settings.security === 'tls',
    // Left undefined, imapflow would stay unencrypted when the server hides STARTTLS.
    doSTARTTLS: settings.security === 'starttls',
    ...(target.servername === undefined ? {} : { servername: target.servername }),
    auth: authOf(login),
    tls: tlsOptions(options.extraCertificates),
    logger: false,
    disableAutoIdle: true,
    // Vanished messages are reported by UID (RFC 7162); sequence numbers could not be mapped.
    qresync: true,
    disableCompression: true,
    // Its answers differ (ESEARCH, no LSUB) and bring nothing the gateway needs.
    disableIMAP4rev2: true,
    clientInfo: { name: 'mailbox-gateway' },
    connectionTimeout: options.connectTimeoutMs,
    greetingTimeout: options.connectTimeoutMs,
    socketTimeout: SOCKET_TIMEOUT_MS,
    maxLiteralSize: MAX_LITERAL_BYTES,
    maxResponseSize: MAX_RESPONSE_BYTES,
  });
  // Without a listener, a link that drops while idle would end the process.
  client.on('error', () => undefined);
  return client;
}

/** With a token, imapflow picks OAUTHBEARER (RFC 7628) where offered, else XOAUTH2, and never sends it as a password. */
const authOf = (login: MailLogin): { user: string; pass: string } | { user: string; accessToken: string } =>
  login.kind === 'oauth2'
    ? { user: login.username, accessToken: login.accessToken }
    : { user: login.username, pass: login.password };

/** Connects and logs in, in at most `loginTimeoutMs`. Throws `target_blocked`, `mailbox_unavailable` or `mailbox_auth_failed`. */
export async function logIn(
  settings: HostSettings,
  login: MailLogin,
  options: LoginOptions,
  loginTimeoutMs: number,
): Promise<ImapFlow> {
  const target = await options.guard.vet(settings.host, settings.port);
  assertPlainIsLocal(settings, target);
  const client = clientFor(settings, login, target, options);
  const timer = setTimeout(() => {
    client.close();
  }, loginTimeoutMs);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.close();
    throw connectError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The capabilities (RFC 9051 6.1.1) of a logged-in client: some servers report more after the login. */
export function capabilitiesOf(client: ImapFlow): ServerCapabilities {
  const names = [...client.capabilities.keys()].map((name) => name.toUpperCase()).sort();
  const has = new Set(names);
  return {
    move: has.has('MOVE'),
    uidPlus: has.has('UIDPLUS'),
    specialUse: has.has('SPECIAL-USE'),
    condstore: has.has('CONDSTORE'),
    idle: has.has('IDLE'),
    sharesMessages: has.has('X-GM-EXT-1'),
    names,
  };
}
