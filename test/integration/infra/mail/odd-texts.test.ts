import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import type { BodySource, FetchedMessage, FetchedText } from '../../../../commands/mail/message.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import {
  INBOX,
  mailGateway,
  type MailGatewayUnderTest,
  queryOf,
} from '../../../support/worlds/mail-gateway.ts';
import { indexUnderTest } from '../../../support/worlds/filled-mirror.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const part = (...lines: string[]): string => ['--m', ...lines].join('\r\n');
const multipart = (type: string, ...parts: string[]): string =>
  [`Content-Type: multipart/${type}; boundary=m`, '', ...parts, '--m--'].join('\r\n');
const PDF = part(
  'Content-Type: application/pdf; name=a.pdf',
  'Content-Transfer-Encoding: base64',
  '',
  'JVBERi0=',
);

const MESSAGES: Readonly<Record<string, string>> = {
  flowed:
    'Content-Type: text/plain; charset=utf-8; format=flowed\r\n\r\n> this is a quoted \r\n> long line\r\nMine goes \r\non here.',
  namedroot: 'Content-Type: text/plain; name="message.txt"\r\n\r\nroot with a name',
  namedhtml:
    'Content-Type: text/html; name="message.html"\r\nContent-Disposition: inline\r\n\r\n<p>named html</p>',
  namedfirst: multipart(
    'mixed',
    part('Content-Type: text/plain; name=a.txt', 'Content-Disposition: inline', '', 'the first text'),
    PDF,
    part('Content-Type: text/plain; name=b.txt', '', 'a second one'),
  ),
  namedpair: multipart(
    'alternative',
    part('Content-Type: text/plain; name=a.txt', '', 'plain words'),
    part('Content-Type: text/html; name=a.html', '', '<p>html words</p>'),
  ),
  realfile: multipart(
    'mixed',
    part('Content-Type: text/plain', '', 'the letter'),
    part('Content-Type: text/plain; name=log.txt', '', 'a log'),
  ),
  blankplain: multipart(
    'alternative',
    part('Content-Type: text/plain', '', ' \u00a0\r\n'),
    part('Content-Type: text/html', '', '<p>Real text</p>'),
  ),
  blankhtml: multipart(
    'alternative',
    part('Content-Type: text/plain', '', 'Real words'),
    part('Content-Type: text/html', '', '<html><body>&nbsp;</body></html>'),
  ),
  allblank: multipart(
    'alternative',
    part('Content-Type: text/plain', '', ' '),
    part('Content-Type: text/html', '', '<p> </p>'),
  ),
  nocharset: 'Content-Type: text/plain\r\n\r\nGr\xfc\xdfe aus K\xf6ln',
  meta: 'Content-Type: text/html\r\n\r\n<meta charset="windows-1251"><p>\xcc\xe8\xf0</p>',
  korean: 'Content-Type: text/plain; charset=iso-2022-kr\r\n\r\n\u001b$)C\u000eGQ19>n\u000f',
  uuencoded:
    'Content-Type: text/plain\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 a.txt\r\n+:&5L;&\\@=V]R;&0\r\n`\r\nend',
  semicolons:
    'Content-Type: multipart/alternative;; boundary="a"\r\n\r\n--a\r\nContent-Type: text/plain\r\n\r\nhello there\r\n--a--',
  noboundary:
    'Content-Type: multipart/mixed\r\n\r\n--a\r\nContent-Type: text/plain\r\n\r\nhello there\r\n--a--',
  crowded: `Content-Type: multipart/mixed;; boundary="m"\r\n\r\n--m\r\n\r\nhello there\r\n${'--m\r\n\r\n\r\n'.repeat(3_000)}--m--`,
  brackets: multipart(
    'mixed',
    ...Array.from({ length: 20 }, () =>
      part('Content-Type: text/html', '', `${'<'.repeat(900)}\r\n`.repeat(11)),
    ),
  ),
  nothing: multipart('mixed', part('Content-Type: text/plain', '', '')),
  report: multipart(
    'report; report-type=delivery-status',
    part('Content-Type: message/delivery-status', '', 'Reporting-MTA: dns; mx', '', 'Action: failed'),
    part('Content-Type: text/rfc822-headers', '', 'Subject: lost'),
  ),
  digest: multipart(
    'digest',
    part('', 'Subject: one', '', 'text one'),
    part(
      '',
      'Subject: two',
      'Content-Type: multipart/mixed; boundary=i',
      '',
      '--i',
      'Content-Type: text/plain',
      '',
      'text two',
      '--i--',
    ),
  ),
  carried: 'Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nthe inner text',
};

