import { expect } from 'chai';
import type { FetchedMessage } from '../../../../commands/mail/message.ts';
import { requireTestDovecot, type TestDovecot } from '../../../support/servers/dovecot.ts';
import { appendMessages } from '../../../support/servers/mail-append.ts';
import { mailGateway, type MailGatewayUnderTest, queryOf } from '../../../support/worlds/mail-gateway.ts';

const head = (subject: string, ...more: string[]): string[] => [
  'From: Bob <bob@example.org>',
  'To: anna@example.com',
  `Subject: ${subject}`,
  'MIME-Version: 1.0',
  ...more,
];
const message = (subject: string, lines: readonly string[]): Buffer =>
  Buffer.from([...head(subject), ...lines, ''].join('\r\n'), 'latin1');

const LONG = 'x'.repeat(60).concat('\r\n').repeat(9_000);

const MESSAGES: Readonly<Record<string, Buffer>> = {
  latin1: message('latin1', ['Content-Type: text/plain; charset=iso-8859-1', '', 'Gr\u00fc\u00dfe']),
  quoted: message('quoted', [
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'caf=C3=A9 =E2=82=AC and a soft=\r\n break',
  ]),
  japanese: message('japanese', [
    'Content-Type: text/plain; charset=ISO-2022-JP',
    '',
    '\u001b$B$3$s$K$A$O\u001b(B',
  ]),
  alternative: message('alternative', [
    'Content-Type: multipart/alternative; boundary=a',
    '',
    '--a',
    'Content-Type: text/html',
    '',
    '<p>as HTML</p>',
    '--a',
    'Content-Type: text/plain',
    '',
    'as text',
    '--a--',
  ]),
  html: message('html', [
    'Content-Type: text/html; charset=utf-8',
    '',
    '<html><head><style>p{}</style><script>alert(1)</script></head><body><h1>Hello</h1><p>one &amp; two&nbsp;&euro;</p><ul><li>a</li></ul></body></html>',
  ]),
  emptyPlain: message('emptyPlain', [
    'Content-Type: multipart/alternative; boundary=a',
    '',
    '--a',
    'Content-Type: text/plain',
    '',
    '--a',
    'Content-Type: text/html',
    '',
    '<b>only here</b>',
    '--a--',
  ]),
  attached: message('attached', [
    'Content-Type: multipart/mixed; boundary=m',
    '',
    '--m',
    'Content-Type: text/plain',
    'Content-Disposition: attachment; filename="=?utf-8?Q?not=20the=20body.txt?="',
    '',
    'not the body',
    '--m',
    'Content-Type: text/plain',
    '',
    'the body',
    '--m',
    'Content-Type: message/rfc822',
    '',
    'Subject: inner',
    'Content-Type: text/plain',
    '',
    'inner text',
    '--m',
    'Content-Type: image/png',
    'Content-ID: <logo@example.com>',
    'Content-Disposition: inline; filename=logo.png',
    '',
    'png',
    '--m--',
  ]),
  imageOnly: message('imageOnly', [
    'Content-Type: image/png',
    'Content-Transfer-Encoding: base64',
    '',
    'aGVsbG8=',
  ]),
  long: message('long', ['Content-Type: text/plain', '', LONG]),
  broken: message('broken', [
    'Content-Type: text/plain; charset="no-such\\"; x-injected: yes"',
    'Content-Transfer-Encoding: base64',
    '',
    '!!!! not base64',
  ]),
};

describe('the text of messages', () => {
  let server: TestDovecot;
  let under: MailGatewayUnderTest;

  before(async function () {
    server = await requireTestDovecot(this);
    await appendMessages(
      server.imap(),
      'anna',
      Object.values(MESSAGES).map((raw) => ({ raw })),
    );
    under = mailGateway(server.imap(), 'anna');
  });
  after(async () => {
    under.gateway.close();
    await server.dispose();
  });

  const read = async (subject: string, textChars = 32_768): Promise<FetchedMessage> => {
    const query = queryOf({ filter: { subject_contains: subject }, textChars });
    const [found] = (await under.mail((session) => session.query(query))).messages;
    if (!found) throw new Error(`There is no message ${subject}.`);
    return found;
  };
  const textOf = async (subject: string): Promise<string> =>
    ((await read(subject)).text?.content ?? '').trim();

  it('decodes charset and transfer encoding', async () => {
    expect(await textOf('latin1')).to.equal('Grüße');
    expect(await textOf('quoted')).to.equal('café € and a soft break');
    expect(await textOf('japanese')).to.equal('こんにちは');
  });

  it('is the plain text, or the text of the HTML', async () => {
    expect(await textOf('alternative')).to.equal('as text');
    expect(await textOf('emptyPlain')).to.equal('only here');
    const html = await textOf('html');
    expect(html.toUpperCase()).to.include('HELLO');
    expect(html).to.include('one & two').and.include('€');
    expect(html).to.not.match(/alert|p\{|</);
  });

  it('omits attachments and lists them', async () => {
    const { text, attachments, hasAttachments } = await read('attached');
    expect(text?.content.trim()).to.equal('the body');
    expect(
      attachments.map(({ filename, contentType, inline, contentId, part }) => [
        filename,
        contentType,
        inline,
        contentId,
        part,
      ]),
    ).to.deep.equal([
      ['not the body.txt', 'text/plain', false, null, 1],
      [null, 'message/rfc822', false, null, 3],
      ['logo.png', 'image/png', true, 'logo@example.com', 4],
    ]);
    expect(hasAttachments).to.equal(true);
  });

  it('is empty when there is none, and readable when parts are broken', async () => {
    expect((await read('imageOnly')).text).to.deep.equal({ content: '', truncated: false, totalChars: 0 });
    expect((await read('broken')).text?.content).to.be.a('string');
  });

  it('is cut at the requested characters, with the total', async () => {
    const total = 61 * 9_000;
    const cut = await read('long', 1_000);
    expect(cut.text?.content).to.have.length(1_000);
    expect(cut.text?.truncated).to.equal(true);
    expect(cut.text?.totalChars).to.be.within(total - 100, total + 100);
    const page = await under.mail((session) => session.query(queryOf({ textChars: 10 })));
    expect(page.messages).to.have.length(Object.keys(MESSAGES).length);
    expect(page.messages.every(({ text }) => text !== undefined && text.content.length <= 10)).to.equal(true);
  });
});
