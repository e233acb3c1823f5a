/** What the authorization server answers to wrong, hostile and foreign requests before anything is allowed. */
import { expect } from 'chai';
import type { TestGateway } from '../support/worlds/gateway.ts';
import { ask, type OAuthClient, REDIRECT, type Reply } from '../support/worlds/oauth/oauth-client.ts';
import { dynamicClient, openOAuthStage, registeredClient } from '../support/worlds/oauth/oauth-stage.ts';
import { codeOf, decide, type Deciding, deny } from '../support/worlds/oauth/person-deciding.ts';
import { signInWith } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

type Change = Readonly<Record<string, string | null>>;

const OWN_REDIRECT = 'https://own.example/callback';

describe('a request for authorization', function () {
  this.timeout(90_000);
  let gateway: TestGateway;
  let owner: Deciding;
  let stranger: OAuthClient;
  let own: OAuthClient;

  before(async () => {
    const stage = await openOAuthStage();
    ({ gateway, owner } = stage);
    stranger = await dynamicClient(stage);
    ({ client: own } = await registeredClient(stage, { redirect_uris: [OWN_REDIRECT, REDIRECT] }));
  });
  after(() => gateway.stop());

  /** A page for the person; the browser goes nowhere and nothing is posted for it. */
  const expectPage = (reply: Reply, status = 400): void => {
    expect(reply.status, reply.text).to.equal(status);
    expect(reply.location).to.equal(null);
    expect(reply.headers.get('content-type')).to.match(/^text\/html/);
    expect(reply.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
    expect(reply.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(reply.headers.get('referrer-policy')).to.be.oneOf(['no-referrer', 'same-origin']);
    expect(reply.headers.getSetCookie()).to.deep.equal([]);
    expect(reply.text).not.to.match(/<script|<form|http-equiv/i);
  };

  for (const [name, change] of Object.entries<Change>({
    'of an unknown client': { client_id: 'oac_00000000000000000000000000' },
    'without a client': { client_id: null },
    'with a redirect that is not registered': { redirect_uri: 'https://elsewhere.example/callback' },
    'with a longer path than registered': { redirect_uri: `${REDIRECT}/more` },
    'with a query that is not registered': { redirect_uri: `${REDIRECT}?next=1` },
    'with a redirect to another machine': { redirect_uri: 'http://elsewhere.example:51234/callback' },
    'without a redirect': { redirect_uri: null },
  }))
    for (const kind of ['stranger', 'registered'] as const)
      it(`is refused on a page ${name}: a ${kind} client`, async () => {
        expectPage(await (kind === 'stranger' ? stranger : own).authorize(change));
      });

  it('says that an owner can register an application that is not known', async () => {
    const { text } = await stranger.authorize({ client_id: 'oac_00000000000000000000000000' });
    expect(text).to.include('an owner of your organisation can register the application');
  });

  const WRONG: Readonly<Record<string, readonly [change: Change, error: string]>> = {
    'without PKCE': [{ code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    'with the plain method of PKCE': [{ code_challenge_method: 'plain' }, 'invalid_request'],
    'with no method of PKCE, which means plain': [{ code_challenge_method: null }, 'invalid_request'],
    'for another resource': [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    'for the REST interface': [{ resource: 'REST' }, 'invalid_target'],
    'for a token in the address': [{ response_type: 'token' }, 'unsupported_response_type'],
    'for an answer without a person': [{ prompt: 'none' }, 'consent_required'],
    'with a request object': [{ request: 'e30.e30.' }, 'request_not_supported'],
    'with a request elsewhere': [{ request_uri: 'https://x.example/r' }, 'request_uri_not_supported'],
  };

  const changeFor = (change: Change): Change =>
    change['resource'] === 'REST' ? { resource: `${gateway.baseUrl}/api/v1` } : change;

  for (const [name, [change, error]] of Object.entries(WRONG)) {
    it(`leads no browser to a stranger ${name}`, async () => {
      const reply = await stranger.authorize(changeFor(change));
      expectPage(reply);
      expect(reply.text).to.include(error);
    });

    it(`tells the organisation's own application ${name}, and names the server`, async () => {
      const reply = await own.authorize({ ...changeFor(change), redirect_uri: OWN_REDIRECT });
      const answer = new URL(reply.location ?? reply.text);
      expect(`${answer.origin}${answer.pathname}`).to.equal(OWN_REDIRECT);
      // A client that wants tokens in the address reads its answer there (RFC 6749 4.2.2.1).
      const told = new URLSearchParams(answer.hash === '' ? answer.search : answer.hash.slice(1));
      expect(Object.fromEntries(told)).to.include({ error, state: 'the-state', iss: gateway.baseUrl });
      expect(told.has('code')).to.equal(false);
    });
  }

  it('answers only by the query, whatever form is asked for', async () => {
    for (const mode of ['form_post', 'fragment', 'web_message', 'query.jwt']) {
      const begun = await stranger.begin({ response_mode: mode });
      const { answer } = await codeOf(stranger, owner, begun);
      expect(answer.hash).to.equal('');
      expect(answer.searchParams.get('code')).to.be.a('string').and.not.equal('');
    }
  });

  it(`names the server in an answer that refuses ${verifies('contract:18:oauth-consent')}`, async () => {
    const begun = await stranger.begin();
    const { body } = await deny(owner, gateway.baseUrl, await stranger.consentToken(begun));
    expect(body.connected_application_id).to.equal(null);
    const { location } = await stranger.resume(body.redirect_to as string, begun);
    const { searchParams } = new URL(location ?? '');
    expect(Object.fromEntries(searchParams)).to.include({
      error: 'access_denied',
      state: 'the-state',
      iss: gateway.baseUrl,
    });
  });

  it(`offers nothing beyond what a permission may hold, and allows nothing beyond what was asked ${verifies('contract:20:oauth-grant-scopes')}`, async () => {
    const begun = await stranger.begin({ scope: 'messages:read org:manage approvals:decide sends:create' });
    const consentToken = await stranger.consentToken(begun);
    const read = await gateway.rest(
      'POST',
      '/auth/authorization-requests/read',
      { consent_token: consentToken },
      { token: owner.bearer },
    );
    expect(read.body.scopes).not.to.include.members(['org:manage', 'approvals:decide']);
    for (const scope of ['org:manage', 'messages:archive']) {
      const { status } = await decide(owner, gateway.baseUrl, consentToken, {
        scopes: ['messages:read', scope],
      });
      expect(status, scope).to.be.oneOf([400, 403]);
    }
    expect(
      (await decide(owner, gateway.baseUrl, consentToken, { scopes: ['messages:read'] })).status,
    ).to.equal(200);
  });

  it(`belongs to the organisation that registered its application ${verifies('contract:17:oauth-clients')}`, async () => {
    const session = await signInWith(gateway.baseUrl, 'owner@example.com');
    const { body: second } = await session.rest('POST', '/org', { name: 'Second' });
    const switched = await session.rest('POST', '/auth/switch-org', { org_id: second.id as string });
    expect(switched.status, JSON.stringify(switched.body)).to.equal(200);
    const theirs = { bearer: switched.body.session_token as string, orgId: second.id as string };
    const begun = await own.begin({ redirect_uri: OWN_REDIRECT });
    const consentToken = await own.consentToken(begun);
    const { status, body } = await decide(theirs, gateway.baseUrl, consentToken);
    expect(status, JSON.stringify(body)).to.equal(409);
    const mixed = await decide({ ...theirs, orgId: owner.orgId }, gateway.baseUrl, consentToken);
    expect(mixed.status).to.equal(409);
    expect((await decide(owner, gateway.baseUrl, consentToken)).status).to.equal(200);
  });

  it('lets nobody frame the console', async () => {
    const { headers, status } = await ask(`${gateway.baseUrl}/console`);
    expect(status).to.equal(200);
    expect(headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
  });
});

describe('a request for authorization where anybody may sign up', function () {
  this.timeout(90_000);

  it('leads no browser to an application that somebody registered for themselves', async () => {
    const stage = await openOAuthStage({ env: { SIGNUP: 'open' } });
    try {
      const { client } = await registeredClient(stage, { redirect_uris: [OWN_REDIRECT] });
      const asked = { redirect_uri: OWN_REDIRECT, prompt: 'none' };
      const { status, location, text } = await client.authorize(asked);
      expect([status, location]).to.deep.equal([400, null]);
      expect(text).to.include('own.example');
      const begun = await client.begin({ redirect_uri: OWN_REDIRECT });
      const { answer } = await codeOf(client, stage.owner, begun);
      expect(answer.href.startsWith(`${OWN_REDIRECT}?`)).to.equal(true);
    } finally {
      await stage.gateway.stop();
    }
  });
});

describe('requests for authorization from one address', function () {
  this.timeout(30_000);

  it('are kept up to the limit; then a page says when to come back, and nothing is kept', async () => {
    const env = { LIMIT_SIGN_INS_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1' };
    const stage = await openOAuthStage({ env });
    const { gateway } = stage;
    try {
      const client = await dynamicClient(stage);
      const kept = async (): Promise<number> =>
        (await gateway.gateway.ports.sql.query("select 1 from vault.oauth_state where model = 'Interaction'"))
          .length;
      const asked = (address: string): Promise<Reply> =>
        ask(`${client.address}/oauth/authorize?${client.parameters().toString()}`, {
          headers: { 'x-forwarded-for': address },
        });
      for (let request = 0; request < 3; request += 1)
        expect((await asked('198.51.100.1')).location).to.include('/console#/connect/');
      const limited = await asked('198.51.100.1');
      expect([limited.status, limited.location], limited.text).to.deep.equal([429, null]);
      expect(limited.headers.get('content-type')).to.match(/^text\/html/);
      expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 60);
      expect(limited.headers.getSetCookie()).to.deep.equal([]);
      expect(limited.text).to.include('temporarily_unavailable');
      expect(await kept()).to.equal(3);
      expect((await asked('198.51.100.2')).location).to.include('/console#/connect/');
    } finally {
      await gateway.stop();
    }
  });
});
