import { expect } from 'chai';
import fc from 'fast-check';
import {
  type DeliveryReport,
  mayBeReport,
  messageIdOfReport,
  readDeliveryReport,
  REPORT_BYTES,
} from '../../../../commands/mail/delivery-report.ts';
import { MOST_RECIPIENTS } from '../../../../commands/mail/reported-recipient.ts';
import { DELIVERY_REPORTS } from '../../../support/samples/delivery-reports.ts';
import { NO_REPORTS } from '../../../support/samples/no-delivery-reports.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ID = 'the.one@example.com';
const read = (raw: string): DeliveryReport | null => readDeliveryReport(Buffer.from(raw));

/** `<action> <status> <address>` of each recipient. */
const OUTCOMES = {
  postfix: ['failed 5.1.1 bob@example.net'],
  postfixDelayed: ['delayed 4.4.1 bob@example.net'],
  postfixOld: ['failed 5.0.0 bob@example.net'],
  exim: ['failed 5.7.1 bob@example.net', 'failed null carol@example.net'],
  eximDelayed: ['delayed 4.0.0 bob@example.net'],
  qmail: ['failed 5.1.1 bob@example.net'],
  m365: ['failed 5.4.310 bob@example.net'],
  exchangeOld: ['failed 5.1.1 bob@example.net'],
  gmail: ['failed 5.1.1 bob@example.net'],
  gmailOld: ['failed 5.2.2 bob@example.net'],
  sendmail: ['failed 5.1.1 bob@example.net'],
  pigeonholeReject: ['failed null bob@example.net'],
  delivered: ['delivered 2.1.5 bob@example.net'],
} as const satisfies Record<keyof typeof DELIVERY_REPORTS, readonly string[]>;

