import { expect } from 'chai';
import { convert } from 'html-to-text';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import {
  approvalLink,
  linkTo,
  mailText,
  type MailText,
  plainName,
  tokenLink,
} from '../../../../infra/system-mail/mail-parts.ts';
import { renderMail } from '../../../../infra/system-mail/render-mail.ts';
import * as templates from '../../../../infra/system-mail/templates.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const BASE = 'https://gateway.example/below';
const AT = '2026-03-01T12:00:00.000Z';
const LINK = tokenLink(BASE, 'reset', 'abcd1234"><b>');
const CONSOLE = linkTo(BASE, '/console');

/** Names as an attacker would choose them. */
const HOSTILE = [
  'evil.example',
  'https://evil.example/login?x=1',
  'Click here: http://evil.example',
  'bob@evil.example',
  '//evil.example',
  'evil。example',
  'evil．example',
  '<a href="https://evil.example">Sign in</a>',
  '<img src=https://evil.example/pixel.png>',
  '</p></div><script>alert(1)</script>',
  '" onmouseover="alert(1)',
  'Acme\r\nBcc: victim@evil.example\r\n\r\nYour account is locked',
  'Acme\u202Egro.live\u202C',
  'ev\u200bil\u2060.exa\u00admple',
  'a\u0000b\u0007c\u2028d',
  'Z\u0351\u0352\u0353\u0354\u0355\u0356\u0357algo',
  `${'very '.repeat(400)}long`,
  '\ud800',
  '&lt;b&gt; &amp; Co',
];

const every = (name: string): Readonly<Record<string, MailText>> => {
  const organisation = plainName(name);
  return {
    verifyEmail: templates.verifyEmail({ name: organisation, organisation }, LINK),
    addressHasAccount: templates.addressHasAccount(CONSOLE),
    passwordReset: templates.passwordReset(LINK),
    passwordChanged: templates.passwordChanged(AT, CONSOLE),
    newSignIn: templates.newSignIn({ at: AT, device: { ip: '192.0.2.1', browser: organisation } }, CONSOLE),
    applicationConnected: templates.applicationConnected(
      {
        name: organisation,
        host: 'tool.example',
        redirectHost: 'tool.example',
        onlyLoopback: false,
        organisation,
        at: AT,
      },
      CONSOLE,
    ),
    invite: templates.invite(
      { organisation, inviter: organisation, role: 'member', expiresAt: AT },
      tokenLink(BASE, 'invite', 'abc'),
    ),
    memberRemoved: templates.memberRemoved(organisation),
    agentsHandedOver: templates.agentsHandedOver({ organisation, agents: [organisation, 'Agent'] }, CONSOLE),
    organisationDeleted: templates.organisationDeleted({ organisation, eraseAt: AT }, CONSOLE),
    accountErased: templates.accountErased(),
    items: mailText({
      subject: `For ${organisation}`,
      preheader: `${organisation} asks.`,
      items: [
        { title: organisation, lines: [organisation, 'until then'], href: approvalLink(BASE, 'chk_1') },
      ],
      footer: 'You may decide this.',
      unsubscribe: linkTo(BASE, '/unsubscribe/abc'),
    }),
  };
};

const words = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const readAsText = (html: string): string =>
  convert(html, {
    wordwrap: false,
    selectors: [{ selector: 'a', options: { linkBrackets: false } }],
  });

describe('renderMail', () => {
  for (const [kind, mail] of Object.entries(every('Example Ltd'))) {
    it(`says the same as text and as HTML: ${kind} ${verifies('contract:18:system-mail-form')}`, () => {
      const { text, html } = renderMail(mail, 'gateway.example');
      expect(words(readAsText(html))).to.equal(words(text));
    });
  }

  for (const name of HOSTILE) {
    it(`makes neither markup nor a link of a name: ${JSON.stringify(name.slice(0, 40))}`, async () => {
      for (const mail of Object.values(every(name))) {
        const { subject, text, html } = renderMail(mail, 'gateway.example');
        const own = text.replaceAll(BASE, '');
        expect(own).not.to.match(/https?:\/\/|evil\.example|evil[。．]\S|@evil/);
        expect(text).not.to.match(/[\u202a-\u202e\u200b\u2060\u00ad\u0000\u0007\u2028]/);
        expect(html).not.to.match(/<script|<img|<iframe|<form|<link|url\(/i);
        const hrefs = [...html.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href);
        expect(hrefs.filter((href) => !href.startsWith(`${BASE}/`))).to.deep.equal([]);
        expect(html).not.to.match(/<[^>]*\s(?:src|on\w+)=/i);
        expect(words(readAsText(html))).to.equal(words(text));
        expect(subject).not.to.match(/[\r\n]/);
        expect(subject.length).to.be.at.most(120);
      }
    });
  }

  it('writes mails that arrive unchanged, with every name', async () => {
    const transport = createTransport({ streamTransport: true, buffer: true });
    for (const name of HOSTILE) {
      for (const mail of Object.values(every(name))) {
        const rendered = renderMail(mail, 'gateway.example');
        const { message } = await transport.sendMail({
          ...{ from: 'no-reply@gateway.example', to: { name: '', address: 'anna@example.com' } },
          ...rendered,
        });
        const parsed = await simpleParser(message);
        expect(parsed.subject).to.equal(rendered.subject);
        expect(parsed.text?.trim()).to.equal(rendered.text.trim());
        expect(parsed.html).to.equal(rendered.html);
        expect([...parsed.headers.keys()]).not.to.include('bcc');
        expect(parsed.attachments).to.deep.equal([]);
      }
    }
  }).timeout(120_000);

  it('leaves ordinary names as they are', () => {
    for (const name of ['Example Ltd', 'Dr. Anna Müller', 'Müller & Söhne', '株式会社', 'שלום', "O'Neill"])
      expect(plainName(name)).to.equal(name);
    expect(plainName('example.com')).to.equal('example. com');
    expect(plainName(' \u200b ')).to.equal('without a name');
    expect(plainName('Acme\u200b\u27e6verified\u27e7')).to.equal('Acme verified');
    expect(Array.from(plainName('x'.repeat(200)))).to.have.length(60);
  });

  it('links to the address of the gateway only, and encodes the rest', () => {
    expect(LINK).to.equal(`${BASE}/console#reset=abcd1234%22%3E%3Cb%3E`);
    expect(approvalLink(BASE, 'chk_1')).to.equal(`${BASE}/console#/approvals/chk_1`);
  });
});
