import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import type { HostSettings, MailLogin } from '../../../../commands/ports/mail-port.ts';
import { SubmissionFailure } from '../../../../commands/ports/submission-port.ts';
import { createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { SmtpGateway } from '../../../../infra/smtp/smtp-gateway.ts';
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../../../support/servers/authorization-server.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const ADDRESS = 'anna@example.com';
const GUARD = createEgressGuard(['127.0.0.0/8:*']);

/** Gives the tokens in order; which login was refused is what makes it go on. */
function tokensInOrder(...accessTokens: readonly string[]) {
  const asked: (MailLogin | undefined)[] = [];
  let at = 0;
  return {
    asked,
    next: (refused?: MailLogin): MailLogin => {
      asked.push(refused);
      if (refused !== undefined) at += 1;
      return { kind: 'oauth2', username: ADDRESS, accessToken: accessTokens[at] ?? 'none' };
    },
  };
}

describe('a login with an access token', function () {
  this.timeout(60_000);
  let provider: AuthorizationServer;
  let dovecot: TestDovecot;
  let submission: SMTPServer;
  let smtp: HostSettings;
  const received: string[] = [];

  before(async function () {
    provider = await startAuthorizationServer({ redirectUri: 'http://127.0.0.1:4/callback' });
    dovecot = await requireTestDovecot(this, { introspectionUrl: provider.introspectionUrl });
    submission = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      authMethods: ['XOAUTH2'],
      onAuth: ({ username, accessToken }, _, callback) => {
        provider.accountOf(accessToken ?? '').then((account) => {
          if (account !== null && account === username) callback(null, { user: account });
          else callback(null, { data: { status: '401', schemes: 'bearer' } });
        }, callback);
      },
      onData: (stream, session, callback) => {
        stream.resume();
        stream.on('end', () => {
          received.push(String(session.user));
          callback();
        });
      },
    });
    submission.listen(0, '127.0.0.1');
    await once(submission.server, 'listening');
    const { port } = submission.server.address() as AddressInfo;
    smtp = { host: '127.0.0.1', port, security: 'none' };
  });
  after(async () => {
    await new Promise<void>((resolve) => {
      submission.close(resolve);
    });
    await dovecot.dispose();
    await provider.stop();
  });

  const imapGateway = (tokens: ReturnType<typeof tokensInOrder>) =>
    mailGateway(dovecot.imap(), ADDRESS, {
      loadSettings: (_, refused) =>
        Promise.resolve({ imap: dovecot.imap(), smtp, login: tokens.next(refused) }),
    });

  const smtpGateway = (tokens: ReturnType<typeof tokensInOrder>) =>
    new SmtpGateway({
      loadSettings: (_, refused) => Promise.resolve({ smtp, login: tokens.next(refused) }),
      login: { guard: GUARD, extraCertificates: [], connectTimeoutMs: 2_000 },
      atOnce: 2,
    });

  it('renews once when the IMAP server refuses the token, and continues after its end', async () => {
    const good = await provider.issueAccessToken(ADDRESS);
    const tokens = tokensInOrder('ended', good);
    const under = imapGateway(tokens);
    await under.mail(async (session) => {
      await provider.endAccessToken(good);
      expect((await session.query(queryOf())).messages, 'a session outlives its token').to.have.length(0);
    });
    expect(tokens.asked).to.have.length(2);
    expect(tokens.asked[1]).to.have.property('accessToken', 'ended');
    expect(under.troubles).to.deep.equal([]);
    under.gateway.close();
  });

  it('is refused permanently when the renewed token is refused too', async () => {
    const tokens = tokensInOrder('ended', 'ended too', 'never asked for');
    const under = imapGateway(tokens);
    const failure = await rejection(under.mail((session) => session.listFolders()));
    expect(failure).to.have.property('code', 'mailbox_auth_failed');
    expect(tokens.asked).to.have.length(2);
    expect(under.troubles.map(({ code }) => code)).to.deep.equal(['mailbox_auth_failed']);
    under.gateway.close();
  });

  it('opens no mailbox but its own', async () => {
    const foreign = await provider.issueAccessToken('bob@example.com');
    const under = imapGateway(tokensInOrder(foreign, foreign));
    const failure = await rejection(under.mail((session) => session.listFolders()));
    expect(failure).to.have.property('code', 'mailbox_auth_failed');
    under.gateway.close();
  });

  it('sends by SMTP and renews once when the token is refused', async () => {
    const good = await provider.issueAccessToken(ADDRESS);
    const exchange = await smtpGateway(tokensInOrder('ended', good)).connect('mbx_test');
    const text = Buffer.from('Subject: hi\r\n\r\nHi\r\n');
    await exchange.begin(
      { from: ADDRESS, to: ['bob@example.com'] },
      { size: text.length, needsSmtpUtf8: false },
    );
    await exchange.transmit(
      (async function* () {
        yield await Promise.resolve(text);
      })(),
    );
    expect(received).to.deep.equal([ADDRESS]);

    const failure = await rejection(smtpGateway(tokensInOrder('ended', 'ended too')).connect('mbx_test'));
    expect(failure).to.be.instanceOf(SubmissionFailure);
    expect(failure).to.have.nested.property('facts.code', 'mailbox_auth_failed');
    expect(failure).to.have.nested.property('facts.verdict', 'never');
  });

  it('is tried on both servers by a connection test', async () => {
    const login: MailLogin = { kind: 'oauth2', username: ADDRESS, accessToken: 'ended' };
    const { gateway } = imapGateway(tokensInOrder());
    const good: MailLogin = { ...login, accessToken: await provider.issueAccessToken(ADDRESS) };
    for (const test of [
      (with_: MailLogin) => gateway.testImap(dovecot.imap(), with_),
      (with_: MailLogin) => smtpGateway(tokensInOrder()).testLogin(smtp, with_),
    ]) {
      expect(await test(good)).to.include({ ok: true, stage: 'ready' });
      expect(await test(login)).to.include({ ok: false, stage: 'login' });
    }
    gateway.close();
  });
});
