/** Tries to log in to a mail server and reports how far it came. */
import type { GatewayError } from '../../commands/values/errors.ts';
import type { ConnectionReport, HostSettings, MailLogin } from '../../commands/ports/mail-port.ts';
import { assertPlainIsLocal, clientFor, type LoginOptions } from './imap-login.ts';
import { connectError } from './mail-errors.ts';

type Stage = ConnectionReport['stage'];
type Failure = Pick<ConnectionReport, 'stage' | 'error'>;

/** Logs in to IMAP and out again. Never throws. */
export function testImap(
  settings: HostSettings,
  login: MailLogin,
  options: LoginOptions,
): Promise<ConnectionReport> {
  return reportLogin(async () => {
    const target = await options.guard.vet(settings.host, settings.port);
    assertPlainIsLocal(settings, target);
    const client = clientFor(settings, login, target, options);
    try {
      await client.connect();
    } finally {
      await client.logout().catch(() => undefined);
      client.close();
    }
  });
}

/** How long a login attempt took, and how far it came. Never throws. */
export async function reportLogin(attempt: () => Promise<void>): Promise<ConnectionReport> {
  const start = performance.now();
  const latencyMs = (): number => Math.round(performance.now() - start);
  try {
    await attempt();
    return { ok: true, stage: 'ready', latencyMs: latencyMs() };
  } catch (error) {
    return { ok: false, latencyMs: latencyMs(), ...failureOf(error) };
  }
}

const STAGE_OF_REASON: Readonly<Record<string, Stage>> = {
  egress: 'egress',
  plain_connection: 'egress',
  dns: 'connect',
  refused: 'connect',
  unreachable: 'connect',
  timeout: 'connect',
  tls: 'tls',
  protocol: 'greeting',
  login_refused: 'login',
  login_unavailable: 'login',
};

const REFUSED = 'The mail server refuses this username or password.';

function failureOf(error: unknown): Failure {
  const known = isSmtpLogin(error) ? smtpLoginError(error) : connectError(error);
  const { reason } = known.details;
  const stage = stageOfCode(error) ?? (typeof reason === 'string' ? STAGE_OF_REASON[reason] : undefined);
  // The credentials may be those supplied with the test.
  const isRefused = known.code === 'mailbox_auth_failed';
  return { stage: stage ?? 'connect', error: isRefused ? REFUSED : known.message };
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Codes that name the stage better than their reason does. */
const stageOfCode = (error: unknown): Stage | undefined =>
  codeOf(error) === 'GREETING_TIMEOUT' ? 'greeting' : undefined;

const isSmtpLogin = (error: unknown): error is Error & { responseCode?: number } => codeOf(error) === 'EAUTH';

/** RFC 4954 6: 535 is a definite refusal; 454 and similar codes are the server's own failures. */
const smtpLoginError = (error: Error & { responseCode?: number }): GatewayError =>
  error.responseCode === 535
    ? connectError(
        Object.assign(new Error('refused'), { authenticationFailed: true, oauthError: error.message }),
      )
    : connectError(Object.assign(new Error('not now'), { authenticationFailed: true }));
