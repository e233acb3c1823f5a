/** Exports of the audit trail in a real browser, before a real gateway: the saved file verifies. */
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { verifyAudit } from '../../infra/console/verify-audit.mjs';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { type BrowserPerson, requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { lowContrasts, namelessControls, outline } from '../support/servers/page-checks.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';

/** Runs before the page: an export breaks off, or stands still, after its first piece when a test says so. */
const CUT = `
  const fetchAll = window.fetch;
  window.fetch = async (input, init) => {
    const response = await fetchAll(input, init);
    if (!String(input).includes('/audit/export?') || window.cut === undefined) return response;
    const how = window.cut;
    window.cut = undefined;
    const reader = response.body.getReader();
    let isFirst = true;
    const body = new ReadableStream({
      async pull(controller) {
        if (isFirst) controller.enqueue((await reader.read()).value.slice(0, 700));
        else if (how === 'break') controller.error(new TypeError('cut'));
        else await new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason)));
        isFirst = false;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: response.headers, status: response.status });
  };`;

interface Saved {
  readonly name: string;
  readonly bytes: Buffer;
  readonly header: Readonly<Record<string, unknown>>;
}

describe('exports of the audit trail in the console', function () {
  this.timeout(120_000);
  let aheadMs = 0;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let owner: SignedInPerson;
  let olga: BrowserPerson;
  let page: Page;
  let keys: string;

  before(async function () {
    browser = await requireBrowser(this);
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() + aheadMs),
      elapsedMs: () => systemClock.elapsedMs() + aheadMs,
    };
    gateway = await startTestGateway({ clock, env: { AUDIT_SEAL_SECONDS: '3600' } });
    owner = await signInOwner(gateway);
    await owner.rest('POST', '/audit/checkpoints', {});
    const { body } = await owner.rest('GET', '/audit/keys');
    keys = (body.items as { vkey: string }[]).map(({ vkey }) => vkey).join('\n');
    olga = await newPerson(owner.email, 'Approvals');
    ({ page } = olga);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
  });

  async function newPerson(email: string, arrivesAt: string): Promise<BrowserPerson> {
    const person = await browser.newPerson(gateway.baseUrl);
    await person.context.addInitScript(CUT);
    await person.page.goto(`${gateway.baseUrl}/console#/${arrivesAt.toLowerCase()}`);
    await person.page.getByLabel('E-mail').fill(email);
    await person.page.getByLabel('Password').fill(PERSON_PASSWORD);
    await person.page.keyboard.press('Enter');
    await person.page.getByRole('heading', { name: arrivesAt, level: 1 }).waitFor();
    return person;
  }

  const heading = (name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const open = async (query = ''): Promise<void> => {
    await page.goto('about:blank');
    await page.goto(`${gateway.baseUrl}/console#/audit${query}`);
    await heading('Audit trail');
    await page.getByRole('link', { name: 'Export…' }).click();
    await heading('Export the audit trail');
  };
  /** The file that the browser saves meanwhile. */
  async function saved(act: () => Promise<void>): Promise<Saved> {
    const [download] = await Promise.all([page.waitForEvent('download'), act()]);
    const bytes = await readFile(await download.path());
    const [first = ''] = bytes.toString('utf8').split('\n', 1);
    const isFile = download.suggestedFilename().endsWith('.jsonl');
    return {
      name: download.suggestedFilename(),
      bytes,
      header: isFile ? (JSON.parse(first) as Saved['header']) : {},
    };
  }
  const verdict = async ({ bytes }: Saved): Promise<number> =>
    (await verifyAudit(Readable.from([bytes]), { keys: [keys] })).exit;
  const linesOf = (type: string, count = 1) =>
    eventually(async () => {
      const { body } = await owner.rest('GET', `/audit?type=${type}`);
      expect(body.items).to.have.length(count);
      return body.items;
    });

  it(`saves every line as a file that verifies, with its keys beside it ${verifies('contract:18:console-export')}`, async () => {
    await open();
    await page.getByText('Proves that no line of the range is missing').waitFor();
    const shown = await page.getByRole('group', { name: 'Keys of the trail' }).innerText();
    expect(shown.trim()).to.equal(keys);
    const file = await saved(() => press('Export'));
    await heading('Exported', 2);
    expect(file.header).to.deep.include({ mode: 'complete', from_seq: 1 });
    expect(file.name).to.match(/^audit-org_\w+-1-\d+\.jsonl$/);
    expect(await verdict(file)).to.equal(0);
    const [exported] = await linesOf('AuditExported');
    expect(exported.data.disclose).to.equal('none');
    await page.getByText(/^(?:(\S+) of \1) lines/).waitFor();
    const again = await saved(() => press('Save again'));
    expect(again.bytes.equals(file.bytes)).to.equal(true);
    await open();
    await saved(() => press('Export'));
    await linesOf('AuditExported', 2);
  });

  it(`says what a file with a filter proves, and asks for just that ${verifies('contract:18:console-export')}`, async () => {
    await open('?type=SessionStarted');
    await page.getByText('Signed in').waitFor();
    const skeleton = await saved(() => press('Export'));
    expect(skeleton.header).to.deep.include({ mode: 'skeleton', filter: { type: 'SessionStarted' } });
    expect(await verdict(skeleton)).to.equal(0);
    await press('Another export');
    await page.getByLabel('Only the lines that fit').check();
    await page.getByLabel('First line').fill('2');
    const sparse = await saved(() => press('Export'));
    expect(sparse.header).to.deep.include({ mode: 'sparse', from_seq: 2 });
    await open('?outcome=denied');
    await page.getByText('An outcome or a resource is not part of the signed lines').waitFor();
    await page.getByLabel('CSV').check();
    const csv = await saved(() => press('Export'));
    expect(csv.name).to.match(/\.csv$/);
    expect(csv.bytes.toString('utf8')).to.match(/^\u{feff}"seq",/u);
  });

  it(`goes on where a connection broke off ${verifies('contract:18:console-export')}`, async () => {
    await open();
    await page.evaluate("window.cut = 'break'");
    await press('Export');
    await heading('Broken off', 2);
    const file = await saved(() => press('Continue'));
    await heading('Exported', 2);
    expect(await verdict(file)).to.equal(0);
  });

  it(`stops when it is cancelled ${verifies('contract:18:console-export')}`, async () => {
    await open();
    await page.evaluate("window.cut = 'stall'");
    await press('Export');
    await heading('Exporting', 2);
    await press('Cancel');
    await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
    expect(await page.getByText('Broken off').count()).to.equal(0);
  });

  it(`opens every text only for owners, with a reason and the password ${verifies('contract:18:console-export')}`, async () => {
    const auditor = await signInNew(gateway, 'auditor');
    const anton = await newPerson(auditor.email, 'Approvals');
    await anton.page.goto(`${gateway.baseUrl}/console#/audit/export`);
    await anton.page.getByLabel('Open what you may see').waitFor();
    expect(await anton.page.getByLabel(/Open every text/).count()).to.equal(0);
    await anton.context.close();
    await open();
    await page.getByLabel(/Open every text/).check();
    await press('Export');
    await page.getByText('Give the reason for opening every text.').waitFor();
    await page.getByRole('textbox', { name: 'Reason' }).fill('Request 77 of the court');
    aheadMs += 16 * 60_000;
    await press('Export');
    await heading('Confirm it is you', 2);
    await page.getByLabel('Password', { exact: true }).fill(PERSON_PASSWORD);
    const file = await saved(() => page.keyboard.press('Enter'));
    expect(await verdict(file)).to.equal(0);
    expect(file.bytes.toString('utf8')).to.contain('"opened":[{');
    const [disclosed] = await linesOf('AuditDisclosed');
    expect(disclosed.data.reason).to.equal('Request 77 of the court');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by eye and by ear, on a telephone, in ${colorScheme}`, async () => {
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await open('?type=SessionStarted');
      const headings = (await outline(page)).slice(0, 4);
      expect(headings).to.deep.equal(['banner', 'navigation', 'main', 'heading: Export the audit trail']);
      expect(await namelessControls(page)).to.deep.equal([]);
      expect(await lowContrasts(page)).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
      expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1');
    });
  }

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    expect(olga.errors).to.deep.equal([]);
    expect(olga.foreignRequests).to.deep.equal([]);
  });
});
