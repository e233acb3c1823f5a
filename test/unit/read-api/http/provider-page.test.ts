import { expect } from 'chai';
import { consentPage, PAGE_HEADERS, refusalPage } from '../../../../read-api/http/provider-page.ts';
import { verifies } from '../../../support/verifies.ts';

const HOSTILE = `"><script>alert('x')</script>&`;
const summary = {
  provider: 'Google',
  organisation: 'First & Last',
  email: 'anna@example.com',
  requester: HOSTILE,
  hosts: ['imap.example.com', 'smtp.example.com'],
};

describe('the page after a provider', () => {
  it(`names everybody, and shows what they are called instead of running it ${verifies('contract:18:provider-page')}`, () => {
    const html = consentPage(summary, { state: HOSTILE, code: 'abc' }, 'https://gateway.example');
    expect(html).not.to.contain('<script');
    expect(html).to.contain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;');
    for (const named of ['First &amp; Last', 'anna@example.com', 'imap.example.com, smtp.example.com'])
      expect(html).to.contain(named);
    expect(html).to.contain('<form method="post" action="https://gateway.example/oauth/provider/callback">');
    expect(html).to.contain('<input type="hidden" name="code" value="abc">');
    expect(html.match(/<input/g)).to.have.length(2);
    expect(refusalPage(HOSTILE, 'req_1')).not.to.contain('<script');
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
});
