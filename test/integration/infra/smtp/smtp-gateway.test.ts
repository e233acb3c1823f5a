import { expect } from 'chai';
import type { MailLogin } from '../../../../commands/ports/mail-port.ts';
import {
  type Acceptance,
  type RefusedRecipient,
  SubmissionFailure,
  type SubmissionFailureFacts,
} from '../../../../commands/ports/submission-port.ts';
import { createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { SmtpGateway, type SmtpGatewayOptions } from '../../../../infra/smtp/smtp-gateway.ts';
import { ScriptedSmtp, type SmtpScript, type SmtpStage } from '../../../support/servers/scripted-smtp.ts';

const PASSWORD: MailLogin = { kind: 'password', username: 'anna', password: 'open-sesame-42' };
const ENVELOPE = { from: 'anna@example.com', to: ['bob@example.org'] };
const MESSAGE = 'Subject: hello\r\n\r\nHello\r\n.leading dot\r\n';

interface Taken {
  readonly refused: readonly RefusedRecipient[];
  readonly acceptance: Acceptance;
}

describe('submission over SMTP', function () {
  this.timeout(60_000);
  let server: ScriptedSmtp;

  beforeEach(async () => {
    server = await ScriptedSmtp.start();
  });
  afterEach(() => server.stop());

  const gateway = (options: Partial<SmtpGatewayOptions> = {}, login: MailLogin = PASSWORD): SmtpGateway =>
    new SmtpGateway({
      loadSettings: () =>
        Promise.resolve({ smtp: { host: '127.0.0.1', port: server.port, security: 'none' }, login }),
      login: { guard: createEgressGuard(['127.0.0.0/8:*']), extraCertificates: [], connectTimeoutMs: 3_000 },
      atOnce: 4,
      limits: { phaseTimeoutMs: 1_500, messageTimeoutMs: 3_000, waitMs: 100 },
      ...options,
    });

  const submit = async (
    smtp: SmtpGateway,
    { envelope = ENVELOPE, message = MESSAGE, needsSmtpUtf8 = false } = {},
  ): Promise<Taken> => {
    const submission = await smtp.connect('mbx_test');
    try {
      const refused = await submission.begin(envelope, { size: message.length, needsSmtpUtf8 });
      return { refused, acceptance: await submission.transmit(inPieces(message)) };
    } finally {
      submission.close();
    }
  };

  const failureOf = async (work: Promise<unknown>): Promise<SubmissionFailureFacts> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof SubmissionFailure) return error.facts;
      throw error;
    }
    throw new Error('nothing failed');
  };

  it('delivers envelope and bytes unchanged and returns the answer of the server', async () => {
    const { refused, acceptance } = await submit(gateway());
    expect(refused).to.deep.equal([]);
    expect(acceptance).to.deep.equal({ response: '250 2.0.0 queued as 42', replacedMessageId: null });
    expect(server.accepted).to.deep.equal([{ from: ENVELOPE.from, to: ENVELOPE.to, raw: MESSAGE }]);
    expect(server.sent('MAIL')).to.deep.equal(['MAIL FROM:<anna@example.com> SIZE=39']);
  });

  it('sends no byte of the message before the server asks for it', async () => {
    const submission = await gateway().connect('mbx_test');
    await submission.begin(ENVELOPE, { size: MESSAGE.length, needsSmtpUtf8: false });
    await new Promise((resolve) => setTimeout(resolve, 50));
    submission.close();
    expect(server.commands.at(-1)).to.equal('DATA');
    expect(server.accepted).to.deep.equal([]);
  });

  it('names the refused recipients and delivers to the others', async () => {
    server.script.rcpt = (line) => (line.includes('carol') ? '550 5.1.1 no such user' : undefined);
    const to = ['bob@example.org', 'carol@example.org', 'dave@example.org'];
    const { refused } = await submit(gateway(), { envelope: { from: ENVELOPE.from, to } });
    expect(refused).to.deep.equal([
      { address: 'carol@example.org', smtpStatus: 550, response: '550 5.1.1 no such user' },
    ]);
    expect(server.accepted[0]?.to).to.deep.equal(['bob@example.org', 'dave@example.org']);
  });

  type Row = readonly [
    stage: SmtpStage,
    reply: string,
    expected: Partial<SubmissionFailureFacts>,
    accepted?: number,
  ];
  const rows: readonly Row[] = [
    ['greeting', 'drop', { phase: 'connect', verdict: 'later' }],
    ['greeting', 'hang', { phase: 'connect', verdict: 'later' }],
    ['greeting', '421 too busy', { phase: 'connect', verdict: 'later', smtpStatus: 421 }],
    ['greeting', '554 not for you', { phase: 'connect', verdict: 'later', smtpStatus: 554 }],
    ['ehlo', 'drop', { phase: 'connect', verdict: 'later' }],
    ['ehlo', '421 too busy', { phase: 'connect', verdict: 'later' }],
    ['auth', 'drop', { phase: 'connect', verdict: 'later' }],
    ['auth', 'hang', { phase: 'connect', verdict: 'later' }],
    ['auth', '454 4.7.0 not now', { phase: 'connect', verdict: 'later', code: 'mailbox_unavailable' }],
    ['auth', '421 4.7.0 not now', { phase: 'connect', verdict: 'later', code: 'mailbox_unavailable' }],
    ['auth', '535 5.7.8 no', { phase: 'connect', verdict: 'never', code: 'mailbox_auth_failed' }],
    ['mail', 'drop', { phase: 'envelope', verdict: 'later', smtpStatus: null }],
    ['mail', 'hang', { phase: 'envelope', verdict: 'later', smtpStatus: null }],
    ['mail', '421 bye', { phase: 'envelope', verdict: 'later', smtpStatus: 421 }],
    ['mail', '451 4.7.1 greylisted', { phase: 'envelope', verdict: 'later', smtpStatus: 451 }],
    ['mail', '553 5.7.1 not yours', { phase: 'envelope', verdict: 'never', smtpStatus: 553 }],
    ['mail', '552 5.3.4 too big', { phase: 'envelope', verdict: 'never', smtpStatus: 552 }],
    ['rcpt', 'drop', { phase: 'envelope', verdict: 'later' }],
    ['rcpt', '450 4.2.0 greylisted', { phase: 'envelope', verdict: 'later', smtpStatus: 450 }],
    ['rcpt', '452 4.2.2 mailbox full', { phase: 'envelope', verdict: 'later', smtpStatus: 452 }],
    ['rcpt', '550 5.1.1 nobody', { phase: 'envelope', verdict: 'never', smtpStatus: 550 }],
    ['data', 'drop', { phase: 'envelope', verdict: 'later' }],
    ['data', '421 bye', { phase: 'envelope', verdict: 'later', smtpStatus: 421 }],
    ['data', '451 4.3.0 not now', { phase: 'envelope', verdict: 'later', smtpStatus: 451 }],
    ['data', '554 5.5.1 no', { phase: 'envelope', verdict: 'never', smtpStatus: 554 }],
    ['dot', 'drop', { phase: 'data', verdict: 'unknown', smtpStatus: null }],
    ['dot', 'hang', { phase: 'data', verdict: 'unknown', smtpStatus: null }],
    ['dot', 'accept-and-drop', { phase: 'data', verdict: 'unknown', smtpStatus: null }, 1],
    ['dot', 'accept-and-hang', { phase: 'data', verdict: 'unknown', smtpStatus: null }, 1],
    ['dot', '421 4.3.2 shutting down', { phase: 'data', verdict: 'later', smtpStatus: 421 }],
    ['dot', '451 4.3.0 not now', { phase: 'data', verdict: 'later', smtpStatus: 451 }],
    ['dot', '452 4.3.1 disk full', { phase: 'data', verdict: 'later', smtpStatus: 452 }],
    ['dot', '552 5.2.2 mailbox full', { phase: 'data', verdict: 'never', smtpStatus: 552 }],
    ['dot', '554 5.7.1 spam', { phase: 'data', verdict: 'never', smtpStatus: 554 }],
    ['dot', '354 what', { phase: 'data', verdict: 'unknown' }],
  ];
  for (const extra of [[], ['PIPELINING']]) {
    for (const [stage, reply, expected, accepted = 0] of rows) {
      const how = extra.length === 0 ? '' : ' when it takes commands in one go';
      it(`reports ${String(expected.verdict)} after "${reply}" at ${stage}${how}`, async () => {
        server.extensions = [...server.extensions, ...extra];
        server.script = { [stage]: () => reply } satisfies SmtpScript;
        const facts = await failureOf(submit(gateway()));
        expect(facts).to.include(expected);
        expect(server.accepted.length).to.equal(accepted);
      });
    }
  }

  it('reports a message as not sent when it broke off in the middle', async () => {
    const message = `Subject: long\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(100_000)}`;
    server.script.body = (_, count) => (count === 50 ? 'drop' : undefined);
    const facts = await failureOf(submit(gateway(), { message }));
    expect(facts).to.include({ phase: 'data', verdict: 'later' });
    expect(server.accepted).to.deep.equal([]);
  });

  it('omits the final dot when the message cannot be read to its end', async () => {
    const submission = await gateway().connect('mbx_test');
    await submission.begin(ENVELOPE, { size: 1_000, needsSmtpUtf8: false });
    const facts = await failureOf(submission.transmit(brokenContent()));
    expect(facts).to.include({ phase: 'data', verdict: 'later', code: 'store_unavailable' });
    expect(server.accepted).to.deep.equal([]);
  });

  it('ignores an acceptance before the whole message is sent', async () => {
    const message = `Subject: long\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(100_000)}`;
    server.script.body = (_, count) => (count === 1 ? '250 2.0.0 taken' : undefined);
    const facts = await failureOf(submit(gateway(), { message }));
    expect(facts).to.include({ phase: 'data', verdict: 'later' });
  });

  it('refuses to log in when STARTTLS is required and hidden', async () => {
    const facts = await failureOf(
      submit(
        gateway({
          loadSettings: () =>
            Promise.resolve({
              smtp: { host: '127.0.0.1', port: server.port, security: 'starttls' },
              login: PASSWORD,
            }),
        }),
      ),
    );
    expect(facts).to.include({ phase: 'connect', verdict: 'later', code: 'mailbox_unavailable' });
    expect(server.sent('AUTH')).to.deep.equal([]);
  });

  it('respects the size that the server announces, without a request for it', async () => {
    server.extensions = ['SIZE 10'];
    const facts = await failureOf(submit(gateway()));
    expect(facts).to.include({ phase: 'envelope', verdict: 'never', code: 'payload_too_large' });
    expect(server.sent('MAIL')).to.deep.equal([]);
  });

  it('sends addresses beyond ASCII only to a server that takes them', async () => {
    const inEnvelope = { envelope: { from: ENVELOPE.from, to: ['jürgen@example.org'] }, needsSmtpUtf8: true };
    const inHeader = { message: `Reply-To: jürgen@example.org\r\n${MESSAGE}`, needsSmtpUtf8: true };
    for (const sent of [inEnvelope, inHeader]) await submit(gateway(), sent);
    expect(server.sent('MAIL')).to.have.length(2);
    for (const command of server.sent('MAIL')) {
      expect(command.match(/ SMTPUTF8\b/g)).to.have.length(1);
      expect(command).to.include(' BODY=8BITMIME');
    }
    await submit(gateway());
    expect(server.sent('MAIL')[2]).not.to.include('SMTPUTF8');
    server.extensions = ['SIZE', '8BITMIME'];
    for (const refused of [inEnvelope, inHeader]) {
      const facts = await failureOf(submit(gateway(), refused));
      expect(facts).to.include({ verdict: 'never', code: 'operation_unsupported' });
    }
  });

  it('logs in with a token and reports the reason of a refusal', async () => {
    const login: MailLogin = { kind: 'oauth2', username: 'anna', accessToken: 'token-1' };
    await submit(gateway({}, login));
    const [command = ''] = server.sent('AUTH');
    expect(Buffer.from(command.split(' ')[2] ?? '', 'base64').toString()).to.equal(
      'user=anna\u0001auth=Bearer token-1\u0001\u0001',
    );
    server.script.auth = (line) => (line === '' ? '535 5.7.8 expired' : '334 eyJzdGF0dXMiOiI0MDEifQ==');
    const facts = await failureOf(submit(gateway({}, login)));
    expect(facts).to.include({ phase: 'connect', verdict: 'never', code: 'mailbox_auth_failed' });
    expect(server.commands.join()).not.to.include('PLAIN');
  });

  it('refuses a host that no rule opens', async () => {
    const login = { guard: createEgressGuard([]), extraCertificates: [], connectTimeoutMs: 1_000 };
    const facts = await failureOf(submit(gateway({ login })));
    expect(facts).to.include({ verdict: 'never', code: 'target_blocked' });
  });

  it('keeps at most the given number of connections to one server', async () => {
    const smtp = gateway({ atOnce: 2 });
    const open = await Promise.all([smtp.connect('mbx_test'), smtp.connect('mbx_test')]);
    const facts = await failureOf(smtp.connect('mbx_test'));
    expect(facts).to.include({ verdict: 'later', code: 'overloaded' });
    for (const submission of open) submission.close();
    await submit(smtp);
  });
});

async function* inPieces(message: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(message, 'latin1');
  for (let at = 0; at < bytes.length; at += 65_536) {
    yield await Promise.resolve(bytes.subarray(at, at + 65_536));
  }
}

async function* brokenContent(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from('Subject: hello\r\n\r\n'));
  throw new Error('the store is away');
}
