import { expect } from 'chai';
import { freePort } from '../../infra/platform/reserved-port.ts';
import type { ProviderCredentials } from '../../commands/ports/mail-logins.ts';
import { PROVIDER_CALLBACK_PATH } from '../../commands/ports/mail-logins.ts';
import {
  type AuthorizationServer,
  CLIENT_ID,
  CLIENT_SECRET,
  startAuthorizationServer,
} from '../support/servers/authorization-server.ts';
import { requireBrowser } from '../support/servers/browser.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, type Json, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { ProviderBrowser } from '../support/servers/provider-browser.ts';
import { rejection } from '../support/suite/rejection.ts';
import { verifies } from '../support/suite/verifies.ts';
import { wholeLog } from '../support/samples/whole-log.ts';

const idOf = (mailbox: string): string => mailbox.slice('/mailboxes/'.length);

const ADDRESS = 'anna@example.com';

describe('mailboxes that log in with a provider', function () {
  this.timeout(90_000);
  let provider: AuthorizationServer;
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let callback: string;
  const lines: string[] = [];

  before(async function () {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${String(port)}`;
    callback = `${baseUrl}${PROVIDER_CALLBACK_PATH}`;
    provider = await startAuthorizationServer({ redirectUri: callback });
    dovecot = await requireTestDovecot(this, { introspectionUrl: provider.introspectionUrl });
    await appendMessages(dovecot.imap(), ADDRESS, [{ raw: plainMessage({ subject: 'Hello Anna' }) }]);
    const note = (message: string, fields?: object): void => {
      lines.push(`${message} ${JSON.stringify(fields)}`);
    };
    gateway = await startTestGateway({
      log: { info: note, warn: note, error: note },
      env: {
        PORT: String(port),
        OAUTH_GOOGLE_CLIENT_ID: CLIENT_ID,
        OAUTH_GOOGLE_CLIENT_SECRET: CLIENT_SECRET,
        OAUTH_GOOGLE_ISSUER: provider.issuer,
        OAUTH_MICROSOFT_CLIENT_ID: CLIENT_ID,
      },
    });
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
    await provider.stop();
  });

  const add = async (email = ADDRESS): Promise<string> => {
    const { status, body } = await gateway.rest('POST', '/mailboxes', {
      email,
      imap: dovecot.imap(),
      smtp: { ...dovecot.imap(), port: 25 },
      auth: { type: 'oauth2', provider: 'google' },
    });
    expect(status).to.equal(201);
    return `/mailboxes/${(body as { id: string }).id}`;
  };

  const authorizeUrl = async (mailbox: string): Promise<string> => {
    const path = `${mailbox}/provider-authorization`;
    const { status, body } = await gateway.rest('POST', path, { provider: 'google' });
    expect(status).to.equal(200);
    return (body as { authorize_url: string }).authorize_url;
  };

  /** What the page's form would send. */
  const post = (answer: URL, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(callback, { method: 'POST', body: new URLSearchParams(answer.searchParams), headers });

  const signIn = async (mailbox: string, login = ADDRESS, agrees = true): Promise<URL> =>
    await new ProviderBrowser().signIn(await authorizeUrl(mailbox), login, agrees);

  const connect = async (mailbox: string): Promise<void> => {
    expect((await post(await signIn(mailbox))).status).to.equal(200);
    await inState(mailbox, 'connected');
  };

  const stored = async (mailbox: string): Promise<ProviderCredentials | null> => {
    const credentials = await gateway.gateway.ports.secrets.loadMailCredentials(idOf(mailbox));
    return credentials?.kind === 'oauth2' ? credentials : null;
  };

  const inState = (mailbox: string, state: string): Promise<Json> =>
    eventually(async () => {
      const { body } = await gateway.rest('GET', mailbox);
      expect(body).to.include({ state });
      return body;
    });

  /** The newest refusal about the mailbox is one of the callback's. */
  const expectDenial = (mailbox: string, code: string): Promise<void> =>
    eventually(async () => {
      const id = idOf(mailbox);
      const { body } = await gateway.rest('GET', `/audit?type=RequestRefused&mailbox_id=${id}`);
      const capability = 'start_provider_authorization';
      expect(body.items[0]?.data).to.deep.equal({ capability, code, mailbox_id: id });
    });

  it(`wait until the provider is authorized, then connect and read mail ${verifies('contract:4:provider-waits', 'contract:17:provider-auth-field', 'contract:17:provider-authorization', 'contract:18:provider-page', 'contract:18:mailbox-provider', 'contract:17:route-mailbox-provider')}`, async () => {
    const mailbox = await add();
    const made = await inState(mailbox, 'pending');
    expect(made).to.include({
      auth_type: 'oauth2',
      provider: 'google',
      state_reason: 'authorization_required',
    });

    const answer = await signIn(mailbox);
    const looked = await fetch(answer);
    const page = await looked.text();
    expect(looked.status).to.equal(200);
    for (const named of ['First', ADDRESS, 'Olga Owner', '127.0.0.1']) expect(page).to.contain(named);
    expect(looked.headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/);
    expect(looked.headers.get('cache-control')).to.equal('no-store');
    // Looking, even twice, changes nothing.
    await fetch(answer);
    expect(provider.grants).to.deep.equal([]);
    await inState(mailbox, 'pending');

    const finished = await post(answer, { origin: new URL(callback).origin });
    expect(finished.status).to.equal(200);
    await inState(mailbox, 'connected');
    const { body } = await gateway.rest('GET', `${mailbox}/messages`);
    expect(body.items.map(({ subject }: { subject: string }) => subject)).to.deep.equal(['Hello Anna']);

    await eventually(async () => {
      const { body: audit } = await gateway.rest('GET', '/audit?type=MailboxProviderAuthorized');
      const [line] = audit.items;
      expect(line?.actor).to.include({ type: 'delegated', id: gateway.tokens.userId });
      expect(line.data).to.include({ provider: 'google' });
    });
    expect((await post(answer)).status, 'a second time').to.equal(404);
  });

  it(`name the expected account at the provider and prove the answer with PKCE ${verifies('contract:17:provider-authorization')}`, async () => {
    const mailbox = await add();
    const { body } = await gateway.rest('POST', `${mailbox}/provider-authorization`, { provider: 'google' });
    const { searchParams } = new URL(body.authorize_url as string);
    expect(Object.fromEntries(searchParams)).to.include({
      client_id: CLIENT_ID,
      redirect_uri: callback,
      response_type: 'code',
      code_challenge_method: 'S256',
      login_hint: ADDRESS,
      access_type: 'offline',
      prompt: 'consent',
    });
    expect(searchParams.get('scope')).to.contain('https://mail.google.com/');
    expect(Date.parse(body.expires_at as string) - Date.now()).to.be.within(590_000, 600_000);
  });

  it(`refuse another account than the mailbox's and revoke its tokens ${verifies('contract:18:provider-account')}`, async () => {
    const mailbox = await add();
    const answer = await signIn(mailbox, 'mallory@example.com');
    const refused = await post(answer);
    expect(refused.status).to.equal(409);
    const page = await refused.text();
    expect(page).to.contain(`with another account than ${ADDRESS}`);
    expect(page).not.to.contain('mallory');
    await inState(mailbox, 'pending');
    await expectDenial(mailbox, 'conflict');
    expect(await stored(mailbox)).to.equal(null);
  });

  it(`show a readable page when an authorization cannot finish ${verifies('contract:18:provider-page')}`, async () => {
    const mailbox = await add();
    const refused = await signIn(mailbox, ADDRESS, false);
    expect(refused.searchParams.get('error')).to.equal('access_denied');
    const said = await fetch(refused);
    expect(said.status).to.equal(424);
    expect(await said.text()).to.contain('You did not agree at the provider');
    await expectDenial(mailbox, 'mailbox_auth_failed');

    const unknown = await fetch(`${callback}?state=nobody&code=x`);
    expect(unknown.status).to.equal(404);
    expect(unknown.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect((await fetch(`${callback}?state=a&state=b`)).status).to.equal(400);
    expect((await fetch(callback, { method: 'PUT' })).status).to.equal(405);

    const answer = await signIn(mailbox);
    const foreign = await post(answer, { origin: 'https://evil.example' });
    expect(foreign.status).to.equal(403);
    expect((await post(answer, { origin: 'null' })).status).to.equal(403);
    expect((await post(answer)).status, 'still good').to.equal(200);
  });

  it(`complete in a real browser by keyboard and on a telephone ${verifies('contract:18:provider-page')}`, async function () {
    const browser = await requireBrowser(this);
    try {
      const mailbox = await add();
      const person = await browser.newPerson(new URL(callback).origin, {
        viewport: { width: 360, height: 640 },
      });
      const { page } = person;
      await page.goto((await signIn(mailbox)).href);
      expect(await page.title()).to.contain('Connect this mailbox?');
      const told = await page.locator('main').innerText();
      for (const named of [ADDRESS, 'Olga Owner', 'First', 'Google']) expect(told).to.contain(named);
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
      // The style came through the policy.
      expect(await page.evaluate('getComputedStyle(document.querySelector("main")).maxWidth')).to.match(
        /px$/,
      );
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'The mailbox is being connected' }).waitFor();
      await inState(mailbox, 'connected');

      await page.goto(`${callback}?state=nobody&code=x`);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal(
        'This link is no longer good',
      );
      expect(person.errors).to.deep.equal([]);
      expect(person.foreignRequests).to.deep.equal([]);
    } finally {
      await browser.close();
    }
  });

  it('accept no answer when the requester has lost the right', async () => {
    const mailbox = await add();
    const { body: made } = await gateway.rest('POST', '/tokens', {
      name: 'short',
      surface: 'rest',
      scopes: ['mailboxes:manage'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const { body } = await gateway.rest(
      'POST',
      `${mailbox}/provider-authorization`,
      { provider: 'google' },
      { token: made.token as string },
    );
    const answer = await new ProviderBrowser().signIn(body.authorize_url as string, ADDRESS);
    await gateway.rest('DELETE', `/tokens/${String(made.id)}`);
    expect((await post(answer)).status).to.equal(403);
    await inState(mailbox, 'pending');
  });

  it(`name the missing setting of a provider ${verifies('contract:17:provider-authorization')}`, async () => {
    const { status, body } = await gateway.rest('POST', '/mailboxes', {
      email: ADDRESS,
      imap: dovecot.imap(),
      smtp: { ...dovecot.imap(), port: 25 },
      auth: { type: 'oauth2', provider: 'microsoft' },
    });
    expect(status).to.equal(422);
    expect(body.error.message).to.contain('OAUTH_MICROSOFT_CLIENT_SECRET');
  });

  it(`send tokens only to the hosts they were issued for ${verifies('contract:17:provider-auth-field')}`, async () => {
    const mailbox = await add();
    const asked = await signIn(mailbox);
    const other = { ...dovecot.imap(), host: 'localhost' };
    expect((await gateway.rest('PATCH', mailbox, { imap: other })).status).to.equal(400);
    const auth = { type: 'oauth2', provider: 'google' };
    expect((await gateway.rest('PATCH', mailbox, { imap: other, auth })).status).to.equal(200);
    expect((await post(asked)).status, 'asked for the old hosts').to.equal(404);
    await inState(mailbox, 'pending');
    await connect(mailbox);
    const password = { type: 'password', username: ADDRESS, password: 'wrong' };
    const { body } = await gateway.rest('PATCH', mailbox, { auth: password });
    expect(body).to.include({ auth_type: 'password', provider: 'imap' });
    const path = `${mailbox}/provider-authorization`;
    expect((await gateway.rest('POST', path, { provider: 'google' })).status).to.equal(409);
    expect((await gateway.rest('DELETE', path)).status).to.equal(409);
  });

  it(`revoke an authorization at the provider and in the gateway ${verifies('contract:17:provider-withdrawal')}`, async () => {
    const mailbox = await add();
    await connect(mailbox);
    const token = (await stored(mailbox))?.refreshToken ?? '';
    expect(await provider.knowsRefreshToken(token)).to.equal(true);

    expect((await gateway.rest('PUT', `${mailbox}/credentials`, { password: 'p' })).status).to.equal(409);
    expect((await gateway.rest('DELETE', `${mailbox}/provider-authorization`)).status).to.equal(204);
    expect(await provider.knowsRefreshToken(token)).to.equal(false);
    expect(await stored(mailbox)).to.equal(null);
    expect(await inState(mailbox, 'pending')).to.include({ state_reason: 'authorization_required' });
    expect((await gateway.rest('POST', `${mailbox}/connection-tests`, {})).status).to.equal(424);
    await eventually(async () => {
      const { body } = await gateway.rest('GET', '/audit?type=MailboxProviderAuthorizationWithdrawn');
      expect(body.items[0]?.data).to.deep.equal({ provider: 'google', revoked: true });
    });
    await connect(mailbox);
  });

  it(`test the connection with the stored tokens ${verifies('contract:4:provider-waits')}`, async () => {
    const mailbox = await add();
    expect((await gateway.rest('POST', `${mailbox}/connection-tests`, {})).status).to.equal(424);
    await connect(mailbox);
    const { body } = await gateway.rest('POST', `${mailbox}/connection-tests`, {});
    expect(body.imap).to.include({ ok: true, stage: 'ready' });
  });

  it(`renew a token that ended early, and stop when the provider refuses permanently ${verifies('contract:4:provider-refusal')}`, async () => {
    const mailbox = await add();
    await connect(mailbox);
    const { mail } = gateway.gateway.ports;
    const list = (): Promise<unknown> =>
      mail.withMailbox(idOf(mailbox), 'interactive', (session) => session.listFolders());
    const before = await stored(mailbox);
    const refreshes = provider.refreshes;
    await provider.endAccessToken(before?.accessToken ?? '');
    await mail.disconnect(idOf(mailbox));
    await list();
    const after = await stored(mailbox);
    expect(provider.refreshes - refreshes).to.equal(1);
    expect(after?.accessToken).not.to.equal(before?.accessToken);
    expect(after?.refreshToken, 'rotated').not.to.equal(before?.refreshToken);

    await provider.revokeGrantOf(after?.refreshToken ?? '');
    await mail.disconnect(idOf(mailbox));
    expect(await rejection(list())).to.have.property('code', 'mailbox_auth_failed');
    expect(await inState(mailbox, 'auth_failed')).to.include({ state_reason: 'authorization_refused' });
    const asked = provider.refreshes;
    await mail.disconnect(idOf(mailbox));
    await rejection(list());
    expect(provider.refreshes, 'asked no more').to.equal(asked);
    await connect(mailbox);
  });

  it('write no credential into the log lines or the event log', async () => {
    const mailbox = await add();
    const answer = await signIn(mailbox);
    await fetch(answer);
    expect((await post(answer)).status).to.equal(200);
    await inState(mailbox, 'connected');
    const { accessToken = '', refreshToken } = (await stored(mailbox)) ?? {};
    const state = answer.searchParams.get('state');
    const code = answer.searchParams.get('code');
    const events = await wholeLog(gateway.gateway.ports.events);
    const told = [...lines, ...events.map(({ data, metadata }) => JSON.stringify({ data, metadata }))];
    expect(lines.filter((line) => line.includes(PROVIDER_CALLBACK_PATH)).length).to.be.above(1);
    for (const secret of [accessToken, refreshToken, state, code, CLIENT_SECRET, ADDRESS]) {
      expect(secret).to.be.a('string').with.length.above(10);
      expect(told.filter((line) => line.includes(secret ?? '-'))).to.deep.equal([]);
    }
  });
});
