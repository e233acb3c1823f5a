/** Applications in the console: the page on which a person decides, and the lists, in a real browser before scripted answers. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { GRANTABLE_SCOPES } from '../../commands/oauth/oauth-grant.ts';
import { MAILBOX_SCOPES } from '../../commands/values/scopes.ts';
import { requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { lowContrasts, namelessControls, unreachedByTab } from '../support/servers/page-checks.ts';
import { verifies } from '../support/suite/verifies.ts';
import { ConsoleStage, listOf, OWNER, refused } from '../support/worlds/console-stage.ts';
import { eventually } from '../support/worlds/gateway.ts';

const AT = '2026-01-02T03:04:05.000Z';
const UID = 'kS3_uid-of-a-request1';
const DECISION = 'POST /auth/authorization-requests';
const FIRST = { id: 'org_1', name: 'First' };
const DOCUMENT = {
  id: 'https://tool.example/client.json', kind: 'document', name: 'Mail tool \u202Egpj', host: 'tool.example',
  redirect_host: 'tool.example', only_loopback: false,
}; // prettier-ignore
const LOCAL = {
  id: 'oac_1', kind: 'dynamic', name: 'Local tool', host: null, redirect_host: '127.0.0.1:51234', only_loopback: true,
}; // prettier-ignore
const ANNA = { id: 'mbx_1', email: 'anna@example.com', scopes: MAILBOX_SCOPES };
const INFO = { id: 'mbx_2', email: 'info@example.com', scopes: ['messages:read'] };
const REQUEST = {
  application: DOCUMENT, organisation: FIRST, refusal: null, scopes: GRANTABLE_SCOPES, mailboxes: [ANNA, INFO],
  default_days: 30, most_days: 365, connections: [],
}; // prettier-ignore
const CONNECTION = {
  id: 'oag_1', application: DOCUMENT, user: { id: OWNER.id, name: OWNER.name }, scopes: ['messages:read', 'drafts:send'],
  mailbox_ids: null, connected_at: AT, expires_at: AT, last_used_at: null,
}; // prettier-ignore
const CLIENT = {
  id: 'oac_2', client_id: 'oac_2', kind: 'registered', name: 'Our tool', redirect_uris: ['https://our.example/back'],
  scopes: null, is_confidential: true, created_at: AT, created_by: OWNER.id, version: 3,
}; // prettier-ignore

describe('applications in the console', function () {
  this.timeout(90_000);
  let browser: TestBrowser;
  let stage: ConsoleStage;
  let page: Page;
  /** What `GET /oauth/authorize/<uid>/interaction` answers. */
  let interaction: { readonly status: number; readonly json: object };

  before(async function () {
    browser = await requireBrowser(this);
    stage = await ConsoleStage.start(browser, { signUp: 'open', hasSystemMail: false });
    ({ page } = stage.person);
    await page.route(`${stage.url}/oauth/authorize/*/interaction`, (route) => route.fulfill(interaction));
    await page.route(`${stage.url}/oauth/authorize/*decided*`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: '<title>back</title><h1>Back in the application</h1>',
      }),
    );
  });
  beforeEach(async () => {
    stage.reset();
    interaction = { status: 200, json: { consent_token: 'a-token' } };
    stage.answer('POST /auth/authorization-requests/read', REQUEST);
    stage.answer(DECISION, redirect());
    stage.answer('GET /org', { ...FIRST, oauth_clients: 'any' });
    await page.setViewportSize({ width: 1_280, height: 900 });
  });
  after(async () => {
    await browser.close();
    await stage.close();
  });

  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const text = (words: string | RegExp): Promise<void> => page.getByText(words).first().waitFor();
  const heading = (name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const open = (): Promise<void> => stage.open(`#/connect/${UID}`);
  const back = (): Promise<void> => heading('Back in the application');
  const redirect = (): { redirect_to: string } => ({
    redirect_to: `${stage.url}/oauth/authorize/${UID}?decided=yes`,
  });
  const decided = (): unknown => stage.asked(DECISION).at(-1)?.body;
  const reads = (application: object, more: object = {}): void => {
    stage.answer('POST /auth/authorization-requests/read', { ...REQUEST, application, ...more });
  };
  /** Without that of the empty page in between, which has no storage. */
  const errors = (): readonly string[] =>
    stage.person.errors.filter((error) => !error.includes("'sessionStorage'"));
  const among = (name: string) => page.getByRole('checkbox', { name, exact: true });

  it(`shows who asks and where the answer goes, and allows only what is ticked ${verifies('contract:18:console-applications')}`, async () => {
    await open();
    await heading('Connect “Mail tool U+202Egpj”?');
    await text('Nobody has verified that name.');
    await text('tool.example (verified)');
    expect(await among('Read the text of mails').isChecked()).to.equal(true);
    expect(await among('Send mails in your name').isChecked(), 'nothing grave by itself').to.equal(false);
    expect(await among('Delete mails so that nobody can restore them').isChecked()).to.equal(false);
    await text('They are not ticked');
    await press('Allow');
    await text('Choose at least one mailbox, or all of them.');
    expect(decided(), 'nothing is decided before the button').to.equal(undefined);
    for (const group of ['Sort', 'Write drafts', 'Ask for approval']) await among(`${group}: all`).uncheck();
    await among('Download mails as they arrived, with every header').uncheck();
    await page.getByRole('checkbox', { name: /^anna@example\.com/ }).check();
    await text('You hold only some of these rights there.');
    await page.getByLabel('For how long').selectOption('7 days');
    const confirmed = [refused('step_up_required'), redirect()];
    stage.answer(DECISION, () => confirmed[stage.asked(DECISION).length - 1] ?? {});
    await press('Allow');
    await page.getByLabel('Password', { exact: true }).fill('a password');
    await press('Confirm');
    await back();
    expect(decided()).to.deep.equal({
      consent_token: 'a-token',
      org_id: 'org_1',
      decision: 'allow',
      scopes: ['mailboxes:read', 'folders:read', 'messages:read', 'messages:body', 'attachments:read', 'drafts:read'],
      mailbox_ids: ['mbx_1'],
      expires_in_days: 7,
    }); // prettier-ignore
    expect(errors()).to.deep.equal([]);
  });

  it(`warns of a program on the computer that registered itself, and refuses by keyboard at 360 pixels ${verifies('contract:18:console-applications')}`, async () => {
    reads(LOCAL, { scopes: ['drafts:send'], connections: [{ id: 'oag_9', connected_at: AT }] });
    await page.setViewportSize({ width: 360, height: 740 });
    await open();
    await heading('Connect “Local tool”?');
    await text('any program there can claim to be it');
    await text('It registered itself, and nobody vouches for it.');
    await text('It has 1 connection of yours already');
    expect(await among('Send mails in your name').isChecked(), 'it asks for nothing else').to.equal(true);
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
    expect(await lowContrasts(page)).to.deep.equal([]);
    expect(await namelessControls(page)).to.deep.equal([]);
    expect(await unreachedByTab(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Refuse' }).focus();
    await page.keyboard.press('Enter');
    await back();
    expect(decided()).to.deep.equal({ consent_token: 'a-token', org_id: 'org_1', decision: 'deny' });
  });

  it(`keeps the request while the person signs in, and in another organisation ${verifies('contract:18:console-applications')}`, async () => {
    stage.answer('GET /auth/session', refused('unauthenticated', 401));
    await open();
    await text('An application asks for access. Sign in to see what it wants.');
    stage.reset();
    const second = { id: 'org_2', name: 'Second' };
    const organisations = [FIRST, second].map((org) => ({ ...org, role: 'owner', erase_at: null }));
    stage.answer('GET /users/me', { ...OWNER, is_verified: true, notifications: 'each', organisations });
    stage.answer('POST /auth/login', { session_token: 'bearer' });
    stage.answer('POST /auth/switch-org', { session_token: 'other' });
    stage.answer(DECISION, redirect());
    reads(DOCUMENT);
    await page.getByLabel('E-mail').fill(OWNER.email);
    await page.getByLabel('Password', { exact: true }).fill('a password');
    await page.keyboard.press('Enter');
    await heading('Connect “Mail tool U+202Egpj”?');
    reads(DOCUMENT, { organisation: second });
    await press('Use Second instead');
    await page.locator('dd').getByText('Second', { exact: true }).waitFor();
    expect(new URL(page.url()).hash).to.equal(`#/connect/${UID}`);
    await press('Refuse');
    await back();
    expect(stage.asked('POST /auth/switch-org')[0]?.body).to.deep.equal({ org_id: 'org_2' });
  });

  it(`says what to do where the organisation does not allow it ${verifies('contract:18:console-applications')}`, async () => {
    reads(DOCUMENT, { refusal: 'Ask an owner to approve it.' });
    stage.answer('GET /org', { ...FIRST, oauth_clients: 'approved' });
    stage.answer('POST /org/oauth-clients', { ...CLIENT, kind: 'approved', client_id: DOCUMENT.id, is_confidential: false, secret_shown: false }); // prettier-ignore
    await open();
    await text('Ask an owner to approve it.');
    expect(await page.getByRole('button', { name: 'Allow' }).count()).to.equal(0);
    await page.getByRole('link', { name: 'Approve this application' }).click();
    await press('Save the application');
    await heading('Approved', 2);
    expect(stage.asked('POST /org/oauth-clients')[0]?.body).to.deep.equal({
      name: DOCUMENT.name,
      client_id: DOCUMENT.id,
      scopes: null,
    });
    reads(DOCUMENT);
    await page.getByRole('link', { name: 'Return to its request' }).click();
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    reads(DOCUMENT, { refusal: 'Ask an owner to register it.' });
    stage.answer('GET /org', { ...FIRST, oauth_clients: 'registered' });
    await open();
    await page.getByRole('link', { name: 'change that rule or register it' }).waitFor();
    stage.answer('GET /auth/session', { user: OWNER, org: FIRST, role: 'member' });
    stage.answer('GET /identity', { token: { scopes: ['org:read'] }, mailboxes: [] });
    await open();
    await heading('It cannot be connected here', 2);
    expect(await page.getByRole('link', { name: 'change that rule or register it' }).count()).to.equal(0);
  });

  it(`names the organisation that registered it only where it is this one ${verifies('contract:18:console-applications')}`, async () => {
    const registered = { ...DOCUMENT, id: CLIENT.id, kind: 'registered', name: CLIENT.name, host: null };
    reads(registered);
    await open();
    await text('Our tool, registered by First.');
    reads(registered, { refusal: 'Another organisation registered this application.' });
    await open();
    await text('Our tool, registered by another organisation.');
    expect(await page.getByText('registered by First').count()).to.equal(0);
  });

  it(`says what to do when the request is over, was decided, or began elsewhere ${verifies('contract:18:console-applications')}`, async () => {
    const gone = {
      code: 'not_found',
      message: 'There is no such connection.',
      request_id: 'req_1',
      details: {},
    };
    interaction = { status: 404, json: { error: gone } };
    await open();
    await heading('Nothing waits here');
    await text('it was begun in another browser, or by somebody else');
    interaction = { status: 503, json: { error: { ...gone, code: 'store_unavailable', message: 'Later.' } } };
    await open();
    await text('This page tries again in a few seconds.');
    interaction = { status: 200, json: { consent_token: 'a-token' } };
    await page.clock.fastForward(6_000);
    await heading('Connect “Mail tool U+202Egpj”?');
    stage.answer('POST /auth/authorization-requests/read', refused('not_found', 404));
    await open();
    await heading('Nothing waits here');
    reads(DOCUMENT, { mailboxes: [ANNA] });
    stage.answer(DECISION, refused('conflict', 409));
    await open();
    expect(await page.getByRole('checkbox', { name: ANNA.email }).isChecked(), 'the only mailbox').to.equal(
      true,
    );
    await press('Allow');
    await text('Go back to the application and connect again.');
    reads(DOCUMENT, { scopes: [], mailboxes: [] });
    await open();
    await text('you hold none of the rights that it asks for');
    expect(await page.getByRole('button', { name: 'Allow' }).count()).to.equal(0);
  });

  it(`disconnects an application, for its person and for an owner ${verifies('contract:18:console-applications')}`, async () => {
    let connections: object[] = [CONNECTION];
    stage.answer('GET /org/connected-applications', () => listOf(...connections));
    stage.answer('DELETE /org/connected-applications/oag_1', () => {
      connections = [];
      return {};
    });
    for (const [address, end, userId] of [
      ['#/account', 'Disconnect… Mail tool [U+202E]gpj', OWNER.id],
      // An owner sees those of everybody.
      ['#/applications', 'Disconnect… Mail tool [U+202E]gpj of Olga Owner', undefined],
    ] as const) {
      connections = [CONNECTION];
      await stage.open(address);
      await text('Read, send');
      await press(end);
      await text('It is refused at once');
      await press('Disconnect');
      await page.getByRole('button', { name: end }).waitFor({ state: 'detached' });
      expect(stage.asked('DELETE /org/connected-applications/oag_1')[0]?.key).to.match(/^console-/);
      const asked = stage.asked('GET /org/connected-applications');
      expect(asked.length).to.be.at.least(2);
      for (const { query } of asked) expect(query['user_id'], address).to.equal(userId);
    }
  });

  it(`registers an application with a secret that is shown once, changes and deletes it, and sets the rule ${verifies('contract:18:console-applications')}`, async () => {
    stage.answer('POST /org/oauth-clients', { ...CLIENT, client_secret: 'mgc_secret', secret_shown: true });
    stage.answer('GET /org/oauth-clients', listOf(CLIENT));
    stage.answer('GET /org/oauth-clients/oac_2', CLIENT);
    stage.answer('PATCH /org/oauth-clients/oac_2', CLIENT);
    stage.answer('PATCH /org', { ...FIRST, oauth_clients: 'approved' });
    await stage.open('#/applications/new');
    await page.getByLabel('Name', { exact: true }).fill('Our tool');
    await page.getByLabel('Redirect addresses').fill(' https://our.example/back \n\nhttp://127.0.0.1/back');
    await page.getByRole('checkbox', { name: /can keep a secret/ }).check();
    await page.getByRole('radio', { name: 'At most these rights' }).check();
    await among('Read: all').check();
    await press('Save the application');
    expect(await page.getByLabel('client secret', { exact: true }).inputValue()).to.equal('mgc_secret');
    expect(stage.asked('POST /org/oauth-clients')[0]?.body).to.deep.equal({
      name: 'Our tool',
      scopes: ['mailboxes:read', 'folders:read', 'messages:read', 'messages:body', 'attachments:read', 'messages:raw', 'drafts:read'],
      redirect_uris: ['https://our.example/back', 'http://127.0.0.1/back'],
      confidential: true,
    }); // prettier-ignore
    await page.getByRole('link', { name: 'Open the application' }).click();
    await heading('Our tool');
    expect(await page.getByText('mgc_secret').count()).to.equal(0);
    await page.getByLabel('Name', { exact: true }).fill('Their tool');
    await press('Save the changes');
    await eventually(() => {
      const change = { name: 'Their tool', redirect_uris: CLIENT.redirect_uris, scopes: null };
      expect(stage.asked('PATCH /org/oauth-clients/oac_2')[0]?.body).to.deep.equal(change);
      return Promise.resolve();
    });
    await heading('Our tool');
    await press('Delete the application…');
    await text('is disconnected at once');
    await press('Delete the application');
    await heading('Applications');
    expect(stage.asked('DELETE /org/oauth-clients/oac_2')).to.have.length(1);
    await page.getByRole('radio', { name: /^Approved applications/ }).check();
    await press('Save the rule');
    await text('It counts from now on');
    expect(stage.asked('PATCH /org')[0]?.body).to.deep.equal({ oauth_clients: 'approved' });
    expect(errors()).to.deep.equal([]);
    expect(stage.person.foreignRequests).to.deep.equal([]);
  });
});
