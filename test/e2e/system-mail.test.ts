import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { emailKey, emailReservation, reserveEmail } from '../../commands/accounts/account.ts';
import { requestMail } from '../../commands/system-mail/system-mail.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

const OWNER = 'owner@example.com';

describe('mails of a whole gateway', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let smtp: ScriptedSmtp;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    smtp = await ScriptedSmtp.start();
    const env = {
      SYSTEM_SMTP_URL: `smtp://127.0.0.1:${String(smtp.port)}`,
      SYSTEM_MAIL_FROM: 'gateway@example.com',
    };
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, { env }));
  });
  after(async () => {
    await gateway.stop();
    await smtp.stop();
    await dovecot.dispose();
  });

  const nextMail = async (count: number) =>
    await eventually(async () => {
      const raw = smtp.accepted[count]?.raw;
      if (raw === undefined) throw new Error('no mail has arrived');
      return await simpleParser(raw);
    });

  it(`set a password by a link that was mailed, and forget the address ${verifies('contract:18:system-mail')}`, async () => {
    const { ports } = gateway.gateway;
    const { userId, orgId } = gateway.tokens;
    await decideAndAppend(ports, systemAuthor(ports, null), emailReservation, {
      id: emailKey(ports, OWNER),
      decide: (state) => (state.ownerId === null ? reserveEmail(state, userId) : []),
    });
    const id = ports.ids.newUuid();
    const count = smtp.accepted.length;
    const to = await ports.personal.seal(id, OWNER);
    await requestMail(ports, systemAuthor(ports, orgId), id, { kind: 'password_reset', user_id: null, to });
    const mail = await nextMail(count);
    expect(mail.from?.value[0]?.address).to.equal('gateway@example.com');
    const [, token = ''] = /\/console#reset=(\S+)/.exec(mail.text ?? '') ?? [];
    const { body } = await gateway.rest('POST', '/auth/password/reset/link', { token }, { token: null });
    expect(body.user.email).to.equal(OWNER);
    await eventually(async () => {
      if ((await ports.personal.open(to)) !== null) throw new Error('the address can still be read');
    });
  });

  it(`tell an approver, who ends these mails by the link in them ${verifies('contract:9:approvers-told', 'contract:9:unsubscribe')}`, async () => {
    await appendMessages(dovecot.imap(), 'anna', [
      {
        raw: 'From: b@example.org\r\nSubject: secret words\r\nMessage-ID: <one@example.org>\r\n\r\nHello.\r\n',
      },
    ]);
    const id = await eventually(async () => {
      const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages?folder=inbox`);
      if (body.items === undefined) throw new Error(JSON.stringify(body));
      const found = (body.items as Json[]).find(({ subject }) => subject === 'secret words');
      if (found === undefined) throw new Error('it has not arrived');
      return String(found.id);
    });
    const count = smtp.accepted.length;
    const operation = {
      type: 'message_actions',
      select: { message_ids: [id] },
      actions: [{ type: 'archive' }],
    };
    const asked = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      { operation, authorization: { mode: 'request_approval', reason: 'Because.' } },
      { key: 'ask' },
    );
    expect(asked.body.status).to.equal('awaiting_approval');
    const { text = '', to } = await nextMail(count);
    expect(to).to.deep.include({ text: OWNER });
    expect(text).to.contain('asks to archive 1 message');
    expect(text).to.contain(`${gateway.baseUrl}/console#/approvals/${String(asked.body.approval.id)}`);
    expect(text).not.to.match(/secret words|example\.org/);
    const [link = ''] = new RegExp(`${gateway.baseUrl}/unsubscribe/\\S+`).exec(text) ?? [];
    expect((await fetch(link)).status).to.equal(200);
    expect((await fetch(link, { method: 'POST', body: 'List-Unsubscribe=One-Click' })).status).to.equal(200);
    const { people } = gateway.gateway.ports.directory.state;
    expect(people.get(gateway.tokens.userId)?.notifications).to.equal('off');
  });
});
