/** POST /mailboxes/:mailbox_id/connection-tests: tests hosts and credentials without changing anything. */
import { z } from 'zod';
import { type Context, defineCapability } from '../kernel/capability.ts';
import type { MailboxEntry } from '../ports/directory.ts';
import { GatewayError } from '../values/errors.ts';
import type { ConnectionReport, MailLogin } from '../ports/mail-port.ts';
import { MailboxIdParameter } from '../mail/select.ts';
import { entryOf } from './change-mailbox.ts';
import { sameHost } from './decide-settings.ts';
import { HostSettingsField, PasswordAuth } from './mailbox-payload.ts';

const Input = z.strictObject({
  mailbox_id: MailboxIdParameter,
  imap: HostSettingsField.optional().describe('Absent = the stored host.'),
  smtp: HostSettingsField.optional().describe('Absent = the stored host.'),
  auth: PasswordAuth.optional().describe(
    'Absent = the stored credentials, which only go to the stored hosts.',
  ),
});
type Input = z.output<typeof Input>;

const Report = z.object({
  ok: z.boolean(),
  stage: z.enum(['egress', 'connect', 'tls', 'greeting', 'login', 'ready']).describe('How far it came.'),
  latency_ms: z.number(),
  error: z.string().optional(),
});
type Report = z.output<typeof Report>;
const ConnectionTest = z.object({ imap: Report, smtp: Report.nullable() });
type ConnectionTest = z.output<typeof ConnectionTest>;

export const testConnection = defineCapability<Input, ConnectionTest>({
  name: 'test_mailbox_connection',
  title: 'Test a connection',
  summary: 'Logs in to the IMAP and SMTP hosts and returns the result of each step.',
  description:
    'Signs in once to the stored hosts, or to those sent. Stored credentials only go to the host and port they were ' +
    'stored for; other hosts need `auth`. Changes nothing, also not the state of the mailbox.',
  effect: 'write',
  access: { any: ['mailboxes:manage'], mailbox: ({ mailbox_id }) => mailbox_id },
  rest: { method: 'post', path: '/mailboxes/:mailbox_id/connection-tests', status: 200 },
  tool: null,
  idempotency: { kind: 'none' },
  input: Input,
  output: ConnectionTest,
  handle: async (input, context) => {
    const { mail, submission } = context.ports;
    const entry = entryOf(context, input.mailbox_id);
    const login = await loginFor(context, entry, input);
    const smtp = input.smtp ?? entry.smtp;
    const [imapReport, smtpReport] = await Promise.all([
      mail.testImap(input.imap ?? entry.imap, login),
      smtp && submission.testLogin(smtp, login),
    ]);
    return { imap: describeReport(imapReport), smtp: smtpReport && describeReport(smtpReport) };
  },
});

async function loginFor(context: Context, entry: MailboxEntry, input: Input): Promise<MailLogin> {
  const { auth, imap, smtp } = input;
  if (auth) return { kind: 'password', username: auth.username, password: auth.password };
  const otherHost =
    (imap !== undefined && !sameHost(entry.imap, imap)) ||
    (smtp !== undefined && !sameHost(entry.smtp, smtp));
  if (otherHost) throw needsAuth();
  return await context.ports.logins.current(entry);
}

const needsAuth = (): GatewayError => {
  const message = 'Stored credentials only go to the host they were stored for; send auth with another host.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'auth', code: 'custom', message }] },
  });
};

const describeReport = ({ ok, stage, latencyMs, error }: ConnectionReport): Report => ({
  ok,
  stage,
  latency_ms: latencyMs,
  ...(error === undefined ? {} : { error }),
});
