import { expect } from 'chai';
import {
  connectedPage,
  consentPage,
  PAGE_HEADERS,
  refusalPage,
} from '../../../../read-api/http/provider-page.ts';
import { STYLE } from '../../../../read-api/http/provider-page-style.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const HOSTILE = `"><script>alert('x')</script>&`;
const summary = {
  provider: 'Google',
  organisation: 'First & Last',
  email: 'anna@example.com',
  requester: HOSTILE,
  hosts: ['imap.example.com', 'smtp.example.com'],
};

describe("page after a provider's sign-in", () => {
  it(`names person, mailbox and hosts, and escapes them ${verifies('contract:18:provider-page')}`, () => {
    const html = consentPage(summary, { state: HOSTILE, code: 'abc' }, 'https://gateway.example');
    expect(html).not.to.contain('<script');
    expect(html).to.contain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;');
    for (const named of ['First &amp; Last', 'anna@example.com', 'imap.example.com, smtp.example.com'])
      expect(html).to.contain(named);
    expect(html).to.contain('<form method="post" action="https://gateway.example/oauth/provider/callback">');
    expect(html).to.contain('<input type="hidden" name="code" value="abc">');
    expect(html.match(/<input/g)).to.have.length(2);
    expect(refusalPage('conflict', HOSTILE, 'req_1')).not.to.contain('<script');
  });

  it('loads nothing and runs nothing', () => {
    const html = consentPage(summary, { state: 's', code: 'c' }, 'https://gateway.example');
    expect(html).not.to.match(/\b(src|href|style|on\w+)=/);
    const policy = PAGE_HEADERS.get('Content-Security-Policy') ?? '';
    expect(policy).to.contain("default-src 'none'");
    expect(policy).to.contain("form-action 'self'");
    expect(policy).to.contain("frame-ancestors 'none'");
    expect(policy).not.to.contain('unsafe');
    // Under no-referrer a browser would send the form with the origin null.
    expect(PAGE_HEADERS.get('Referrer-Policy')).to.equal('same-origin');
  });

  it('has a language, a title and one heading, and is true for the first attempt too', () => {
    const pages = [
      consentPage(summary, { state: 's', code: 'c' }, 'https://gateway.example'),
      connectedPage(summary),
      refusalPage('mailbox_auth_failed', 'You did not agree.', 'req_1'),
      refusalPage('not_found', 'It was used already.', 'req_2'),
      refusalPage('mailbox_unavailable', 'The provider does not answer.', 'req_3'),
    ];
    const headings = pages.map((html) => {
      expect(html).to.match(/^<!doctype html>\n<html lang="en">/);
      const [heading = '', ...more] = [...html.matchAll(/<h1>(.*)<\/h1>/g)].map(([, text]) => text);
      expect(more).to.deep.equal([]);
      expect(html).to.contain(`<title>${heading} – Mailbox Gateway</title>`);
      return heading;
    });
    expect(headings).to.deep.equal([
      'Connect this mailbox?',
      'The mailbox is being connected',
      'Nothing was connected',
      'This link is no longer good',
      'This could not be finished',
    ]);
  });

  it('is readable in light and dark (WCAG 2.2, 1.4.3 and 1.4.11)', () => {
    const [light = '', dark = ''] = STYLE.split('@media (prefers-color-scheme: dark)');
    for (const scheme of [light, dark]) {
      const colour = (name: string): string =>
        new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(scheme)?.[1] ?? '';
      const pairs = [
        ['text', 'card'],
        ['quiet', 'card'],
        ['on-accent', 'accent'],
        ['on-accent', 'accent-hover'],
      ];
      for (const [over = '', under = ''] of pairs)
        expect(contrast(colour(over), colour(under)), `${over} on ${under}`).to.be.above(4.5);
      for (const edge of ['accent', 'good', 'bad'])
        expect(contrast(colour(edge), colour('card')), edge).to.be.above(3);
    }
  });
});

/** WCAG 2.2, "contrast ratio" and "relative luminance". */
function contrast(one: string, other: string): number {
  const luminance = (colour: string): number =>
    [0.2126, 0.7152, 0.0722].reduce((sum, weight, index) => {
      const part = parseInt(colour.slice(1 + 2 * index, 3 + 2 * index), 16) / 255;
      return sum + weight * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    }, 0);
  const [bright = 0, dim = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (bright + 0.05) / (dim + 0.05);
}
