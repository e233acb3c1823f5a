import { expect } from 'chai';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { FolderListing, HostSettings } from '../../../../commands/ports/mail-port.ts';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { type DemoImapServer, startDemoImapServer } from '../../../../infra/demo/demo-imap-server.ts';
import { startDemoSmtpServer } from '../../../../infra/demo/demo-smtp-server.ts';
import { createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { SmtpGateway } from '../../../../infra/smtp/smtp-gateway.ts';
import { seedMailbox } from '../../../../infra/demo/seed-mailbox.ts';
import { withClient } from '../../../support/servers/mail-append.ts';
import { INBOX, mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const USER = 'anna@example.com';
const PASSWORD = 'demo';

describe('the demo mail server package', () => {
  let folder: string;
  let server: DemoImapServer;
  let imap: HostSettings;

  const start = async (from: string): Promise<void> => {
    server = await startDemoImapServer({
      folder: from,
      port: 0,
      user: USER,
      password: PASSWORD,
      log: silentLog,
    });
    imap = { host: '127.0.0.1', port: server.port, security: 'none' };
  };
  const gateway = () => mailGateway(imap, USER, { password: PASSWORD });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-demo-'));
    await start(folder);
    const access = { host: imap.host, port: imap.port, user: USER, password: PASSWORD };
    expect(await seedMailbox(access)).to.be.at.least(300);
    expect(await seedMailbox(access)).to.equal(0);
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** What a client can tell of a mailbox. */
  const snapshot = async (): Promise<unknown> => {
    const under = gateway();
    const seen = await under.mail(async (session) => {
      const listed: readonly FolderListing[] = await session.listFolders();
      const folders = listed.map(({ path }, at) => ({ number: at + 1, path }));
      const { messages } = await session.query(queryOf({ folders, limit: 1_000, depth: 'envelope' }));
      return {
        folders: listed.map(({ path, role, uidValidity, total }) => ({ path, role, uidValidity, total })),
        messages: messages.map(({ ref, subject, keywords, seen: isSeen }: FetchedMessage) => [
          ref.folder.path,
          ref.uid,
          subject,
          keywords,
          isSeen,
        ]),
      };
    });
    under.gateway.close();
    return seen;
  };

  it('keeps UIDVALIDITY, UIDs, flags and folders when it restarts', async () => {
    const under = gateway();
    await under.mail(async (session) => {
      const { uidValidity } = await session.folderStatus(INBOX);
      await session.setFlags(INBOX, uidValidity, [1], { add: ['$Kept'], remove: [] });
      await session.moveMessages(INBOX, uidValidity, [2], { number: 2, path: 'Archive' });
      await session.createFolder('Projekte/Größe');
    });
    under.gateway.close();
    const before = await snapshot();
    await server.stop();
    await start(folder);
    expect(await snapshot()).to.deep.equal(before);
  });

  it('assigns no UID twice when it crashed', async () => {
    const append = (subject: string): Promise<number> =>
      withClient(
        imap,
        USER,
        async (client) => {
          const done = await client.append('INBOX', `Subject: ${subject}\r\n\r\nx`);
          return done === false ? 0 : (done.uid ?? 0);
        },
        PASSWORD,
      );
    await append('saved');
    const lost = await append('lost');
    // What is on disk at this moment is what a killed process leaves behind.
    const left = `${folder}-left`;
    await mkdir(left);
    await cp(join(folder, 'index.json'), join(left, 'index.json'));
    await cp(join(folder, 'messages'), join(left, 'messages'), { recursive: true });
    const living = server;
    await start(left);
    expect(await append('after')).to.be.above(lost);
    await server.stop();
    await rm(left, { recursive: true });
    server = living;
    imap = { ...imap, port: living.port };
  });

  it('refuses a wrong password with a recognisable answer', async () => {
    const under = mailGateway(imap, USER, { password: 'wrong' });
    const error = await rejection(under.mail((session) => session.listFolders()));
    expect(error).to.have.property('code', 'mailbox_auth_failed');
    under.gateway.close();
  });

  it('answers queries that it does not support', async () => {
    const under = gateway();
    const filter = {
      any: [
        { seen: false, flagged: true },
        { subject_contains: 'buro', seen: true },
      ],
    };
    const { count } = await under.mail((session) => session.query(queryOf({ filter, countOnly: true })));
    expect(count).to.be.above(0);
    under.gateway.close();
  });

  it('delivers the mail its SMTP server accepts, and relays none', async () => {
    const delivered: Buffer[] = [];
    const smtp = await startDemoSmtpServer({
      port: 0,
      user: USER,
      password: PASSWORD,
      deliver: (raw) => {
        delivered.push(raw);
        server.deliver(raw);
      },
    });
    const under = gateway();
    const settings: HostSettings = { host: '127.0.0.1', port: smtp.port, security: 'none' };
    const submission = new SmtpGateway({
      loadSettings: () => Promise.reject(new Error('nothing is sent')),
      login: { guard: createEgressGuard(['127.0.0.0/8:*']), extraCertificates: [], connectTimeoutMs: 2_000 },
      atOnce: 1,
    });
    const right = await submission.testLogin(settings, {
      kind: 'password',
      username: USER,
      password: PASSWORD,
    });
    expect(right).to.include({ ok: true, stage: 'ready' });
    const wrong = await submission.testLogin(settings, {
      kind: 'password',
      username: USER,
      password: 'wrong',
    });
    expect(wrong).to.include({ ok: false, stage: 'login' });
    const transport = createTransport({ ...settings, ignoreTLS: true, auth: { user: USER, pass: PASSWORD } });
    await transport.sendMail({ from: USER, to: USER, subject: 'to myself', text: 'hello' });
    await transport.sendMail({ from: USER, to: 'bob@example.org', subject: 'to Bob', text: 'hello' });
    transport.close();
    expect(delivered).to.have.length(1);
    const [newest] = (await under.mail((session) => session.query(queryOf({ limit: 1 })))).messages;
    expect(newest?.subject).to.equal('to myself');
    under.gateway.close();
    await smtp.stop();
  });

  it('returns the text of each message in a list, however long the previous one is', async () => {
    const subjects = ['long', 'short', 'middle'];
    const texts = [120, 5, 60].map((words, at) => `${subjects[at] ?? ''} ${'word '.repeat(words)}end`);
    for (const [at, text] of texts.entries())
      server.deliver(Buffer.from(`From: a@example.com\r\nSubject: ${subjects[at] ?? ''}\r\n\r\n${text}\r\n`));
    const under = gateway();
    for (const textChars of [40, 10_000]) {
      const { messages } = await under.mail((session) => session.query(queryOf({ limit: 3, textChars })));
      const read = messages.map(({ text }) => text?.content.trim()).toReversed();
      expect(read).to.deep.equal(texts.map((text) => text.slice(0, textChars).trim()));
    }
    under.gateway.close();
  });

  it('refuses a message with a field too long to parse in time, attached or not, and answers other clients meanwhile', async () => {
    const many = (count: number): string =>
      Array.from({ length: count }, (_, at) => `"Person ${String(at)}" <p${String(at)}@example.org>`).join(
        ',\r\n ',
      );
    const huge = `From: a@example.com\r\nCc: ${many(40_000)}\r\nSubject: huge\r\n\r\nhello\r\n`;
    const within = `From: a@example.com\r\nContent-Type: message/rfc822\r\n\r\n${huge}`;
    const began = performance.now();
    for (const raw of [huge, within]) {
      expect(() => {
        server.deliver(Buffer.from(raw));
      }).to.throw('5.3.4');
      const refused = await rejection(
        withClient(imap, USER, (client) => client.append('INBOX', raw), PASSWORD),
      );
      expect(refused).to.have.property('responseStatus', 'NO');
    }
    // Many, and not too many: their list takes no longer than it is worth.
    server.deliver(
      Buffer.from(`From: a@example.com\r\nCc: ${many(1_000)}\r\nSubject: many\r\n\r\nhello\r\n`),
    );
    const under = gateway();
    const { messages } = await under.mail((session) => session.query(queryOf({ limit: 1 })));
    expect([messages[0]?.subject, messages[0]?.cc.length]).to.deep.equal(['many', 1_000]);
    under.gateway.close();
    expect(performance.now() - began).to.be.below(20_000);
  });
});
