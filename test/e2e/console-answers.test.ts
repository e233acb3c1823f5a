/** What the console makes of answers that come late, seldom or not at all, in a real browser before scripted answers. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { MAILBOX_SCOPES, PRESETS } from '../../commands/values/scopes.ts';
import { requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { verifies } from '../support/suite/verifies.ts';
import {
  type Answer,
  ConsoleStage,
  identity,
  listOf,
  OWNER,
  refused,
} from '../support/worlds/console-stage.ts';
import { eventually } from '../support/worlds/gateway.ts';

const AT = '2026-01-02T03:04:05.000Z';
const HOSTS = { host: 'mail.example.com', port: 993, security: 'tls' };
const MAILBOX = {
  id: 'mbx_1', email: 'anna@example.com', display_name: null, provider: 'imap', auth_type: 'password', state: 'connected',
  state_reason: null, imap: HOSTS, smtp: HOSTS, folder_roles: {}, sync: { last_event_at: null, indexed: 1, total: 1 },
  created_at: AT, version: 1,
}; // prettier-ignore
const HELD = identity({ id: MAILBOX.id, email: MAILBOX.email, scopes: MAILBOX_SCOPES });
const REPORT = { ok: true, stage: 'ready', latency_ms: 1 };
/** With a name that turns what follows it around. */
const AGENT = { id: 'agt_1', name: 'Helper \u202Egpj', owner_id: OWNER.id, created_at: AT };
const GRANT = {
  id: 'grt_1', mailbox_id: MAILBOX.id, principal: { id: AGENT.id, kind: 'agent' }, scopes: PRESETS.triage, folder_roles: null,
  expires_at: '2031-05-06T07:08:09.000Z', created_at: AT,
}; // prettier-ignore
const TOKEN = {
  id: 'tok_1', name: 'Nightly', principal: GRANT.principal, scopes: PRESETS.reader, mailbox_ids: null, surface: 'rest',
  expires_at: AT, last_used_at: null, created_at: AT, status: 'active', secret_shown: false,
}; // prettier-ignore