const HEADS = [
  'From: b@example.org\r\nList-Id: <l.example.org>\r\nMail-Followup-To: The list <l@example.org>\r\nSubject: followed',
  'From: b@example.org\r\nMail-Followup-To: x@example.org\r\nSubject: misled',
  'From: Somebody <somebody>\r\nTo: anna@example.com, nobody\r\nDate: Mon, 05 Jan 2026 10.00.00 +0000\r\nSubject: dotted',
  'From: J\xfcrgen <j@example.org>\r\nTo: Anna <anna@example.com>\r\nSubject: Gr\xfc\xdfe aus K\xf6ln',
  'From: Bob <b@example.org>\r\nTo: anna@example.com\r\nSubject: =?iso-2022-kr?B?GyQpQw5HUTE5Pm4P?= subject',
];

describe('unusual texts of messages', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
    const all = Object.entries(MESSAGES).map(([name, rest]) => ({
      raw: Buffer.from(
        `From: b@example.org\r\nTo: anna@example.com\r\nSubject: ${name}\r\nMIME-Version: 1.0\r\n${rest}\r\n`,
        'latin1',
      ),
    }));
    const heads = HEADS.map((head) => ({ raw: Buffer.from(`${head}\r\n\r\nText\r\n`, 'latin1') }));
    await appendMessages(server.imap(), 'anna', [...all, ...heads]);
    under = mailGateway(server.imap(), 'anna');
  });
  after(async () => {
    under.gateway.close();
    await server.dispose();
  });

  async function read(name: string, bodySource: BodySource = 'plain'): Promise<FetchedMessage> {
    const query = queryOf({ filter: { subject_contains: name }, textChars: 10_000, bodySource });
    const [found] = (await under.mail((session) => session.query(query))).messages;
    if (!found) throw new Error(`There is no message ${name}.`);
    return found;
  }
  const textOf = async (name: string, source: BodySource = 'plain'): Promise<FetchedText> => {
    const { text } = await read(name, source);
    if (!text) throw new Error(`${name} has no text.`);
    return { ...text, content: text.content.trim() };
  };
  const content = async (name: string, source: BodySource = 'plain'): Promise<string> =>
    (await textOf(name, source)).content;

  it(`have flowed lines joined without their quote marks ${verifies('contract:4:flowed-text')}`, async () => {
    expect(await content('flowed')).to.equal('> this is a quoted long line\nMine goes on here.');
  });

  it(`are read when they have a file name ${verifies('contract:4:text-choice')}`, async () => {
    expect(await content('namedroot')).to.equal('root with a name');
    expect(await content('namedhtml')).to.equal('named html');
    expect(await content('namedfirst')).to.equal('the first text');
    expect((await read('namedfirst')).attachments.map(({ filename }) => filename)).to.deep.equal([
      'a.pdf',
      'b.txt',
    ]);
    expect(await content('namedpair')).to.equal('plain words');
    expect(await content('namedpair', 'html')).to.include('html words');
    expect((await read('namedroot')).hasAttachments).to.equal(false);
    expect(await content('realfile')).to.equal('the letter');
    expect((await read('realfile')).attachments.map(({ filename }) => filename)).to.deep.equal(['log.txt']);
  });

  it(`skip a blank alternative, except when there is no other ${verifies('contract:4:text-choice')}`, async () => {
    expect(await content('blankplain')).to.equal('Real text');
    expect(await textOf('blankhtml', 'html'))
      .to.include({ content: 'Real words' })
      .and.not.have.property('isHtml');
    expect(await content('allblank')).to.equal('');
  });

  it(`are shown when they have no charset ${verifies('contract:4:undeclared-charset')}`, async () => {
    expect(await content('nocharset')).to.equal('Grüße aus Köln');
    expect(await content('meta')).to.equal('Мир');
    expect(await content('korean')).to.equal('한국어');
  });

  it('delay no other caller while a blank HTML part is detected', async () => {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await read('brackets');
    delay.disable();
    expect(delay.max / 1e6).to.be.below(1_000);
  });

  it('are decoded from uuencode, in the text and as a part', async () => {
    expect(await content('uuencoded')).to.equal('hello world');
    const { ref } = await read('uuencoded');
    const described = await under.mail((session) => session.describePart({ ...ref, folder: INBOX }, 1));
    expect(described?.encoding).to.equal('uuencode');
  });

  it(`are reported when the server cannot separate the parts ${verifies('contract:4:text-told')}`, async () => {
    for (const name of ['semicolons', 'noboundary', 'crowded']) {
      const text = await textOf(name);
      expect(text.notes, name).to.deep.equal(['not_parsed']);
      expect(text.content, name).to.include('hello there');
    }
    expect(await textOf('nothing'))
      .to.include({ content: '' })
      .and.not.have.property('notes');
  });

  it(`include reports and attached messages when there is nothing else ${verifies('contract:4:text-told')}`, async () => {
    const report = await textOf('report');
    expect(report.notes).to.deep.equal(['attached_text']);
    expect(report.content).to.include('Action: failed').and.include('Subject: lost');
    expect(await content('digest')).to.match(/^text one\s+text two$/);
    expect(await content('carried')).to.equal('the inner text');
    expect((await read('carried')).attachments).to.have.length(1);
  });

  it('have a date with dots, and no address that the server invented', async () => {
    const { sentAt, from, to } = await read('dotted');
    expect(sentAt?.toISOString()).to.equal('2026-01-05T10:00:00.000Z');
    expect([from, to]).to.deep.equal([[], [{ name: null, email: 'anna@example.com' }]]);
  });

  it('keep the reply address of lists', async () => {
    expect((await read('followed')).followUpTo).to.deep.equal([{ name: 'The list', email: 'l@example.org' }]);
    expect(await read('misled')).not.to.have.property('followUpTo');
  });

  it(`keep raw bytes in headers, in the index too ${verifies('contract:4:undeclared-charset')}`, async () => {
    const { subject, from, to } = await read('aus köln');
    expect(subject).to.equal('Grüße aus Köln');
    expect(from).to.deep.equal([{ name: 'Jürgen', email: 'j@example.org' }]);
    expect(to).to.deep.equal([{ name: 'Anna', email: 'anna@example.com' }]);
    expect((await read('한국어 subject')).from).to.deep.equal([{ name: 'Bob', email: 'b@example.org' }]);
    await using index = await indexUnderTest(server.imap(), 'anna');
    await index.fill([INBOX]);
    for (const filter of [{ subject_contains: 'grüße aus' }, { from_contains: 'jürgen' }]) {
      const { messages } = (await index.index.query(index.mailbox, queryOf({ filter }))) ?? { messages: [] };
      expect(messages.map((each) => each.subject)).to.deep.equal(['Grüße aus Köln']);
    }
  });

  it(`name the attachment sizes that are exact ${verifies('contract:4:attachment-size')}`, async () => {
    const sizes = (await read('namedfirst')).attachments.map(({ size, sizeExact }) => [size, sizeExact]);
    expect(sizes).to.deep.equal([
      [6, false],
      [12, true],
    ]);
  });
});
