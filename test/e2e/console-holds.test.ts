/** Legal holds in a real browser: placed by one person, released by two. */
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
import { startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';

const HOSTILE = '<b>Example</b> v. \u202ESample';
const UNKNOWN = `drf_${'0'.repeat(26)}`;

describe('legal holds in the console', function () {
  this.timeout(120_000);
  let gateway: TestGateway;
  let browser: TestBrowser;
  let owner: SignedInPerson;
  let member: SignedInPerson;
  let olga: BrowserPerson;
  let adam: BrowserPerson;
  let mailboxId: string;
  let id = '';

  before(async function () {
    browser = await requireBrowser(this);
    gateway = await startTestGateway();
    owner = await signInOwner(gateway);
    member = await signInNew(gateway, 'member');
    const { email } = await signInNew(gateway, 'admin');
    olga = await newPerson(owner.email);
    adam = await newPerson(email);
    const server = { host: '127.0.0.1', port: 9, security: 'none' };
    const auth = { type: 'password', username: 'anna', password: 'x' };
    const mailbox = { email: 'anna@example.com', imap: server, smtp: server, auth };
    mailboxId = (await gateway.rest('POST', '/mailboxes', mailbox)).body.id as string;
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
  });

  async function newPerson(email: string): Promise<BrowserPerson> {
    const person = await browser.newPerson(gateway.baseUrl);
    const { page } = person;
    await page.goto(`${gateway.baseUrl}/console#/approvals`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await heading(page, 'Approvals');
    return person;
  }

  const heading = (page: Page, name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const press = (page: Page, name: string): Promise<void> =>
    page.getByRole('button', { name, exact: true }).click();
  const holds = async () => (await owner.rest('GET', '/legal-holds')).body.items;
  const shown = '<b>Example</b> v. U+202ESample';

  it(`places one on chosen people and mailboxes, and on pasted ids ${verifies('contract:18:console-holds')}`, async () => {
    const { page } = olga;
    await page.getByRole('link', { name: 'Legal holds', exact: true }).click();
    await heading(page, 'Legal holds');
    await page.getByText('No legal holds').waitFor();
    await page.getByRole('link', { name: 'Place a hold' }).click();
    await heading(page, 'Place a legal hold');
    await page.getByLabel('Name').fill(HOSTILE);
    await page.getByLabel('Reason').fill('Letter of 3 March');
    await press(page, 'Place the hold');
    await page.getByText('Choose at least one person, mailbox, draft or approval.').waitFor();
    await page.getByRole('checkbox', { name: /^Ms member/ }).check();
    await page.getByRole('checkbox', { name: 'anna@example.com' }).check();
    const others = page.getByLabel('Others by id, one in a line');
    await others.fill('msg_1');
    await press(page, 'Place the hold');
    await page.getByText('“msg_1” is no id of a person, a mailbox, a draft or an approval.').waitFor();
    await others.fill(UNKNOWN);
    await press(page, 'Place the hold');
    await page.getByText('Check the ids: each has to be of this organisation.').waitFor();
    expect(await holds(), 'nothing is placed with a wrong id').to.deep.equal([]);
    await others.fill('');
    await press(page, 'Place the hold');
    await heading(page, shown);
    const [hold] = await holds();
    id = hold.id as string;
    expect(hold).to.deep.include({ name: HOSTILE, reason: 'Letter of 3 March', state: 'active' });
    expect(hold.targets).to.deep.equal([
      { type: 'person', id: member.userId },
      { type: 'mailbox', id: mailboxId },
    ]);
    await page.getByRole('link', { name: 'anna@example.com' }).waitFor();
    await page.getByText('Letter of 3 March').waitFor();
  });

  it(`takes what an address names, and tells who is refused by a hold ${verifies('contract:18:console-errors')}`, async () => {
    const { page } = olga;
    await page.goto(`${gateway.baseUrl}/console#/holds/new?target=${mailboxId}&target=${UNKNOWN}`);
    await heading(page, 'Place a legal hold');
    expect(await page.getByRole('checkbox', { name: 'anna@example.com' }).isChecked()).to.equal(true);
    expect(await page.getByLabel('Others by id, one in a line').inputValue()).to.equal(UNKNOWN);
    const mia = await newPerson(member.email);
    expect(await mia.page.getByRole('link', { name: 'Legal holds' }).count()).to.equal(0);
    await mia.page.goto(`${gateway.baseUrl}/console#/holds`);
    await mia.page.getByText('Owners and admins manage legal holds.').waitFor();
    await mia.page.goto(`${gateway.baseUrl}/console#/account`);
    await press(mia.page, 'Delete your account…');
    await mia.page.getByLabel('Type member@example.com to confirm').fill(member.email);
    await press(mia.page, 'Delete account');
    await mia.page.getByText('It is kept until the hold is released.').waitFor();
    await mia.context.close();
  });

  it(`is released by the second person only ${verifies('contract:18:console-holds')}`, async () => {
    const { page } = olga;
    await page.goto(`${gateway.baseUrl}/console#/holds/${id}`);
    await heading(page, shown);
    await adam.page.goto(`${gateway.baseUrl}/console#/holds/${id}`);
    await heading(adam.page, shown);
    await press(page, 'Ask for its release…');
    await heading(page, 'Ask for the release?', 2);
    await page.getByLabel('Reason').fill('Settled');
    await press(page, 'Ask for release');
    await page.getByText('You asked for its release. Another owner or admin has to release it.').waitFor();
    expect(await page.getByRole('button', { name: /release/i }).count(), 'not by the same person').to.equal(
      0,
    );
    await shownSoon(adam.page.getByText('You can release it.'));
    await adam.page.getByText('Settled').waitFor();
    await press(adam.page, 'Release it…');
    await adam.page.getByLabel('Reason').fill('Agreed');
    await press(adam.page, 'Release');
    await adam.page.getByText('It no longer keeps anything.').waitFor();
    expect((await holds())[0]).to.include({ state: 'released' });
    await shownSoon(page.getByText('It no longer keeps anything.'));
    await page.getByRole('link', { name: '← Legal holds' }).click();
    const row = page.getByRole('list', { name: 'Legal holds' }).getByRole('listitem');
    await row.getByText('Released').waitFor();
    expect(await row.innerText())
      .to.contain('1 person, 1 mailbox')
      .and.to.contain(shown);
  });

  it(`leads to the operator where nobody else manages holds ${verifies('contract:18:console-holds')}`, async () => {
    const { page } = olga;
    const { body } = await owner.rest('GET', '/members');
    const admin = (body.items as { id: string; role: string }[]).find(({ role }) => role === 'admin');
    await owner.rest('PATCH', `/members/${admin?.id ?? ''}`, { role: 'member' });
    const targets = [{ type: 'mailbox', id: mailboxId }];
    const placed = await owner.rest('POST', '/legal-holds', { name: 'Alone', reason: 'A letter', targets });
    await page.goto(`${gateway.baseUrl}/console#/holds/${String(placed.body.id)}`);
    await heading(page, 'Alone');
    await press(page, 'Ask for its release…');
    await page.getByLabel('Reason').fill('Settled');
    await press(page, 'Ask for release');
    await page.getByText('Nobody else here manages legal holds.').waitFor();
    await page
      .getByRole('group', { name: 'Command' })
      .getByText(`npm run admin -- hold release ${String(placed.body.id)}`)
      .waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by eye and by ear, on a telephone, in ${colorScheme}`, async () => {
      const { page } = olga;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const [hash, title] of [
        ['#/holds', 'Legal holds'],
        ['#/holds/new', 'Place a legal hold'],
        [`#/holds/${id}`, shown],
      ] as const) {
        await page.goto(`${gateway.baseUrl}/console${hash}`);
        await heading(page, title);
        const landmarks = ['banner', 'navigation', 'main', `heading: ${title}`];
        expect((await outline(page)).slice(0, 4)).to.deep.equal(landmarks);
        expect(await namelessControls(page)).to.deep.equal([]);
        expect(await lowContrasts(page)).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
        expect(await unreachedByTab(page)).to.deep.equal([]);
      }
    });
  }

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    for (const { errors, foreignRequests } of [olga, adam]) {
      expect(errors).to.deep.equal([]);
      expect(foreignRequests).to.deep.equal([]);
    }
  });
});