describe('the console before answers that are seldom', function () {
  this.timeout(90_000);
  let browser: TestBrowser;
  let stage: ConsoleStage;
  let page: Page;

  before(async function () {
    browser = await requireBrowser(this);
    stage = await ConsoleStage.start(browser, { signUp: 'open', hasSystemMail: false });
    ({ page } = stage.person);
  });
  beforeEach(() => {
    stage.reset();
  });
  after(async () => {
    await browser.close();
    await stage.close();
  });

  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const text = (words: string | RegExp): Promise<void> => page.getByText(words).first().waitFor();
  const heading = (name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const hasAsked = (what: string, times: number): Promise<void> =>
    eventually(() => {
      expect(stage.asked(what).length, what).to.be.at.least(times);
      return Promise.resolve();
    });
  const bodies = (what: string): readonly unknown[] => stage.asked(what).map(({ body }) => body);

  it(`repeats the same request under the same key when the answer was lost ${verifies('contract:18:console-tokens', 'contract:18:console-organisation')}`, async () => {
    const answers = ['lost', refused('email_unverified'), TOKEN] as const;
    stage.answer('POST /tokens', () => answers[bodies('POST /tokens').length - 1] ?? TOKEN);
    await stage.open('#/tokens/new');
    await page.getByLabel('Name').fill('Nightly');
    await press('Issue the token');
    await text('The gateway cannot be reached.');
    await press('Issue the token');
    await text('Your account page has it sent again.');
    await page.getByLabel('It ends').first().selectOption('In 7 days');
    await press('Issue the token');
    await text('It was shown before and cannot be shown again.');
    const [first, repeated, other] = stage.asked('POST /tokens');
    expect(repeated).to.deep.equal(first);
    expect(other?.key, 'another end is another request').not.to.equal(first?.key);

    stage.answer('POST /org', 'lost');
    await page.evaluate("location.hash = '#/organisation/new'");
    await page.getByLabel('Name').fill('Second');
    await press('Create the organisation');
    await text('The gateway cannot be reached.');
    stage.answer('POST /org', { id: 'org_2' });
    stage.answer('POST /auth/switch-org', { session_token: 'other' });
    await press('Create the organisation');
    await hasAsked('POST /auth/switch-org', 1);
    const [made, again] = stage.asked('POST /org');
    expect(made?.key).to.match(/^console-/);
    expect(again).to.deep.equal(made);
  });

  it(`knows what a person may do in a mailbox as soon as it is connected ${verifies('contract:18:console-mailboxes')}`, async () => {
    const discovered = { imap: [HOSTS], smtp: [HOSTS], provider: 'gmail', source: 'known' };
    const found = [refused('email_unverified'), discovered] as const;
    stage.answer('POST /mailboxes/autodiscovery', () => found[bodies('POST /mailboxes/autodiscovery').length - 1] ?? {}); // prettier-ignore
    await stage.open('#/mailboxes/new');
    await page.getByLabel('Address of the mailbox').fill(MAILBOX.email);
    await press('Find the servers');
    await text('Your account page has it sent again.');
    await press('Find the servers');
    await text('These are the servers of the provider that takes your mail.');
    expect(await page.evaluate('document.activeElement.value'), 'what is shown has the focus').to.equal(
      'google',
    );
    await page.getByRole('radio', { name: 'With a password' }).check();
    await page.getByLabel('Password of the mailbox').fill('secret');
    stage.answer('POST /mailboxes', () => {
      stage.answer('GET /identity', HELD);
      return MAILBOX;
    });
    stage.answer('GET /mailboxes/mbx_1', { ...MAILBOX, state: 'pending' });
    stage.answer('POST /mailboxes/mbx_1/connection-tests', { imap: REPORT, smtp: REPORT });
    stage.answer('GET /mailboxes/mbx_1/folders/list', listOf({ id: 'fld_1', path: 'Mail/Sent things' }));
    await press('Connect the mailbox');
    await heading('Connection test', 2);
    expect(stage.asked('GET /mailboxes/mbx_1/folders/list')).to.deep.equal([]);
    stage.answer('GET /mailboxes/mbx_1', { ...MAILBOX, folder_roles: { sent: 'fld_1' } });
    await page.clock.fastForward(4_000);
    await text('Mail/Sent things');
    await page.clock.fastForward(4_000);
    await page.clock.fastForward(4_000);
    expect(stage.asked('GET /mailboxes/mbx_1/folders/list')).to.have.length(1);
  });

  it(`changes of a grant what was changed, and names no invisible characters ${verifies('contract:18:console-mailboxes')}`, async () => {
    stage.answer('GET /identity', HELD);
    stage.answer('GET /agents', listOf(AGENT));
    stage.answer('GET /mailboxes/mbx_1', MAILBOX);
    stage.answer('GET /mailboxes/mbx_1/grants', listOf(GRANT));
    stage.answer('PATCH /mailboxes/mbx_1/grants/grt_1', () => {
      stage.answer('GET /mailboxes/mbx_1/grants', listOf({ ...GRANT, scopes: PRESETS.reader }));
      return GRANT;
    });
    await stage.open('#/mailboxes/mbx_1');
    await press('Change… the grant of Helper [U+202E]gpj');
    await page.getByRole('radio', { name: /^Read Reads/ }).check();
    await press('Change the grant');
    await page.getByRole('list', { name: 'Grants' }).getByText('Read', { exact: true }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).to.match(/^Change… the grant of/);
    await hasAsked('GET /identity', 2);
    await press('Change… the grant of Helper [U+202E]gpj');
    await page.getByLabel('Ends on').fill('2031-05-07');
    await press('Change the grant');
    await hasAsked('PATCH /mailboxes/mbx_1/grants/grt_1', 2);
    expect(bodies('PATCH /mailboxes/mbx_1/grants/grt_1')).to.deep.equal([
      { preset: 'reader' },
      { preset: 'reader', expires_at: '2031-05-07T23:59:59Z' },
    ]);
    await press('Give a grant…');
    expect(await page.getByLabel('To whom').locator('option').allTextContents()).to.deep.equal([
      'Helper [U+202E]gpj (agent)',
      OWNER.name,
    ]);
  });

  it(`waits for the provider until the mailbox was authorized there, also past a failure ${verifies('contract:18:console-start')}`, async () => {
    const waiting = { ...MAILBOX, provider: 'google', auth_type: 'oauth2', state: 'pending' };
    stage.answer('GET /mailboxes', listOf(waiting));
    stage.answer('POST /mailboxes/mbx_1/provider-authorization', { authorize_url: 'https://example.com/' });
    stage.answer('POST /mailboxes/mbx_1/connection-tests', { imap: REPORT, smtp: REPORT });
    stage.answer('GET /mailboxes/mbx_1', refused('store_unavailable', 503));
    await stage.open('#/start');
    await page.getByRole('link', { name: 'Continue at Google' }).waitFor();
    await text('This page tries again in a few seconds.');
    stage.answer('GET /mailboxes/mbx_1', { ...waiting, state: 'connecting' });
    await page.clock.fastForward(1_500);
    await press('Continue');
    await heading('Make an agent', 2);
    expect(stage.asked('GET /members'), 'nobody is named here').to.deep.equal([]);
  });

  it(`promises no archive that the token does not allow ${verifies('contract:18:console-start')}`, async () => {
    stage.answer('GET /mailboxes', listOf(MAILBOX));
    stage.answer('GET /mailboxes/mbx_1', MAILBOX);
    stage.answer('GET /mailboxes/mbx_1/grants', listOf(GRANT));
    stage.answer('GET /agents', listOf(AGENT));
    stage.answer('GET /tokens', listOf(TOKEN));
    await stage.open('#/start');
    await text('Its grant or its token does not allow it to archive.');
    const done = page.getByRole('list', { name: 'What the agent has done' }).getByRole('listitem');
    await done.first().waitFor();
    expect(await done.allTextContents()).to.deep.equal(['Its first read of a mail: waiting…']);
  });

  const IN_THE_LOG = 'The link is in the log of the gateway; ask its operator.';

  it(`says where a link is when the gateway sends no mail ${verifies('contract:18:console-sign-up')}`, async () => {
    const invite = { id: 'inv_1', email: 'ina@example.com', role: 'member', mailbox_grants: [], expires_at: AT, created_at: AT, created_by: OWNER.id }; // prettier-ignore
    stage.answer('GET /users/me', { ...OWNER, is_verified: false, notifications: 'each', organisations: [] });
    stage.answer('GET /mailboxes', listOf(MAILBOX));
    stage.answer('GET /invites', listOf(invite));
    stage.answer('POST /invites', invite);
    await stage.open('#/people/invite');
    await page.locator('.unverified', { hasText: IN_THE_LOG }).waitFor();
    await press('Make a new link');
    await page.locator('.resend', { hasText: IN_THE_LOG }).waitFor();
    const choices = page.getByLabel(MAILBOX.email).locator('option');
    expect(await choices.allTextContents()).to.include('Sort, write and send');
    await page.getByLabel('E-mail').fill(invite.email);
    await press('Send the invite');
    await heading('Invite made');
    await page.locator('.lead', { hasText: IN_THE_LOG }).waitFor();
    await page.getByRole('link', { name: 'All people' }).click();
    await press('Send again the invite of ina@example.com');
    await page.locator('.notice[role=status]', { hasText: IN_THE_LOG }).waitFor();
    await press('Sign out');
    for (const door of ['#/forgot', '#/verify']) {
      await page.evaluate(`location.hash = '${door}'`);
      await page.getByLabel('E-mail').fill(OWNER.email);
      await press('Make the link');
      await text(IN_THE_LOG);
    }
    await page.evaluate("location.hash = '#/sign-up'");
    for (const label of ['Your name', 'Organisation']) await page.getByLabel(label).fill('Second');
    await page.getByLabel('E-mail').fill('second@example.com');
    for (const label of ['Password', 'The same again'])
      await page.getByLabel(label, { exact: true }).fill('a long passphrase');
    await press('Create the account');
    await text(IN_THE_LOG);
  });

  it(`draws the first page before it knows how far the road is, and leads back to it ${verifies('contract:18:console-start', 'contract:18:console-errors')}`, async () => {
    const tokens = Promise.withResolvers<Answer>();
    stage.answer('GET /identity', HELD);
    stage.answer('GET /mailboxes', listOf(MAILBOX));
    stage.answer('GET /tokens', () => tokens.promise);
    stage.answer('GET /agents', refused('internal_error', 500));
    await stage.open('#/');
    await heading('Approvals');
    tokens.resolve(listOf());
    await heading('This cannot be shown');
    const back = page.getByRole('main').getByRole('link', { name: 'Getting started', exact: true });
    expect(await back.getAttribute('href')).to.equal('#/start');
  });

  it(`learns once what a person may see now ${verifies('contract:18:console-pages')}`, async () => {
    await stage.open('#/account');
    await heading('Account');
    stage.answer('GET /auth/sessions', refused('insufficient_scope'));
    await page.clock.fastForward(4_000);
    await heading('This cannot be shown');
    await text('Your role does not include this.');
    expect(stage.asked('GET /auth/session')).to.have.length(2);
  });

  it(`stays in a session whatever is answered late to the one before ${verifies('contract:18:console-session')}`, async () => {
    const first = { id: 'org_1', name: 'First', role: 'owner', erase_at: null };
    const organisations = [first, { ...first, id: 'org_2', name: 'Second' }];
    stage.answer('GET /users/me', { ...OWNER, is_verified: true, notifications: 'each', organisations });
    const late = Promise.withResolvers<Answer>();
    stage.answer('GET /users/me/export', () => late.promise);
    stage.answer('POST /auth/switch-org', { session_token: 'other' });
    await stage.open('#/account');
    await press('Download your data');
    await hasAsked('GET /users/me/export', 1);
    await page.locator('summary').click();
    await press('Switch to Second Owner');
    await heading('Getting started');
    const ended = page.waitForResponse(/users\/me\/export/);
    late.resolve(refused('unauthenticated', 401));
    await (await ended).finished();
    await page.evaluate("location.hash = '#/account'");
    await heading('Account');
  });

  it(`lists every mailbox of many, and sends the name that was typed ${verifies('contract:18:console-mailboxes', 'contract:18:console-organisation')}`, async () => {
    stage.answer('GET /mailboxes', ({ query }) => {
      if (query['removed'] !== undefined) return listOf();
      if (query['cursor'] === 'more') return listOf({ ...MAILBOX, id: 'mbx_2', email: 'zoe@example.com' });
      return { items: [MAILBOX], page: { next_cursor: 'more' } };
    });
    await stage.open('#/mailboxes');
    await page.getByRole('link', { name: 'zoe@example.com' }).waitFor();
    stage.answer('GET /org', { id: 'org_1', name: 'First', created_at: AT, deletion: null, members: 1 });
    stage.answer('DELETE /org', refused('invalid_request', 422));
    await page.evaluate("location.hash = '#/organisation'");
    await press('Delete the organisation…');
    await page.getByLabel('Type First to confirm').fill('first ');
    await press('Delete organisation');
    await text('It was refused.');
    expect(bodies('DELETE /org')).to.deep.equal([{ name: 'first' }]);
  });

  it(`turns notifications off in a browser that refuses them to pages ${verifies('contract:18:console-notices')}`, async () => {
    await stage.person.context.addInitScript(`
      localStorage.setItem('mailbox-gateway.notifications', 'on');
      window.Notification = class { static permission = 'granted'; constructor() { throw new TypeError('Illegal'); } };`);
    await stage.open('#/account');
    await text('On in this browser, while the console is open.');
    const approval = { id: 'chk_1', action: 'expunge', requester: { id: AGENT.id }, names: {} };
    stage.answer('GET /approvals', listOf(approval));
    await page.clock.fastForward(4_000);
    await eventually(async () => {
      expect(await page.title()).to.match(/^\(1\)/);
    });
    expect(await page.evaluate("localStorage.getItem('mailbox-gateway.notifications')")).to.equal('off');
    await page.evaluate("location.hash = '#/agents'");
    await heading('Agents');
    await page.evaluate("location.hash = '#/account'");
    await text('This browser lets no page show notifications.');
  });
});
