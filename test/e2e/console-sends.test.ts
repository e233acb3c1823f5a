/** What an approver sees of a send in a real browser before the vote: everybody it goes to, what is odd, what is attached. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { verifyAudit } from '../../infra/console/verify-audit.mjs';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { type BrowserPerson, requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { lowContrasts, namelessControls } from '../support/servers/page-checks.ts';
import { PERSON_PASSWORD, signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const NOTES = 'Net 30 days.\nPayable to <b>Kunde</b>\u202Egpj.\n';

describe('the console before a vote on a send', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let person: BrowserPerson;
  let id: string;
  let owner: SignedInPerson;
  let aheadMs = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() + aheadMs),
      elapsedMs: () => systemClock.elapsedMs() + aheadMs,
    };
    gateway = await startTestGateway({ clock, env: { LIMIT_SIGN_INS_PER_MINUTE: '1000' } });
    const mailboxId = await gateway.addMailbox(dovecot.imap(), 'anna');
    owner = await signInOwner(gateway);
    const policy = { rules: [], default: null, internal_domains: ['example.com'] };
    const set = await owner.rest('PUT', '/org/policy', policy);
    expect(set.status, JSON.stringify(set.body)).to.equal(200);
    id = await askToSend(mailboxId);
    person = await personAtApproval(owner.email);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
    await dovecot.dispose();
  });

  async function personAtApproval(email: string): Promise<BrowserPerson> {
    const someone = await browser.newPerson(gateway.baseUrl);
    const { page } = someone;
    await page.goto(`${gateway.baseUrl}/console#/approvals/${id}`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Send “Invoice 1187”', level: 1 }).waitFor();
    return someone;
  }

  /** An agent of the owner asks; resolves with the id of the approval. */
  async function askToSend(mailboxId: string): Promise<string> {
    const { body: issued } = await gateway.rest('POST', '/tokens', {
      name: 'agent over REST',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      preset: 'operator',
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const file = (filename: string, content_type: string, bytes: Buffer): Json => ({
      ...{ filename, content_type, content_base64: bytes.toString('base64') },
    });
    const draft = {
      to: ['erika@kunde.example.net'],
      cc: ['max@example.com'],
      bcc: ['archive@outside.example.org'],
      subject: 'Invoice 1187',
      html: `<p>Please pay.</p><a href="https://evil.example.org/">https://bank.example.com/</a>${'<p>And so on.</p>'.repeat(60)}`,
      attachments: [
        file('invoice.pdf', 'application/pdf', Buffer.from('%PDF-1.4 nothing')),
        file('notes.txt', 'text/plain', Buffer.from(NOTES)),
        file('pixel.png', 'image/png', PIXEL),
        file('fake.png', 'image/png', Buffer.from('MZ not a picture')),
      ],
    };
    const as = () => ({ token: String(issued.token), key: randomUUID() });
    const started = await gateway.rest('POST', `/mailboxes/${mailboxId}/start_draft`, draft, as());
    expect(started.status, JSON.stringify(started.body)).to.equal(201);
    const asked = await gateway.rest(
      'POST',
      `/drafts/${String(started.body.id)}/wants_to_send_draft`,
      { reason: 'The customer waits for it.' },
      as(),
    );
    expect(asked.body.status, JSON.stringify(asked.body)).to.equal('awaiting_approval');
    return String(asked.body.approval.id);
  }

  const heading = (name: string, level = 1): Promise<void> =>
    person.page.getByRole('heading', { name, level }).waitFor();
  const press = (name: string): Promise<void> =>
    person.page.getByRole('button', { name, exact: true }).click();
  /** The text of the evidence that the browser saves meanwhile. */
  async function saved(act: () => Promise<void>): Promise<string> {
    const [download] = await Promise.all([person.page.waitForEvent('download'), act()]);
    expect(download.suggestedFilename()).to.match(new RegExp(`^evidence-${id}\\.(html|jsonl)$`));
    return await readFile(await download.path(), 'utf8');
  }
  /** With the keys that the file names. */
  async function verdictOf(file: string): Promise<readonly unknown[]> {
    const { keys } = JSON.parse(file.slice(0, file.indexOf('\n'))) as { keys: string[] };
    const { exit, code } = await verifyAudit(Readable.from([Buffer.from(file)]), { keys });
    return [exit, code];
  }
  const PEOPLE =
    'To erika@kunde.example.net (outside) · Cc max@example.com · Bcc archive@outside.example.org (outside) · 4 attachments · ';

  it(`names Bcc and every external recipient in the headline, the row and the question ${verifies('contract:18:console-confirmation')}`, async () => {
    const { page } = person;
    expect(await page.locator('.approval-head .summary').innerText()).to.contain(PEOPLE);
    await page.getByRole('button', { name: 'Approve…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.locator('.summary').innerText()).to.contain(PEOPLE);
    await page.keyboard.press('Escape');
    await page.goto(`${gateway.baseUrl}/console#/approvals`);
    await heading('Approvals');
    const row = page.getByRole('listitem').filter({ hasText: 'Invoice 1187' });
    expect(await row.locator('.summary').innerText()).to.contain(PEOPLE);
    expect(await row.locator('.warned.high').innerText()).to.match(/^\d+ warnings$/);
    await page.goBack();
    await heading('Send “Invoice 1187”');
  });

  it(`lists warnings with the worst first and requires their confirmation before a vote ${verifies('contract:18:console-confirmation')}`, async () => {
    const { page } = person;
    const { body: approval } = await gateway.rest('GET', `/approvals/${id}`);
    const told = approval.warnings as { severity: string; text: string }[];
    expect(told[0]?.severity).to.equal('high');
    const texts = await page.locator('.approval-about .warnings li').allInnerTexts();
    const order = ['Serious', 'Warning', 'Note'].map((word) =>
      texts.findIndex((text) => text.startsWith(word)),
    );
    expect(texts.some((text) => text.includes('evil.example.org') || text.includes('link'))).to.equal(true);
    expect(order.filter((at) => at >= 0)).to.deep.equal(
      order.filter((at) => at >= 0).toSorted((a, b) => a - b),
    );
    const frame = page.frameLocator('.preview-frame');
    await frame.getByRole('heading', { level: 1 }).waitFor();
    expect(await frame.locator('.warning').count(), 'they are there for other pages').to.be.greaterThan(0);
    expect(await frame.locator('.warning:visible').count(), 'and stand once on this one').to.equal(0);
    await page.getByText('Your own agent requested this.').waitFor();
    await page.getByRole('button', { name: 'Approve…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.locator('.warnings li').allInnerTexts()).to.deep.equal(texts);
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    expect((await gateway.rest('GET', `/approvals/${id}`)).body.status).to.equal('awaiting_approval');
    expect(await page.evaluate('document.querySelector("[name=looked]").validity.valueMissing')).to.equal(
      true,
    );
    expect(await namelessControls(page)).to.deep.equal([]);
    expect(await lowContrasts(page)).to.deep.equal([]);
    await page.keyboard.press('Escape');
  });

  it(`opens and saves each attachment exactly as it would be sent ${verifies('contract:18:console-attachments')}`, async () => {
    const { page } = person;
    const entry = (name: string) => page.locator('.attachments li').filter({ hasText: name });
    const coming = page.waitForEvent('download');
    await entry('invoice.pdf').getByRole('button', { name: 'Download' }).click();
    const download = await coming;
    expect(download.suggestedFilename()).to.equal('invoice.pdf');
    expect(await readFile(await download.path(), 'utf8')).to.equal('%PDF-1.4 nothing');
    expect(await entry('invoice.pdf').getByRole('button', { name: 'Show' }).count()).to.equal(0);
    await entry('notes.txt').getByRole('button', { name: 'Show' }).click();
    await page.getByRole('region', { name: 'Content of notes.txt' }).waitFor();
    expect(await entry('notes.txt').innerText())
      .to.contain('Payable to <b>Kunde</b>')
      .and.to.contain('U+202E');
    await entry('pixel.png').getByRole('button', { name: 'Show' }).click();
    await page.getByRole('img', { name: 'pixel.png' }).waitFor();
    expect(await page.evaluate('document.querySelector(".shown-picture").naturalWidth')).to.equal(1);
    await entry('fake.png').getByRole('button', { name: 'Show' }).click();
    await entry('fake.png').getByText('Its content is not what its type says').waitFor();
  });

  it(`lets the keyboard reach and scroll the preview ${verifies('contract:18:console-keyboard')}`, async () => {
    const { page } = person;
    const top = page.frameLocator('iframe').getByText('What will happen');
    const before = await top.boundingBox();
    await page.getByRole('tab', { name: 'Page' }).focus();
    await page.keyboard.press('Tab');
    await eventually(async () => (await page.evaluate('document.activeElement.tagName')) === 'IFRAME');
    const outside = Number(await page.evaluate('scrollY'));
    await page.keyboard.press('PageDown');
    await eventually(async () => {
      const moved = (before?.y ?? 0) - ((await top.boundingBox())?.y ?? 0);
      const around = Number(await page.evaluate('scrollY')) - outside;
      if (moved - around < 100) throw new Error(`the preview moved by ${String(moved - around)}`);
    });
  });

  it(`shows exact times in one form with a zone and keeps relative times current ${verifies('contract:18:console-times')}`, async () => {
    const { page } = person;
    const titles = await page
      .locator('time')
      .evaluateAll((all) => all.map((each) => `${each.getAttribute('title') ?? ''}|${each.textContent}`));
    expect(titles.length).to.be.greaterThan(3);
    for (const each of titles) expect(each).to.match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    const sixMinutesAgo = new Date(Date.now() - 6 * 60_000).toISOString();
    await page.locator('.approval-meta time').evaluate((time, at) => {
      time.setAttribute('datetime', at);
    }, sixMinutesAgo);
    await page.locator('.approval-meta').getByText('6 min ago').waitFor();
  });

  it(`says what to do when the preview cannot be shown, and shows it when it can ${verifies('contract:18:console-errors')}`, async () => {
    const { page } = person;
    await page.goto(`${gateway.baseUrl}/console#/policy`);
    await page.getByText('Check the address, or go to the list of approvals.').waitFor();
    const button = await page.getByRole('button', { name: 'Try again' }).boundingBox();
    expect(button?.width).to.be.lessThan(200);
    await page.goto(`${gateway.baseUrl}/console#/approvals/chk_${'0'.repeat(26)}`);
    await page.getByText('There is no such approval, or you may not see it.').waitFor();
    expect(await page.locator('main').innerText()).not.to.contain('token');
    await page.getByRole('link', { name: 'All approvals' }).click();
    await heading('Approvals');
    await page.route('**/api/v1/**', (route) => route.abort());
    await page.goto(`${gateway.baseUrl}/console#/approvals/${id}`);
    await page.getByText('This page tries again in a few seconds.').waitFor();
    await page.unroute('**/api/v1/**');
    await heading('Send “Invoice 1187”');
  });

  it(`shows JSON that an event keeps as text as JSON ${verifies('contract:18:console-readable')}`, async () => {
    const { page } = person;
    await page.goto(`${gateway.baseUrl}/console#/approvals/${id}`);
    await heading('Send “Invoice 1187”');
    const line = page.locator('.trail li').filter({ hasText: 'ApprovalRequested' });
    await line.locator('summary').click();
    const shown = JSON.parse(await line.locator('.code.lines, .lines.code').innerText());
    expect(shown.manifest).to.include({ kind: 'send_draft' });
    expect(shown.warnings[0]).to.include({ severity: 'high' });
  });

  it(`saves the evidence, to be printed and to be verified ${verifies('contract:18:console-evidence')}`, async () => {
    const printed = await saved(() => press('Save for printing the evidence'));
    expect(printed.toLowerCase())
      .to.match(/^<!doctype html>/)
      .and.to.contain('invoice 1187');
    const file = await saved(() => press('Save for verifying the evidence'));
    expect(await verdictOf(file)).to.deep.equal([0, null]);
    expect(file, 'what this person may see').to.contain('"opened":[{');
    await person.page.getByLabel('Keep them sealed').check();
    const closed = await saved(() => press('Save for verifying the evidence'));
    expect(await verdictOf(closed)).to.deep.equal([0, null]);
    expect(closed).not.to.contain('"opened":[{').and.not.to.contain('"name":"manifest"');
  });

  it(`opens every text of the evidence only for owners, with a reason and the password ${verifies('contract:18:console-evidence')}`, async () => {
    const { page } = person;
    const approver = await personAtApproval((await signInNew(gateway, 'approver')).email);
    await approver.page.getByLabel('Open what you may see').waitFor();
    expect(await approver.page.getByLabel(/Open every text/).count()).to.equal(0);
    await approver.context.close();
    await page.getByLabel(/Open every text/).check();
    await press('Save for verifying the evidence');
    await page.getByText('Give the reason for opening every text.').waitFor();
    await page.getByRole('textbox', { name: 'Reason' }).fill('Request 77 of the court');
    aheadMs += 16 * 60_000;
    await press('Save for verifying the evidence');
    await heading('Confirm it is you', 2);
    await page.getByLabel('Password', { exact: true }).fill(PERSON_PASSWORD);
    const file = await saved(() => page.keyboard.press('Enter'));
    expect(await verdictOf(file)).to.deep.equal([0, null]);
    expect(file).to.contain('"opened":[{');
    await eventually(async () => {
      const { body } = await owner.rest('GET', '/audit?type=AuditDisclosed');
      const reasons = (body.items as Json[]).map(({ data }) => data.reason);
      expect(reasons).to.deep.equal(['Request 77 of the court']);
    });
  });

  it(`sends no request while the page is hidden ${verifies('contract:18:console-list')}`, async () => {
    const { page } = person;
    await page.goto(`${gateway.baseUrl}/console#/approvals`);
    await heading('Approvals');
    const show = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await show('hidden');
    let asked = 0;
    // The count in the title is read on: it is there for a tab in the background.
    const isOfList = (url: string): boolean => url.includes('/approvals?') && !url.includes('limit=200');
    page.on('request', (request) => (asked += isOfList(request.url()) ? 1 : 0));
    await page.waitForTimeout(5_000);
    expect(asked).to.equal(0);
    await show('visible');
    await eventually(() => {
      if (asked !== 1) throw new Error(`asked ${String(asked)} times`);
      return Promise.resolve();
    });
  });

  it(`loads nothing from other hosts and breaks no content policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors.filter((error) => !error.includes('ERR_FAILED'))).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
