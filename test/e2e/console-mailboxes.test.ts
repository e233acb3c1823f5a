/** Mailboxes, grants, agents and tokens in a real browser and by keyboard, before a real gateway and Dovecot. */
import dns from 'node:dns';
import { expect } from 'chai';
import {
  type BrowserPerson,
  requireBrowser,
  shownSoon,
  type TestBrowser,
} from '../support/servers/browser.ts';
import { dnsServer, type DnsServer } from '../support/servers/dns-server.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { Keyboard } from '../support/servers/keyboard.ts';
import { checkNarrow, WIDE } from '../support/servers/narrow-page.ts';
import { eventually, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInNew, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const HOSTILE = '<img src=x onerror="document.title=1">\u202Egpj.exe';

/** Cancels the open dialog and presses the button behind it within one turn of the page. The dialogs open after that. */
const CANCEL_AND_PRESS_AGAIN = `(async () => {
  const buttonOf = (label, within) => [...within.querySelectorAll('button')].find((each) => each.textContent === label);
  buttonOf('Cancel', document.querySelector('dialog')).click();
  for (let turn = 0; turn < 20; turn += 1) await null;
  buttonOf('Remove…', document).click();
  return document.querySelectorAll('dialog[open]').length;
})()`;

describe('mailboxes, agents and tokens in the console', function () {
  this.timeout(180_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let person: BrowserPerson;
  let keys: Keyboard;
  let owner: SignedInPerson;
  let mailboxId: string;
  let names: DnsServer;
  const servers = dns.getServers();

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    const hosted = [{ type: 'MX', priority: 1, host: 'aspmx.l.google.com' }] as const;
    names = await dnsServer({ 'hosted.example': hosted });
    dns.setServers([names.address]);
    gateway = await startTestGateway();
    mailboxId = await gateway.addMailbox(dovecot.imap(), 'anna');
    owner = await signInOwner(gateway);
    await signInNew(gateway, 'member');
    person = await browser.newPerson(gateway.baseUrl, { viewport: WIDE });
    keys = new Keyboard(person.page);
    await signIn(person, owner.email);
  });
  after(async () => {
    dns.setServers(servers);
    await names[Symbol.asyncDispose]();
    await browser.close();
    await gateway.stop();
    await dovecot.dispose();
  });

  async function signIn({ page }: BrowserPerson, email: string): Promise<void> {
    await page.goto(`${gateway.baseUrl}/console#/mailboxes`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Mailboxes', level: 1 }).waitFor();
  }

  const heading = (name: string | RegExp, level = 1): Promise<void> =>
    person.page.getByRole('heading', { name, level }).waitFor();
  const open = async (path: string): Promise<void> => {
    await person.page.goto(`${gateway.baseUrl}/console${path}`);
  };
  const badge = (label: string): Promise<void> =>
    shownSoon(person.page.locator('.webhook-head').getByText(label, { exact: true }));
  const check = () => checkNarrow(person.page);
  const read = async (path: string): Promise<Json> => (await owner.rest('GET', path)).body;

  it(`lists mailboxes with their state and shows one with its servers ${verifies('contract:18:console-mailboxes')}`, async () => {
    await check();
    await keys.press('anna@example.com');
    await heading('anna@example.com');
    await badge('Connected');
    await person.page.getByText(`:${String(dovecot.imap().port)}, not encrypted`).waitFor();
    await person.page.getByText('With a password').waitFor();
    await check();
  });

  it(`gives, changes and ends a grant ${verifies('contract:18:console-mailboxes')}`, async () => {
    const { page } = person;
    const grants = async () => (await read(`/mailboxes/${mailboxId}/grants`)).items as Json[];
    const row = page.getByRole('list', { name: 'Grants' }).getByRole('listitem').filter({ hasText: 'Agent' });
    await row.getByText('Sort, write and send').waitFor();
    await keys.press('Change… the grant of Agent');
    await heading('Change the grant', 2);
    await page.getByLabel('Read and sort').focus();
    await page.keyboard.press('ArrowUp');
    await keys.fill('Ends on', '12312030');
    await page.keyboard.press('Enter');
    await row.getByText('Until 2030-12-31 23:59:59 UTC').waitFor();
    await row.getByText('Read', { exact: true }).waitFor();
    expect((await grants()).find(({ principal }) => principal.kind === 'agent')).to.include({
      expires_at: '2030-12-31T23:59:59.000Z',
    });
    await check();
    await keys.press('End… the grant of Agent');
    await heading('End the grant?', 2);
    await keys.press('End the grant');
    await eventually(async () => {
      expect(await grants()).to.have.length(1);
    });
    await keys.press('Give a grant…');
    await heading('Give a grant', 2);
    await keys.choose('To whom', 'Agent');
    await keys.press('Give the grant');
    await row.getByText('Read and sort').waitFor();
    expect(await grants()).to.have.length(2);
  });

  it(`tests, pauses, resumes, removes and restores a mailbox ${verifies('contract:18:console-mailboxes', 'contract:18:console-keyboard')}`, async () => {
    const { page } = person;
    await keys.press('Test the connection');
    await heading('Connection test', 2);
    await page.getByRole('list', { name: 'Incoming mail (IMAP)' }).getByText('Ready: done').waitFor();
    await page
      .getByRole('list', { name: 'Outgoing mail (SMTP)' })
      .getByText('The server answers: failed')
      .waitFor();
    await check();
    await keys.press('Pause');
    await badge('Paused');
    await keys.press('Resume');
    await badge('Connected');
    await keys.press('Remove…');
    await heading('Remove this mailbox?', 2);
    await page.keyboard.press('Escape');
    expect((await read(`/mailboxes/${mailboxId}`)).state).to.equal('connected');
    await keys.press('Remove…');
    await heading('Remove this mailbox?', 2);
    expect(await page.evaluate(CANCEL_AND_PRESS_AGAIN), 'asked again before the next frame').to.equal(1);
    await keys.press('Remove mailbox');
    await badge('Removed');
    await page.getByText(/^It is erased on /).waitFor();
    expect((await read('/mailboxes')).items).to.deep.equal([]);
    expect((await read('/mailboxes?removed=true')).items).to.have.length(1);
    await keys.press('← Mailboxes');
    await page.getByText('Can be restored until').waitFor();
    await keys.press('anna@example.com');
    await badge('Removed');
    await keys.press('Restore');
    await badge('Connected');
    expect((await read('/mailboxes?removed=true')).items).to.deep.equal([]);
  });

  it(`says why a mailbox does not connect, and reconnects it with another password ${verifies('contract:18:console-mailboxes', 'contract:18:console-errors')}`, async () => {
    const { page } = person;
    await owner.rest('PUT', `/mailboxes/${mailboxId}/credentials`, { password: 'no longer right' });
    await badge('Sign-in refused');
    await page.getByText('The mail server refuses the user name or the password.').waitFor();
    await check();
    await keys.press('Reconnect');
    await heading('Reconnect the mailbox');
    await check();
    await keys.fill('User name', 'anna');
    await keys.fill('Password of the mailbox', PASSWORD);
    await page.keyboard.press('Enter');
    await heading('anna@example.com');
    await badge('Connected');
    await page.getByRole('list', { name: 'Incoming mail (IMAP)' }).getByText('Ready: done').waitFor();
  });

  it(`offers the provider of an address, and says what to do where the gateway is not registered there ${verifies('contract:18:console-mailboxes', 'contract:18:console-errors')}`, async () => {
    const { page } = person;
    await open('#/mailboxes');
    await keys.press('Connect a mailbox');
    await heading('Connect a mailbox');
    await keys.fill('Address of the mailbox', 'anna@hosted.example');
    await page.keyboard.press('Enter');
    await page.getByText('These are the servers of the provider that takes your mail.').waitFor();
    expect(await page.getByRole('radio', { name: /^With Google/ }).isChecked()).to.equal(true);
    expect(await page.getByLabel('Password of the mailbox').isVisible()).to.equal(false);
    await check();
    await keys.press('Connect the mailbox');
    await page.getByText('The operator has not registered this gateway with the provider.').waitFor();
    await page.getByRole('radio', { name: 'With a password' }).focus();
    await page.keyboard.press('Space');
    await page.getByText('Google wants an app password').waitFor();
    await keys.press('Another address');
    await keys.fill('Address of the mailbox', 'anna@unknown.example');
    await page.keyboard.press('Enter');
    await page.getByText('No servers were found.').waitFor();
    expect(await page.evaluate('document.activeElement.name')).to.equal('imap_host');
    await check();
    expect((await read('/mailboxes')).items).to.have.length(1);
  });

  it(`makes, renames, hands over and deletes an agent ${verifies('contract:18:console-tokens')}`, async () => {
    const { page } = person;
    await open('#/agents');
    await heading('Agents');
    await check();
    await keys.press('Make an agent');
    await heading('Make an agent');
    await keys.fill('Name of the agent', HOSTILE.replace('\u202E', ''));
    await page.keyboard.press('Enter');
    await page.getByText('No tokens yet').waitFor();
    expect(await page.locator('main img').count()).to.equal(0);
    await check();
    await keys.press('Rename…');
    await keys.fill('Name', 'Sorter');
    await page.keyboard.press('Enter');
    await heading('Sorter');
    await keys.press('Hand over…');
    await heading('Hand over the agent?', 2);
    await keys.choose('To whom', 'Ms member');
    await keys.press('Hand over');
    await page.getByText('Owned by Ms member').waitFor();
    await keys.press('Delete…');
    await heading('Delete this agent?', 2);
    await keys.press('Delete agent');
    await heading('Agents');
    const { items } = await read('/agents');
    expect(items.map(({ name }: Json) => name as string)).to.deep.equal(['Agent']);
  });

  it(`issues a token, shows it once, renames, shortens and revokes it ${verifies('contract:18:console-tokens', 'contract:18:console-keyboard')}`, async () => {
    const { page } = person;
    await open('#/tokens');
    await heading('Tokens');
    await check();
    await keys.press('Issue a token');
    await heading('Issue a token');
    await check();
    await keys.fill('Name', 'Nightly');
    await keys.choose('For', 'Agent');
    await page.getByRole('radio', { name: /^REST/ }).focus();
    await page.keyboard.press('Space');
    await keys.choose('It ends', 'In one year');
    await keys.press('Issue the token');
    await heading('Token', 2);
    await check();
    const secret = await page.getByRole('textbox', { name: 'token', exact: true }).inputValue();
    expect(await page.getByRole('group', { name: 'REST calls' }).innerText()).to.contain(secret);
    const used = await gateway.rest('GET', '/identity', undefined, { token: secret });
    expect(used.body.principal.id).to.equal(gateway.tokens.agentId);
    await keys.press('Open the token');
    await heading('Nightly');
    expect(await page.content()).not.to.contain(secret);
    await badge('Active');
    await page.getByText('Read', { exact: true }).waitFor();
    await check();
    await keys.press('Rename…');
    await keys.fill('Name', 'Hourly');
    await page.keyboard.press('Enter');
    await heading('Hourly');
    await keys.press('Shorten…');
    await heading('Shorten the token', 2);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
    await page.getByLabel('Ends (UTC)').fill(tomorrow);
    await page.keyboard.press('Enter');
    await page.getByText(`${tomorrow.replace('T', ' ')}:00 UTC`).waitFor();
    await keys.press('Revoke…');
    await heading('Revoke this token?', 2);
    await keys.press('Revoke token');
    await badge('Revoked');
    const refused = await gateway.rest('GET', '/identity', undefined, { token: secret });
    expect(refused.status).to.equal(401);
  });

  it(`shows a member what is theirs, and no more ${verifies('contract:18:console-pages')}`, async () => {
    const other = await browser.newPerson(gateway.baseUrl, { viewport: WIDE });
    await signIn(other, 'member@example.com');
    await other.page.getByText('Ask an owner or admin for a grant on one.').waitFor();
    expect(await other.page.getByRole('link', { name: 'Connect a mailbox' }).count()).to.equal(0);
    await other.page.getByRole('link', { name: 'Tokens' }).click();
    await other.page.getByText('No tokens yet').waitFor();
    await other.page.goto(`${gateway.baseUrl}/console#/mailboxes/${mailboxId}`);
    await other.page.getByText('The link may be wrong, or it was removed.').waitFor();
    expect(other.errors).to.deep.equal([]);
    await other.context.close();
  });

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