describe('a delivery report', () => {
  for (const [form, outcomes] of Object.entries(OUTCOMES)) {
    it(`is read in the form ${form} ${verifies('contract:11:bounced')}`, () => {
      const found = read(DELIVERY_REPORTS[form as keyof typeof DELIVERY_REPORTS](ID));
      expect(
        found?.recipients.map(({ action, status, address }) => `${action} ${String(status)} ${address}`),
      ).to.deep.equal(outcomes);
      expect(found?.messageIds[0]).to.equal(ID);
    });
  }

  for (const [form, sample] of Object.entries(NO_REPORTS)) {
    it(`is not ${form}`, () => {
      expect(read(sample(ID))).to.equal(null);
    });
  }

  it('names the address that was written to, and what the other server said', () => {
    const [recipient] = read(DELIVERY_REPORTS.postfix(ID))?.recipients ?? [];
    expect(recipient).to.deep.equal({
      address: 'bob@example.net',
      action: 'failed',
      status: '5.1.1',
      diagnostic: '550 5.1.1 <robert@example.net>: No such user',
      remoteMta: 'mail.example.net',
    });
    expect(read(DELIVERY_REPORTS.pigeonholeReject(ID))?.recipients[0]?.diagnostic).to.include('No more mail');
    expect(read(DELIVERY_REPORTS.exim(ID))?.recipients[1]?.diagnostic).to.equal('Unrouteable address');
  });

  it('says nothing by the message it returns, but for which one that is', () => {
    expect(JSON.stringify(read(DELIVERY_REPORTS.qmail(ID)))).not.to.include('mallory');
  });

  it('is not about earlier messages of the conversation', () => {
    expect(read(DELIVERY_REPORTS.eximDelayed(ID))?.messageIds).to.deep.equal([ID]);
  });

  it('has a Message-ID of its own, or none', () => {
    const idOf = (raw: string): string | null => messageIdOfReport(Buffer.from(raw));
    expect(idOf(DELIVERY_REPORTS.gmail(ID))).to.equal('gmail@mx.google.com');
    expect(idOf(DELIVERY_REPORTS.qmail(ID))).to.equal(null);
  });

  it('is read with line feeds alone, and when the message it returns is incomplete', () => {
    const raw = DELIVERY_REPORTS.postfixDelayed(ID);
    expect(read(raw.replaceAll('\r\n', '\n'))?.recipients.length).to.equal(1);
    const cut = raw.slice(0, raw.indexOf('Date: Mon, 02'));
    expect(read(cut)?.messageIds).to.deep.equal([ID]);
  });

  it('has a bounded number of recipients, of bounded texts', () => {
    const group = (n: number): string =>
      `\r\nFinal-Recipient: rfc822; u${String(n)}@example.net\r\nAction: failed\r\nDiagnostic-Code: smtp; ${'x'.repeat(1_500)}\r\n`;
    const raw = DELIVERY_REPORTS.postfix(ID).replace(
      /Final-Recipient: rfc822; robert/,
      `${Array.from({ length: 500 }, (_, n) => group(n).trimStart()).join('\r\n')}\r\n$&`,
    );
    const whole = `${DELIVERY_REPORTS.gmail(ID).split('Final-Recipient')[0] ?? ''}${Array.from({ length: 150 }, (_, n) => group(n)).join('')}`;
    expect(read(raw)?.recipients.length ?? 0).to.be.at.most(MOST_RECIPIENTS);
    const recipients = read(whole)?.recipients ?? [];
    expect(recipients.length).to.equal(MOST_RECIPIENTS);
    expect(recipients.every(({ diagnostic }) => (diagnostic ?? '').length <= 1_000)).to.equal(true);
  });

  it('fails on no text at all', () => {
    const samples = Object.values(DELIVERY_REPORTS).map((sample) => sample(ID));
    const mangled = fc
      .tuple(fc.constantFrom(...samples), fc.nat(), fc.nat(40), fc.uint8Array({ maxLength: 40 }))
      .map(([sample, at, length, bytes]) => {
        const raw = Buffer.from(sample);
        const start = at % raw.length;
        return Buffer.concat([raw.subarray(0, start), bytes, raw.subarray(start + length)]);
      });
    fc.assert(
      fc.property(fc.oneof(mangled, fc.uint8Array({ maxLength: 2_000 })), (bytes) => {
        for (const { address, diagnostic } of readDeliveryReport(bytes)?.recipients ?? [])
          expect(`${address}${diagnostic ?? ''}`).not.to.match(/[\u0000-\u001f]/);
      }),
      { numRuns: 500 },
    );
  });

  it('takes no long time, however it was made', () => {
    const head = 'From: MAILER-DAEMON@x.example\r\nSubject: failure notice\r\n';
    const fill = (text: string): string => text.repeat(Math.ceil(REPORT_BYTES / text.length));
    const hostile = [
      `${head}\r\n${fill('<')}`,
      `${head}\r\n${fill('a@')}`,
      `${head}\r\n${fill('a@b\r\n')}permanent`,
      `${head}\r\n${fill('message ')}`,
      `${head}\r\n${fill('. ')}`,
      `${head}\r\n${fill(`${'-'.repeat(1_990)}\r\n`)}`,
      `${head}\r\n${fill('message-id: <')}`,
      `${head}\r\n${fill('5.1.')}`,
      `${head}Content-Type: multipart/report; boundary=a\r\n\r\n${fill('--a\r\n')}`,
      `${head}Content-Type: multipart/report; boundary=a\r\n\r\n${fill('--a')}`,
      `${head}${fill('Content-Type: multipart/report; boundary="a\r\n\t')}`,
      `${head}X-Failed-Recipients: ${fill('a,')}`,
      fill('\r\n'),
      fill(' \r\n'),
      fill('a:\r\n'),
    ];
    for (const raw of hostile) {
      const begin = process.cpuUsage();
      read(raw);
      expect(process.cpuUsage(begin).user / 1_000, raw.slice(0, 120)).to.be.below(3_000);
    }
  });

  it('is suspected by its envelope', () => {
    const envelope = { from: [], subject: null, autoSubmitted: null, attachments: [] };
    const from = (email: string) => ({ ...envelope, from: [{ name: null, email }] });
    expect(mayBeReport(envelope)).to.equal(false);
    expect(mayBeReport(from('bob@example.net'))).to.equal(false);
    expect(mayBeReport(from('Mailer-Daemon@mx.example.com'))).to.equal(true);
    expect(mayBeReport(from('postmaster@outlook.com'))).to.equal(true);
    const vacation = { ...from('bob@example.net'), autoSubmitted: 'auto-replied', subject: 'Away' };
    expect(mayBeReport(vacation)).to.equal(false);
    expect(mayBeReport({ ...vacation, subject: 'Mail delivery failed' })).to.equal(true);
    expect(mayBeReport({ ...vacation, autoSubmitted: 'no', subject: 'Undeliverable' })).to.equal(false);
    const part = {
      part: 2,
      filename: null,
      contentType: 'message/delivery-status',
      size: 1,
      inline: false,
      contentId: null,
    };
    expect(mayBeReport({ ...envelope, attachments: [part] })).to.equal(true);
  });
});
