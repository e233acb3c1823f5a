/** People, invites, accounts and organisations in a real browser, with mails from a real SMTP server. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import {
  type BrowserPerson,
  readUntil,
  requireBrowser,
  shownSoon,
  type TestBrowser,
} from '../support/servers/browser.ts';
import { lowContrasts, namelessControls, unreachedByTab } from '../support/servers/page-checks.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInOwner, signInWith, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const NEW_PASSWORD = 'quite another long passphrase';

describe('people in the console', function () {
  this.timeout(180_000);
  let gateway: TestGateway;
  let browser: TestBrowser;
  let sink: ScriptedSmtp;
  let owner: SignedInPerson;
  let olga: BrowserPerson;
  let ina: BrowserPerson;
  let sally: BrowserPerson;
  const people: BrowserPerson[] = [];
  /** Links of mails that a test has taken. */
  const taken = new Set<string>();

  before(async function () {
    browser = await requireBrowser(this);
    sink = await ScriptedSmtp.start();
    gateway = await startTestGateway({
      env: { SIGNUP: 'open', SYSTEM_SMTP_URL: `smtp://127.0.0.1:${String(sink.port)}` },
    });
    owner = await signInOwner(gateway);
    [olga, ina, sally] = [await newPerson(), await newPerson(), await newPerson()];
    await signIn(olga, owner.email);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
    await sink.stop();
  });

  async function newPerson(): Promise<BrowserPerson> {
    const person = await browser.newPerson(gateway.baseUrl);
    people.push(person);
    return person;
  }
  const open = async ({ page }: BrowserPerson, path: string): Promise<void> => {
    await page.goto(`${gateway.baseUrl}/console${path}`);
  };
  const heading = ({ page }: BrowserPerson, name: string | RegExp, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const press = ({ page }: BrowserPerson, name: string): Promise<void> =>
    page.getByRole('button', { name, exact: true }).click();
  const text = ({ page }: BrowserPerson, words: string | RegExp): Promise<void> =>
    page.getByText(words).first().waitFor();
  const pages = ({ page }: BrowserPerson): Promise<string[]> =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts();

  async function fillSignIn({ page }: BrowserPerson, email: string, password: string): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.keyboard.press('Enter');
  }
  async function signIn(person: BrowserPerson, email: string, password = PERSON_PASSWORD): Promise<void> {
    await open(person, '');
    await fillSignIn(person, email, password);
    await isIn(person);
  }
  const isIn = ({ page }: BrowserPerson): Promise<void> =>
    page.getByRole('button', { name: 'Sign out' }).waitFor();
  async function choosePassword({ page }: BrowserPerson, label: string, password: string): Promise<void> {
    await page.getByLabel(label, { exact: true }).fill(password);
    await page.getByLabel('The same again').fill(password);
  }
  /** Opens a link as from a mail program: in a page that showed nothing of the console before. */
  async function follow(person: BrowserPerson, link: string): Promise<void> {
    await person.page.goto('about:blank');
    await person.page.goto(link);
  }

  /** The link of the newest mail to an address that no test has taken. */
  const linkTo = (email: string, word: string): Promise<string> =>
    eventually(async () => {
      for (const { to, raw } of sink.accepted.toReversed()) {
        if (!to.includes(email)) continue;
        const { text: written } = await simpleParser(raw);
        const link = new RegExp(`${gateway.baseUrl}/console#${word}=\\S+`).exec(written ?? '')?.[0];
        if (link === undefined || taken.has(link)) continue;
        taken.add(link);
        return link;
      }
      throw new Error(`no mail with a ${word} link to ${email}`);
    });

  async function invite(email: string, role: string): Promise<void> {
    await open(olga, '#/people/invite');
    await heading(olga, 'Invite someone');
    await olga.page.getByLabel('E-mail').fill(email);
    await olga.page.getByLabel(role).check();
    await press(olga, 'Send the invite');
    await heading(olga, 'Invite sent');
  }

  it(`invites a person, who accepts, signs in and sees what the role allows ${verifies('contract:18:console-people')}`, async () => {
    await invite('ina@example.com', 'Admin');
    const first = await linkTo('ina@example.com', 'invite');
    await olga.page.getByRole('link', { name: 'All people' }).click();
    await heading(olga, 'People');
    const row = olga.page.getByRole('listitem').filter({ hasText: 'ina@example.com' });
    await row.getByText('Admin · by Olga Owner').waitFor();
    await row.getByRole('button', { name: 'Send again' }).click();
    await text(olga, 'A new link is on its way');
    const second = await linkTo('ina@example.com', 'invite');

    await follow(ina, first);
    await text(ina, 'ask the person who invited you for a new one');
    await follow(ina, second);
    await heading(ina, 'Accept an invite');
    expect(ina.page.url()).not.to.contain('invite=');
    await text(ina, 'Olga Owner invites you to First.');
    await text(ina, 'ina@example.com');
    await ina.page.getByLabel('Your name').fill('Ina Invited');
    await choosePassword(ina, 'Password', PERSON_PASSWORD);
    await press(ina, 'Create the account and join');
    await text(ina, 'You are a member of First now. Sign in to continue.');
    expect(await ina.page.getByLabel('E-mail').inputValue()).to.equal('ina@example.com');
    await fillSignIn(ina, 'ina@example.com', PERSON_PASSWORD);
    await isIn(ina);
    expect(await pages(ina)).to.include('People');
    await follow(ina, second);
    await text(ina, 'Sign in if you have accepted it already.');
  });

  it(`withdraws an invite, whose link then says what to do ${verifies('contract:18:console-people')}`, async () => {
    await invite('nobody@example.com', 'Auditor');
    const link = await linkTo('nobody@example.com', 'invite');
    await open(olga, '#/people');
    const row = olga.page.getByRole('listitem').filter({ hasText: 'nobody@example.com' });
    await row.getByRole('button', { name: 'Withdraw' }).click();
    await press(olga, 'Withdraw invite');
    await text(olga, 'is withdrawn.');
    expect(await row.count()).to.equal(0);
    const stranger = await newPerson();
    await follow(stranger, link);
    await text(stranger, 'ask the person who invited you for a new one');
    await stranger.context.close();
  });

  it(`takes the page of a person away when the role no longer includes it, and all of it at removal ${verifies('contract:18:console-people')}`, async () => {
    await open(ina, '#/people');
    await heading(ina, 'People');
    await open(olga, '#/people');
    await olga.page.getByRole('link', { name: 'Ina Invited' }).click();
    await heading(olga, 'Ina Invited');
    await olga.page.getByLabel('Member', { exact: false }).first().check();
    await press(olga, 'Change the role');
    await shownSoon(ina.page.getByText('Your role does not include this.'));
    expect(await pages(ina)).not.to.include('People');

    await open(olga, '#/people');
    await olga.page.getByRole('link', { name: 'Ina Invited' }).click();
    await heading(olga, 'Ina Invited');
    await press(olga, 'Remove…');
    await heading(olga, 'Remove this person?', 2);
    await text(olga, 'Every session here ends at once.');
    await press(olga, 'Remove');
    await heading(olga, 'People');
    expect(await olga.page.getByRole('link', { name: 'Ina Invited' }).count()).to.equal(0);
    await open(ina, '#/account');
    await heading(ina, 'Sign in');
  });

  it(`makes an account by sign-up, which can do little until its address is verified ${verifies('contract:18:console-sign-up')}`, async () => {
    await open(sally, '');
    await sally.page.getByRole('link', { name: 'Create an account' }).click();
    await heading(sally, 'Create an account');
    await sally.page.getByLabel('Your name').fill('Sally Signer');
    await sally.page.getByLabel('E-mail').fill('sally@example.com');
    await sally.page.getByLabel('Organisation').fill('Second Ltd');
    await choosePassword(sally, 'Password', 'passwordpassword');
    await press(sally, 'Create the account');
    await sally.page.locator('.notice.bad li').waitFor();
    await choosePassword(sally, 'Password', PERSON_PASSWORD);
    await press(sally, 'Create the account');
    await text(sally, 'A mail is on its way to sally@example.com.');
    const first = await linkTo('sally@example.com', 'verify');
    await press(sally, 'Sign in');
    expect(await sally.page.getByLabel('E-mail').inputValue()).to.equal('sally@example.com');
    await fillSignIn(sally, 'sally@example.com', PERSON_PASSWORD);
    await isIn(sally);
    await text(sally, 'Verify your address.');
    await open(sally, '#/people');
    await text(sally, 'has it sent again');
    await follow(sally, first);
    await heading(sally, 'Verify your address');
    await press(sally, 'Verify the address');
    await isIn(sally);
    await heading(sally, 'Getting started');
    expect(await sally.page.getByText('Verify your address.').count()).to.equal(0);
    expect(await pages(sally)).to.include('People');
    await open(sally, '#/organisation');
    await heading(sally, 'Second Ltd');
    await text(sally, 'Owner');
    await follow(sally, first);
    await press(sally, 'Verify the address');
    await text(sally, 'It was used already');
  });

  it(`sets a forgotten password by mail, and answers the same for any address ${verifies('contract:18:console-sign-up')}`, async () => {
    await open(sally, '');
    await press(sally, 'Sign out');
    const answers: string[] = [];
    for (const email of ['sally@example.com', 'stranger@example.com']) {
      await open(sally, '');
      await sally.page.getByRole('link', { name: 'Forgot your password?' }).click();
      await heading(sally, 'Forgot your password?');
      await sally.page.getByLabel('E-mail').fill(email);
      await press(sally, 'Send the mail');
      answers.push(await sally.page.locator('.notice').innerText());
    }
    expect(answers[0]).to.equal(answers[1]);
    await follow(sally, await linkTo('sally@example.com', 'reset'));
    await heading(sally, 'Choose a password');
    await choosePassword(sally, 'New password', NEW_PASSWORD);
    await press(sally, 'Set the password');
    await text(sally, 'Password set. Sign in with it.');
    await fillSignIn(sally, 'sally@example.com', NEW_PASSWORD);
    await isIn(sally);
  });

  it(`lets an existing person join by one button, and switch between organisations ${verifies('contract:18:console-people')}`, async () => {
    await invite('sally@example.com', 'Approver');
    await follow(sally, await linkTo('sally@example.com', 'invite'));
    await heading(sally, 'Accept an invite');
    expect(await sally.page.getByLabel('Password').count(), 'nothing but the button').to.equal(0);
    await press(sally, 'Join the organisation');
    await text(sally, 'You are a member of First now.');
    await fillSignIn(sally, 'sally@example.com', NEW_PASSWORD);
    await isIn(sally);
    const summary = sally.page.locator('summary');
    const now = await summary.innerText();
    expect(now).to.be.oneOf(['First', 'Second Ltd']);
    const other = now === 'First' ? 'Second Ltd' : 'First';
    await summary.press('Enter');
    await sally.page.getByRole('button', { name: `Switch to ${other}` }).press('Enter');
    await sally.page.locator('summary', { hasText: other }).waitFor();
    await sally.page.reload();
    await sally.page.locator('summary', { hasText: other }).waitFor();
    if (other === 'First') {
      expect(await pages(sally)).not.to.include('People');
      await sally.page.locator('summary').press('Enter');
      await press(sally, 'Switch to Second Ltd Owner');
      await sally.page.locator('summary', { hasText: 'Second Ltd' }).waitFor();
    }
    await open(sally, '#/organisation/new');
    await sally.page.getByLabel('Name').fill('Third Ltd');
    await press(sally, 'Create the organisation');
    await heading(sally, 'Third Ltd');
  });

  it(`deletes an organisation by its typed name, and restores it ${verifies('contract:18:console-organisation')}`, async () => {
    await press(sally, 'Delete the organisation…');
    await heading(sally, 'Delete this organisation?', 2);
    await sally.page.getByLabel('Type Third Ltd to confirm').fill('Second Ltd');
    await press(sally, 'Delete organisation');
    await text(sally, 'Nothing was done.');
    await sally.page.getByLabel('Type Third Ltd to confirm').fill('Third Ltd');
    await press(sally, 'Delete organisation');
    await text(sally, 'The organisation is deleted.');
    await fillSignIn(sally, 'sally@example.com', NEW_PASSWORD);
    await isIn(sally);
    await sally.page.locator('summary').press('Enter');
    await press(sally, 'Switch to Third Ltd Deleted');
    await heading(sally, 'This organisation is deleted');
    await press(sally, 'Restore the organisation');
    await sally.page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await open(sally, '#/organisation');
    await heading(sally, 'Third Ltd');
    await press(sally, 'Leave…');
    await press(sally, 'Leave');
    await text(sally, 'Make someone else an owner first');
    await press(sally, 'Cancel');
  });

  it(`changes the own account: name, password, mails, sessions, data ${verifies('contract:18:console-account')}`, async () => {
    const { page } = olga;
    await open(olga, '#/account');
    await heading(olga, 'Account');
    await page.getByLabel('Name', { exact: true }).fill('Olga O. Owner');
    await press(olga, 'Save the name');
    await page.getByRole('link', { name: 'Olga O. Owner' }).waitFor();
    await page.getByLabel('Once a day').check();
    await press(olga, 'Save the choice');
    await page.locator('.notice', { hasText: 'Saved.' }).waitFor();
    expect((await owner.rest('GET', '/users/me')).body).to.include({
      name: 'Olga O. Owner',
      notifications: 'digest',
    });
    const sessions = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem');
    const before = await sessions.count();
    await signInWith(gateway.baseUrl, owner.email);
    await readUntil(page, async () => (await sessions.count()) > before);
    expect(await sessions.count()).to.equal(before + 1);
    await sessions.filter({ hasText: 'This one' }).getByText('Chrome').waitFor();
    await sessions.filter({ hasText: 'This one' }).getByText('In First', { exact: true }).waitFor();
    await sessions.filter({ hasNotText: 'This one' }).first().getByRole('button').click();
    await eventually(async () => {
      expect(await sessions.count()).to.equal(before);
    });
    const saving = page.waitForEvent('download');
    await press(olga, 'Download your data');
    const saved = JSON.parse(await readFile(await (await saving).path(), 'utf8')) as object;
    expect(JSON.stringify(saved)).to.contain('Olga O. Owner');
    await page.getByLabel('Present password').fill(PERSON_PASSWORD);
    await choosePassword(olga, 'New password', NEW_PASSWORD);
    await press(olga, 'Change the password');
    await text(olga, 'Your other sessions have ended.');
    expect((await owner.rest('GET', '/users/me')).status).to.equal(401);
    await press(olga, 'End all sessions…');
    await press(olga, 'End all');
    await text(olga, 'All your sessions have ended.');
    await fillSignIn(olga, owner.email, NEW_PASSWORD);
    await isIn(olga);
  });

  const EACH = ['#/people', '#/people/invite', '#/account', '#/organisation', '#/organisation/new'];
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by eye and by ear, by keyboard alone, on a telephone, in ${colorScheme} ${verifies('contract:18:console-keyboard')}`, async () => {
      const { page } = olga;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const path of [...EACH, `#/people/${owner.userId}`]) {
        await open(olga, '#/approvals');
        await heading(olga, 'Approvals');
        await open(olga, path);
        await page.locator('main:not([aria-busy]) h1:focus').waitFor();
        expect(await namelessControls(page), path).to.deep.equal([]);
        expect(await lowContrasts(page), path).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth'), path).to.equal(360);
        expect(await unreachedByTab(page), path).to.deep.equal([]);
      }
    });
  }

  it(`erases the account after its address was typed ${verifies('contract:18:console-account')}`, async () => {
    await open(olga, '#/account');
    await press(olga, 'Delete your account…');
    await olga.page.getByLabel(`Type ${owner.email} to confirm`).fill(owner.email);
    await press(olga, 'Delete account');
    await text(olga, 'Make someone else an owner there first');
    await press(olga, 'Cancel');
    await invite('eve@example.com', 'Member');
    const eve = await newPerson();
    await follow(eve, await linkTo('eve@example.com', 'invite'));
    await eve.page.getByLabel('Your name').fill('Eve Erased');
    await choosePassword(eve, 'Password', PERSON_PASSWORD);
    await press(eve, 'Create the account and join');
    await text(eve, 'You are a member of First now.');
    await fillSignIn(eve, 'eve@example.com', PERSON_PASSWORD);
    await isIn(eve);
    await open(eve, '#/account');
    await press(eve, 'Delete your account…');
    await eve.page.getByLabel('Type eve@example.com to confirm').fill('eve@example.com');
    // A poll may learn that the session has ended before the page has the answer.
    await eve.page.route('**/users/me', async (route) => {
      const response = await route.fetch();
      await text(eve, 'Your session has ended.');
      await route.fulfill({ response });
    });
    await press(eve, 'Delete account');
    await text(eve, 'Your account is deleted.');
    await fillSignIn(eve, 'eve@example.com', PERSON_PASSWORD);
    await text(eve, 'Check the address and the password.');
    await open(olga, '#/people');
    await heading(olga, 'People');
    expect(await olga.page.getByText('Eve Erased').count()).to.equal(0);
  });

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    for (const { errors, foreignRequests } of people) {
      expect(errors).to.deep.equal([]);
      expect(foreignRequests).to.deep.equal([]);
    }
  });
});
