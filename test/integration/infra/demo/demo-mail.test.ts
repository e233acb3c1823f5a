import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import { type DemoMail, startDemoMail } from '../../../../infra/demo/demo-mail.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const TEXTS = ['the first text', 'the second, longer text'];

describe('the mail server of the demo', function () {
  this.timeout(90_000);
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-demo-'));
  });
  afterEach(async () => {
    await rm(dataDir, { recursive: true, force: true });
  });

  const sendToItself = async ({ smtp }: DemoMail): Promise<void> => {
    const auth = { user: smtp.user, pass: smtp.password };
    const transport = createTransport({ host: smtp.host, port: smtp.port, ignoreTLS: true, auth });
    for (const text of TEXTS)
      await transport.sendMail({ from: smtp.user, to: smtp.user, subject: 'to myself', text });
    transport.close();
  };

  const holdsTexts = async ({ imap }: DemoMail): Promise<void> => {
    const host = { host: imap.host, port: imap.port, security: 'none' } as const;
    const under = mailGateway(host, imap.user, { password: imap.password });
    await eventually(async () => {
      const { messages } = await under.mail((session) => session.query(queryOf({ textChars: 1_000 })));
      return messages.map(({ text }) => text?.content.trim()).join('|') === TEXTS.toReversed().join('|');
    });
    under.gateway.close();
  };

  it('delivers mail to its account', async () => {
    const mail = await startDemoMail({ dataDir, log: silentLog });
    try {
      await sendToItself(mail);
      await holdsTexts(mail);
    } finally {
      await mail.stop();
    }
  });

  it('keeps account, ports and mail when it restarts', async () => {
    const mail = await startDemoMail({ dataDir, log: silentLog });
    await sendToItself(mail);
    await mail.stop();
    const again = await startDemoMail({ dataDir, log: silentLog });
    try {
      expect([again.imap, again.smtp]).to.deep.equal([mail.imap, mail.smtp]);
      await holdsTexts(again);
    } finally {
      await again.stop();
    }
  });
});
