/** The audit trail in a real browser, before a real gateway. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import {
  type BrowserPerson,
  requireBrowser,
  shownSoon,
  type TestBrowser,
} from '../support/servers/browser.ts';
import { lowContrasts, namelessControls, outline, unreachedByTab } from '../support/servers/page-checks.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';

const HOSTILE = '<b>Reader</b> \u202Egpj';
const SHOWN = '<b>Reader</b> U+202Egpj';

describe('the audit trail in the console', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let browser: TestBrowser;
  let owner: SignedInPerson;
  let olga: BrowserPerson;
  let tokenId = '';
  const people: BrowserPerson[] = [];

  before(async function () {
    browser = await requireBrowser(this);
    gateway = await startTestGateway({ env: { AUDIT_SEAL_SECONDS: '3600' } });
    owner = await signInOwner(gateway);
    tokenId = await issueToken(HOSTILE);
    olga = await newPerson(owner.email, 'Approvals');
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
  });

  async function issueToken(name: string): Promise<string> {
    const { status, body } = await gateway.rest('POST', '/tokens', {
      name,
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      preset: 'reader',
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  }

  async function newPerson(email: string, arrivesAt: string): Promise<BrowserPerson> {
    const person = await browser.newPerson(gateway.baseUrl);
    people.push(person);
    const { page } = person;
    await page.goto(`${gateway.baseUrl}/console${arrivesAt === 'Approvals' ? '#/approvals' : ''}`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await heading(page, arrivesAt);
    return person;
  }

  const heading = (page: Page, name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const open = async (hash: string, title = 'Audit trail'): Promise<void> => {
    await olga.page.goto('about:blank');
    await olga.page.goto(`${gateway.baseUrl}/console${hash}`);
    await heading(olga.page, title);
  };
  const rows = (page = olga.page) => page.getByRole('list', { name: 'Lines' }).getByRole('listitem');
  const hasRows = (isEnough: (count: number) => boolean): Promise<void> =>
    eventually(async () => {
      expect(await rows().count()).to.satisfy(isEnough);
    });
  const lastLine = async () => (await owner.rest('GET', '/audit?limit=1')).body.items[0];

  it(`lists lines in words, the newest first ${verifies('contract:18:console-audit')}`, async () => {
    const { page } = olga;
    await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
    await heading(page, 'Audit trail');
    const texts = await rows().allInnerTexts();
    const numbers = texts.map((text) => Number(/line (\d+)/.exec(text)?.[1]));
    expect(numbers).to.deep.equal(numbers.map((_, at) => (numbers[0] ?? 0) - at));
    expect(texts.find((text) => text.includes(SHOWN))).to.contain(`Token issued: ${SHOWN}`);
    expect(texts.join(' ')).to.contain('Signed in').and.to.contain('by the gateway');
    expect(await page.locator('main b').count()).to.equal(0);
  });

  it(`narrows the list, and the address keeps how ${verifies('contract:18:console-audit')}`, async () => {
    const { page } = olga;
    await page.getByLabel('What happened').selectOption({ label: 'Token issued' });
    await page.waitForURL(/type=TokenIssued/);
    await eventually(async () => {
      const texts = await rows().allInnerTexts();
      expect(texts.filter((text) => !text.startsWith('Token issued'))).to.deep.equal([]);
    });
    expect(await rows().count()).to.be.greaterThan(0);
    await page.getByLabel('Resource or approval').fill(tokenId);
    await page.keyboard.press('Enter');
    await hasRows((count) => count === 1);
    await page.getByLabel('Before (UTC)').fill('2020-01-01T00:00');
    await page.getByText('No line fits').waitFor();
    expect(decodeURIComponent(page.url())).to.contain('to=2020-01-01T00:00:00.000Z');
    await page.reload();
    await page.getByText('No line fits').waitFor();
    expect(await page.getByLabel('What happened').inputValue()).to.equal('TokenIssued');
    expect(await page.getByLabel('Before (UTC)').inputValue()).to.match(/^2020-01-01T00:00/);
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await rows().getByText('Signed in').first().waitFor();
    expect(new URL(page.url()).hash).to.equal('#/audit');
    await page.getByRole('link', { name: 'Epochs' }).click();
    await page.getByText('No line fits').waitFor();
    expect(await page.getByLabel('What happened').inputValue()).to.equal('AuditEpochStarted');
  });

  it(`shows one line with who, where and its hash, and leads on and back ${verifies('contract:18:console-audit')}`, async () => {
    const { page } = olga;
    await open(`#/audit?resource=${tokenId}`);
    await rows().getByRole('link').click();
    await heading(page, 'Token issued');
    const { body } = await owner.rest('GET', `/audit?resource=${tokenId}`);
    const [line] = body.items;
    expect(await page.getByRole('textbox', { name: 'Hash of the line' }).inputValue()).to.equal(line.hash);
    await page.getByText(String(line.position)).waitFor();
    const data = await page.getByRole('group', { name: 'Data' }).innerText();
    expect(data).to.contain(SHOWN).and.to.contain('"scopes"');
    expect(await page.getByRole('link', { name: tokenId, exact: true }).getAttribute('href')).to.equal(
      `#/tokens/${tokenId}`,
    );
    await page.getByRole('link', { name: '← Audit trail' }).click();
    await heading(page, 'Audit trail');
    expect(await page.getByLabel('Resource or approval').inputValue()).to.equal(tokenId);
    await open(`#/audit/evt_${'0'.repeat(26)}`, 'This cannot be shown');
    await page.getByText('The link may be wrong, or the line is of another organisation.').waitFor();
    await page.getByRole('link', { name: 'The audit trail', exact: true }).click();
    await heading(page, 'Audit trail');
  });

  it(`tells of newer lines, and shows them when asked to ${verifies('contract:18:console-audit')}`, async () => {
    const { page } = olga;
    await open('#/audit?type=TokenIssued');
    const before = await rows().count();
    await issueToken('one');
    await issueToken('two');
    await shownSoon(page.getByRole('button', { name: 'Show 2 newer lines' }));
    expect(await rows().count(), 'nothing moves by itself').to.equal(before);
    await page.getByRole('button', { name: 'Show 2 newer lines' }).click();
    expect(await rows().count()).to.equal(before + 2);
    expect(await rows().first().innerText()).to.contain('Token issued: two');
    expect(
      await page.evaluate("document.activeElement.closest('li') === document.querySelector('main li')"),
    ).to.equal(true);
  });

  it(`says how far the trail is sealed, and seals when asked to ${verifies('contract:18:console-seal')}`, async () => {
    const { page } = olga;
    await issueToken('to be sealed');
    await open('#/audit?type=TokenIssued');
    const strip = page.getByRole('region', { name: 'Seal' });
    await strip.getByText(/nobody outside holds a checkpoint · not checked yet$/).waitFor();
    await strip.getByText('Not all is proven').waitFor();
    await rows().first().getByText('Not yet sealed').waitFor();
    await strip.getByRole('button', { name: 'Seal now' }).click();
    await strip.getByText(/^Sealed through line \d+\.$/).waitFor();
    await strip.getByText('just now').first().waitFor();
    await eventually(async () => {
      expect(await rows().getByText('Not yet sealed').count()).to.equal(0);
    });
    const { body } = await owner.rest('GET', '/audit/checkpoints/latest');
    expect(await strip.innerText()).to.contain(`Sealed through line ${String(body.size)}`);
    await strip.getByRole('button', { name: 'Check now' }).click();
    await strip.getByText('The result stands here.').waitFor();
    await strip.getByText('asked for again').waitFor();
    await rows().first().getByRole('link').click();
    await heading(page, 'Token issued');
    await page.getByText(/^By the checkpoint of \d+ lines/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the proof' }).click(),
    ]);
    expect(download.suggestedFilename()).to.match(/^line-\d+\.tlog-proof$/);
    const proof = await readFile(await download.path(), 'utf8');
    expect(proof)
      .to.match(/^c2sp\.org\/tlog-proof@v1\nindex \d+\n/)
      .and.to.contain(body.note);
  });

  it(`goes on to older lines ${verifies('contract:18:console-audit')}`, async () => {
    const { page } = olga;
    for (let n = 0; n < 55; n += 1) await issueToken(`many ${String(n)}`);
    const { seq } = await lastLine();
    await open('#/audit');
    expect(await rows().count()).to.equal(50);
    await page.getByRole('button', { name: 'Load more' }).click();
    await hasRows((count) => count > 55);
    const numbers = (await rows().allInnerTexts()).map((text) => Number(/line (\d+)/.exec(text)?.[1]));
    expect(numbers).to.deep.equal(numbers.map((_, at) => (numbers[0] ?? 0) - at));
    expect(numbers[0]).to.be.at.least(seq);
  });

  it(`is where an auditor begins, and not for members ${verifies('contract:18:console-pages')}`, async () => {
    const { email } = await signInNew(gateway, 'auditor');
    const auditor = await newPerson(email, 'Audit trail');
    const pages = auditor.page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await pages.allInnerTexts())
      .to.include('Audit trail')
      .and.not.to.include('Legal holds');
    const texts = await rows(auditor.page).allInnerTexts();
    expect(texts.join(' '), 'people have names').not.to.match(/by usr_/);
    await auditor.context.close();
    const member = await newPerson((await signInNew(gateway, 'member')).email, 'Approvals');
    expect(await member.page.getByRole('link', { name: 'Audit trail' }).count()).to.equal(0);
    await member.page.goto(`${gateway.baseUrl}/console#/audit`);
    await member.page.getByText('Owners, admins and auditors read the audit trail.').waitFor();
    await member.context.close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by eye and by ear, on a telephone, in ${colorScheme}`, async () => {
      const { page } = olga;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const { id } = (await owner.rest('GET', `/audit?resource=${tokenId}`)).body.items[0];
      for (const [hash, title] of [
        ['#/audit', 'Audit trail'],
        [`#/audit/${String(id)}`, 'Token issued'],
      ] as const) {
        await open(hash, title);
        const landmarks = (await outline(page)).filter((each) => each !== 'complementary');
        expect(landmarks.slice(0, 4)).to.deep.equal(['banner', 'navigation', 'main', `heading: ${title}`]);
        expect(await namelessControls(page)).to.deep.equal([]);
        expect(await lowContrasts(page)).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
        expect(await unreachedByTab(page)).to.deep.equal([]);
      }
    });
  }

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    for (const { errors, foreignRequests } of people) {
      expect(errors).to.deep.equal([]);
      expect(foreignRequests).to.deep.equal([]);
    }
  });
});
