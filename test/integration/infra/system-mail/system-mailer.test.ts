import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:tls';
import { once } from 'node:events';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { MailNotSent, type OutgoingMail } from '../../../../commands/ports/system-mailer.ts';
import { isSmtpUrl, openSystemMailer } from '../../../../infra/system-mail/system-mailer.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';
import { ScriptedSmtp } from '../../../support/servers/scripted-smtp.ts';
import { selfSigned } from '../../../support/servers/self-signed.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const MAIL: OutgoingMail = {
  id: '5f0b2d9e-0000-5000-8000-000000000001',
  kind: 'password_reset',
  to: 'anna@example.com',
  recipientId: 'usr_anna',
  subject: 'Set a new password',
  text: 'Hello',
  html: '<p>Hello</p>',
  headers: [{ name: 'List-Unsubscribe', value: '<https://gateway.example/unsubscribe/abc>' }],
  link: 'https://gateway.example/console#reset=secret',
};

const BASE = { baseUrl: 'https://gateway.example', from: null, log: silentLog };

describe('the mail server of the gateway', () => {
  let server: ScriptedSmtp;
  beforeEach(async () => {
    server = await ScriptedSmtp.start();
  });
  afterEach(() => server.stop());

  const mailerTo = (host: string, credentials = '') =>
    openSystemMailer({ ...BASE, smtpUrl: `smtp://${credentials}${host}:${String(server.port)}` });
  const failure = async (host = '127.0.0.1', credentials = ''): Promise<MailNotSent> => {
    const error = await rejection(mailerTo(host, credentials).send(MAIL));
    if (!(error instanceof MailNotSent)) throw error;
    return error;
  };

  it(`gets the mail with its Message-ID and as one that no program answers ${verifies('contract:18:system-mail')}`, async () => {
    await mailerTo('127.0.0.1', 'user:p%40ss@').send(MAIL);
    const [accepted] = server.accepted;
    expect(accepted?.to).to.deep.equal(['anna@example.com']);
    expect(accepted?.from).to.equal('no-reply@gateway.example');
    const parsed = await simpleParser(accepted?.raw ?? '');
    expect(parsed.messageId).to.equal(`<${MAIL.id}@gateway.example>`);
    expect(parsed.headers.get('auto-submitted')).to.equal('auto-generated');
    expect(parsed.from?.text).to.equal('"Mailbox Gateway" <no-reply@gateway.example>');
    expect(parsed.text?.trim()).to.equal('Hello');
    expect(server.sent('AUTH')).to.deep.equal([
      `AUTH PLAIN ${Buffer.from('\u0000user\u0000p@ss').toString('base64')}`,
    ]);
  });

  const REFUSALS = [
    ['rcpt', '451 4.3.0 later', '451', false],
    ['rcpt', '550 5.1.1 nobody', '550', true],
    ['dot', '452 4.2.2 full', '452', false],
    ['dot', '554 5.7.1 refused', '554', true],
    ['data', '554 5.7.1 refused', '554', true],
    ['mail', '550 5.7.1 not your sender', '550', false],
    ['greeting', '554 5.7.1 go away', '554', false],
  ] as const;
  for (const [stage, reply, code, isFinal] of REFUSALS) {
    it(`${isFinal ? 'ends' : 'delays'} a mail with ${reply} at ${stage}`, async () => {
      server.script = { [stage]: () => reply };
      expect(await failure()).to.include({ code, isFinal });
      expect(server.accepted).to.deep.equal([]);
    });
  }

  it('delays a mail when it refuses the login, which the operator corrects', async () => {
    server.script = { auth: () => '535 5.7.8 wrong' };
    expect(await failure('127.0.0.1', 'user:wrong@')).to.include({ code: '535', isFinal: false });
  });

  it('delays a mail when the connection breaks', async () => {
    server.script = { data: () => 'drop' };
    expect(await failure()).to.include({ isFinal: false });
  });

  it('delays a mail when it never answers', async () => {
    server.script = { dot: () => 'hang' };
    const smtpUrl = `smtp://127.0.0.1:${String(server.port)}`;
    const error = await rejection(openSystemMailer({ ...BASE, smtpUrl, deadlineMs: 200 }).send(MAIL));
    expect(error).to.include({ code: 'timeout', isFinal: false });
  });

  it('is left at the deadline, also when it keeps answering without an end', async () => {
    const closed = Promise.withResolvers<string>();
    const over = new AbortController();
    const dripping = createPlainServer((socket) => {
      const drip = setInterval(() => socket.write('220-patience\r\n'), 20);
      addAbortSignal(over.signal, socket)
        .on('error', () => undefined)
        .resume();
      socket.on('close', () => {
        clearInterval(drip);
        closed.resolve('closed');
      });
    });
    dripping.listen(0, '127.0.0.1');
    await once(dripping, 'listening');
    const smtpUrl = `smtp://127.0.0.1:${String((dripping.address() as AddressInfo).port)}`;
    try {
      const error = await rejection(openSystemMailer({ ...BASE, smtpUrl, deadlineMs: 200 }).send(MAIL));
      expect(error).to.include({ code: 'timeout', isFinal: false });
      expect(await Promise.race([closed.promise, delay(2_000, 'still open')])).to.equal('closed');
    } finally {
      over.abort();
      dripping.close();
    }
  });

  it('delays a mail while nothing listens', async () => {
    const { port } = server;
    const mailer = openSystemMailer({ ...BASE, smtpUrl: `smtp://127.0.0.1:${String(port)}` });
    await server.stop();
    expect(await rejection(mailer.send(MAIL))).to.include({ code: 'connection_failed', isFinal: false });
    server = await ScriptedSmtp.start();
  });

  it('gets neither credentials nor a mail without STARTTLS, unless it is on this machine or the setting says so', async () => {
    // Reaches this machine, by an address that does not say so.
    const error = await failure('0.0.0.0', 'user:secret@');
    expect(error).to.include({ isFinal: false });
    expect(server.sent('STARTTLS')).to.have.length(1);
    expect([...server.sent('AUTH'), ...server.sent('MAIL')]).to.deep.equal([]);
    const smtpUrl = `smtp://0.0.0.0:${String(server.port)}?tls=off`;
    await openSystemMailer({ ...BASE, smtpUrl }).send(MAIL);
    expect(server.accepted).to.have.length(1);
  });

  it('gets nothing with a certificate that no authority vouches for', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-tls-'));
    const { certificateFile, keyFile } = await selfSigned(folder);
    let heard = '';
    const tls = createServer(
      { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
      (socket) => {
        socket.on('data', (bytes) => {
          heard += String(bytes);
        });
        socket.on('error', () => undefined);
        socket.write('220 mail.example.com ESMTP\r\n');
      },
    );
    tls.on('tlsClientError', () => undefined);
    tls.listen(0, '127.0.0.1');
    await once(tls, 'listening');
    try {
      const smtpUrl = `smtps://user:secret@localhost:${String((tls.address() as AddressInfo).port)}`;
      const error = await rejection(openSystemMailer({ ...BASE, smtpUrl }).send(MAIL));
      expect(error).to.be.instanceOf(MailNotSent);
      expect(error).to.include({ isFinal: false });
      expect(heard).to.equal('');
    } finally {
      tls.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe('without a mail server', () => {
  it(`the link of a mail goes to the log ${verifies('contract:18:system-mail')}`, async () => {
    const lines: unknown[] = [];
    const log = {
      ...silentLog,
      warn: (message: string, fields?: object) => lines.push({ message, ...fields }),
    };
    await openSystemMailer({ ...BASE, log, smtpUrl: null }).send(MAIL);
    expect(lines).to.deep.equal([
      {
        message: 'system mail: not sent, because SYSTEM_SMTP_URL is not set',
        mail_id: MAIL.id,
        kind: 'password_reset',
        recipient_id: 'usr_anna',
        link: MAIL.link,
      },
    ]);
  });
});

describe('the address of the mail server', () => {
  for (const good of [
    'smtp://mail.example.com',
    'smtps://u:p@mail.example.com:465',
    'smtp://mail:25?tls=off',
  ])
    it(`may be ${good}`, () => {
      expect(isSmtpUrl(good)).to.equal(true);
    });
  for (const bad of [
    'mail.example.com',
    'https://mail.example.com',
    'smtp://',
    'smtp://mail?tls=on',
    'smtp://mail/x',
    'smtp://mail?pool=true',
  ])
    it(`may not be ${bad}`, () => {
      expect(isSmtpUrl(bad)).to.equal(false);
    });
});
