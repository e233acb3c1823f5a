import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import { type DemoMail, startDemoMail } from '../../../../infra/demo/demo-mail.ts';
import { ensureDovecot } from '../../../support/servers/ensure-dovecot.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { mailGateway, queryOf } from '../../../support/worlds/mail-gateway.ts';
import { silentLog } from '../../../support/fakes/silent-log.ts';

const TEXTS = ['the first text', 'the second, longer text'];

describe('the mail server of the demo', function () {
  this.timeout(30_000);
  let dataDir: string;
  const path = process.env['PATH'] ?? '';

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-demo-'));
    await chmod(dataDir, 0o755);
  });
  afterEach(async () => {
    process.env['PATH'] = path;
    await rm(dataDir, { recursive: true, force: true });
  });

  const sendsToItself = async ({ imap, smtp }: DemoMail): Promise<void> => {
    const auth = { user: smtp.user, pass: smtp.password };
    const transport = createTransport({ host: smtp.host, port: smtp.port, ignoreTLS: true, auth });
    for (const text of TEXTS)
      await transport.sendMail({ from: smtp.user, to: smtp.user, subject: 'to myself', text });
    transport.close();
    const host = { host: imap.host, port: imap.port, security: 'none' } as const;
    const under = mailGateway(host, imap.user, { password: imap.password });
    await eventually(async () => {
      const { messages } = await under.mail((session) => session.query(queryOf({ textChars: 1_000 })));
      return messages.map(({ text }) => text?.content.trim()).join('|') === TEXTS.toReversed().join('|');
    });
    under.gateway.close();
  };

  it('is Dovecot without LMTP, where it is there', async function () {
    if ((await ensureDovecot()) === null) this.skip();
    const mail = await startDemoMail({ dataDir, log: silentLog });
    try {
      expect(mail.kind).to.equal('dovecot');
      const config = await readFile(join(dataDir, 'demo-mail', 'dovecot', 'dovecot.conf'), 'utf8');
      expect(config).to.not.include('lmtp');
      await sendsToItself(mail);
    } finally {
      await mail.stop();
    }
  });

  it('is the one from npm where Dovecot does not start, which one line says', async () => {
    const program = join(dataDir, 'dovecot');
    await writeFile(program, '#!/bin/sh\nexit 89\n', { mode: 0o755 });
    process.env['PATH'] = `${dataDir}${delimiter}${path}`;
    const mail = await startDemoMail({ dataDir, log: silentLog });
    try {
      expect(mail.kind).to.equal('npm');
      expect(mail.line).to.match(/hoodiecrow from npm.*\(Dovecot did not start; see .*dovecot\.log\)$/);
      await sendsToItself(mail);
    } finally {
      await mail.stop();
    }
    const again = await startDemoMail({ dataDir, log: silentLog });
    expect(again.kind).to.equal('npm');
    await again.stop();
  });
});
