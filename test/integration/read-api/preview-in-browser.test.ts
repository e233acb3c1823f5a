import { expect } from 'chai';
import { domainsOf } from '../../../commands/policy/address-look.ts';
import { renderDocument } from '../../../read-api/approvals/preview/document.ts';
import { markupWork } from '../../../infra/markup/markup-worker.ts';
import { describeSend } from '../../../read-api/approvals/preview/send.ts';
import { requireBrowser, type TestBrowser } from '../../support/servers/browser.ts';
import { sendManifest } from '../../support/samples/send-manifest.ts';

const ORIGIN = 'http://preview.example';
const WORDS = 'Approved by the gateway';

/** Mail that wants to be seen, or to reach out, beyond its fence. */
const HOSTILE = [
  `<div style="position:fixed;inset:0;z-index:99;background:#fff">${WORDS}</div>`,
  `<div style="margin-top:-900px;position:relative;z-index:99">${WORDS}</div>`,
  `<p style="transform:translateY(-900px);font-size:300px">${WORDS}</p>`,
  `<table width="99999" height="99999"><tr><td>${WORDS}</td></tr></table>`,
  `<p>${'Z'.repeat(5_000)}</p>`,
  `<p>a${'\u0301\u0327\u0489'.repeat(400)}</p>`,
  `<p>\u202e${WORDS}\u2066</p></div></section></main><h1>${WORDS}</h1>`,
  '<img src="https://evil.example/a.png"><style>@import "https://evil.example/b.css"; * { display: none }</style>',
  '<link rel="stylesheet" href="https://evil.example/c.css"><iframe src="https://evil.example/d"></iframe>',
  '<script>document.title = "run"</script><svg onload="document.title=1"><image href="https://evil.example/e"/></svg>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/f"><base href="https://evil.example/">',
  '<body style="background:url(https://evil.example/g)"><div style="background:url(//evil.example/h)">x</div>',
];

/** Runs in the page: what of the gateway's own words something else lies over. */
const LOOK = `(() => {
  const covered = [...document.querySelectorAll('h1, h2, dt, dd, .warning, .end, footer')].filter((element) => {
    element.scrollIntoView({ block: 'center' });
    const { left, top, width, height } = element.getBoundingClientRect();
    const onTop = document.elementFromPoint(left + Math.min(width / 2, 5), top + height / 2);
    return onTop === null || onTop.closest('.fence') !== null || !(element.contains(onTop) || onTop.contains(element));
  });
  return {
    covered: covered.map((element) => element.outerHTML),
    headings: [...document.querySelectorAll('h1')].map(({ textContent }) => textContent),
    title: document.title,
    width: document.documentElement.scrollWidth,
  };
})()`;

describe('a preview in a real browser', function () {
  this.timeout(90_000);
  let browser: TestBrowser;

  before(async function () {
    browser = await requireBrowser(this);
  });
  after(() => browser.close());

  it('sends no request, runs no script and keeps every mail inside its frame', async () => {
    const person = await browser.newPerson(ORIGIN, { viewport: { width: 700, height: 900 } });
    for (const html of HOSTILE) {
      const content = {
        ...{
          mailboxAddress: 'anna@example.com',
          domains: domainsOf({ internal_domains: ['example.com'] }, 'anna@example.com'),
        },
        ...{ body: await markupWork.show({ html, text: html }), warnings: [] },
      };
      const document = describeSend(sendManifest(), content);
      const rendered = renderDocument(document, { approvalId: 'chk_1', contentHash: 'c' });
      await person.page.setContent(rendered.html);
      const seen = await person.page.evaluate(LOOK);
      expect(seen, html).to.deep.equal({
        covered: [],
        headings: ['One message will be sent to 1 recipient, inside the organisation.'],
        title: 'What will happen',
        width: 700,
      });
    }
    expect(person.foreignRequests).to.deep.equal([]);
    expect(person.errors, 'not even the policy had to stop anything').to.deep.equal([]);
  });
});
