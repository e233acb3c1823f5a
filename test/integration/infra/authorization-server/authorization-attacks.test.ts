import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import { oauthClient, registerOAuthClient } from '../../../../commands/oauth/oauth-client.ts';
import { startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import {
  allow,
  ask,
  challengeOf,
  form,
  newVerifier,
  OAuthClient,
  ownerOf,
  REDIRECT,
} from '../../../support/worlds/oauth/oauth-client.ts';
import { ShiftedClock } from '../../../support/fakes/shifted-clock.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('The authorization server refuses', () => {
  const clock = new ShiftedClock();
  let gateway: TestGateway;

  before(async () => {
    gateway = await startTestGateway({ clock, env: { OAUTH_DCR: 'on' } });
  });
  after(() => gateway.stop());

  const ports = () => gateway.gateway.ports;
  const dynamicClient = () => OAuthClient.dynamic(gateway.baseUrl);
  /** One that the organisation registered, with a secret or without. */
  const registeredClient = async (secret: string | null = null): Promise<OAuthClient> => {
    const id = ports().ids.newId('oac');
    const { orgId } = ownerOf(gateway);
    const hash = secret === null ? null : createHash('sha256').update(secret).digest('hex');
    const terms = {
      client_id: null,
      name: 'Ours',
      redirect_uris: [REDIRECT, 'https://ours.example/cb'],
      scopes: null,
      secret_hash: hash === null ? null : await ports().personal.seal(id, hash),
    };
    const { position } = await decideAndAppend(ports(), systemAuthor(ports(), orgId), oauthClient, {
      id,
      decide: (state) => registerOAuthClient(state, terms),
    });
    await ports().directory.waitFor(position ?? 0n);
    return new OAuthClient(gateway.baseUrl, { clientId: id });
  };
  const code = async (client: OAuthClient) => await client.code(ports(), ownerOf(gateway));
  const grantOf = (id: string) => ports().directory.state.oauthGrants.get(id);
  const endOf = async (grantId: string): Promise<unknown> => {
    const stored = await ports().events.readStream(`oauthGrant-${grantId}`);
    return stored.find(({ type }) => type === 'OAuthGrantEnded')?.data['reason'] ?? null;
  };

  describe('at /oauth/authorize', () => {
    it('a request without PKCE, or with a weaker one', async () => {
      const client = await registeredClient();
      for (const changes of [
        { code_challenge: null, code_challenge_method: null },
        { code_challenge_method: 'plain' },
        { code_challenge_method: null },
      ]) {
        const { location } = await client.authorize(changes);
        const answer = new URL(location ?? 'none:');
        expect(answer.searchParams.get('error'), JSON.stringify(changes)).to.equal('invalid_request');
        expect(answer.searchParams.get('iss')).to.equal(gateway.baseUrl);
        expect(answer.searchParams.get('state')).to.equal('the-state');
      }
    });

    it('a redirect that was not registered, with a page and no redirect', async () => {
      for (const client of [await dynamicClient(), await registeredClient()]) {
        for (const redirect_uri of ['https://evil.example/cb', 'https://ours.example/cb/more', null]) {
          const { status, location, text, headers } = await client.authorize({ redirect_uri });
          expect([status, location]).to.deep.equal([400, null]);
          expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
          expect(headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
          expect(text)
            .to.include(String(headers.get('request-id')))
            .and.not.to.include('evil.example');
        }
      }
    });

    it('an unknown client, with a page', async () => {
      const { status, text } = await new OAuthClient(gateway.baseUrl, {
        clientId: 'oac_unknown',
      }).authorize();
      expect(status).to.equal(400);
      expect(text).to.include('This application is not known here');
    });

    it('another resource than /mcp', async () => {
      const client = await registeredClient();
      for (const resource of [
        'https://evil.example/mcp',
        `${gateway.baseUrl}/api/v1`,
        `${gateway.baseUrl}/mcp/`,
      ]) {
        const { location } = await client.authorize({ resource });
        expect(new URL(location ?? 'none:').searchParams.get('error')).to.equal('invalid_target');
      }
    });

    it('to redirect anybody to an application that nobody vouches for', async () => {
      const stranger = await dynamicClient();
      for (const changes of [{ prompt: 'none' }, { response_type: 'token' }, { request: 'x.y.z' }]) {
        const { status, location, text } = await stranger.authorize(changes);
        expect([status, location], JSON.stringify(changes)).to.deep.equal([400, null]);
        expect(text).to.include('127.0.0.1:51234');
      }
      const { location } = await (await registeredClient()).authorize({ prompt: 'none' });
      expect(new URL(location ?? 'none:').searchParams.get('error')).to.match(/_required$/);
    });

    it('to answer in another way than the query', async () => {
      const client = await dynamicClient();
      const begun = await client.begin({ response_mode: 'form_post' });
      const { redirectTo } = await allow(ports(), await client.consentToken(begun), ownerOf(gateway));
      const { status, location } = await client.resume(redirectTo, begun);
      expect(status).to.equal(303);
      expect(new URL(location ?? 'none:').searchParams.get('code')).to.be.a('string');
    });

    it('nothing for parameters of OpenID Connect: they mean nothing here', async () => {
      const client = await dynamicClient();
      await client.begin({ nonce: 'n', max_age: '10', prompt: 'login', id_token_hint: 'x', claims: '{}' });
      await client.begin({ prompt: 'select_account', scope: null });
    });
  });

  describe('to go on', () => {
    it(`in another browser than the one that began and was decided in ${verifies('contract:20:oauth-cookies')}`, async () => {
      const client = await dynamicClient();
      const { headers } = await client.authorize();
      const cookies = headers.getSetCookie();
      expect(cookies).to.have.length(1);
      expect(cookies[0]).to.match(
        /^_interaction_resume=[\w-]+; path=\/oauth\/authorize\/[\w-]+; expires=[^;]+; samesite=lax; httponly$/i,
      );
      const begun = await client.begin();
      const { status } = await ask(`${gateway.baseUrl}/oauth/authorize/${begun.uid}/interaction`);
      expect(status).to.equal(404);
      const other = await client.begin();
      const foreign = { headers: { cookie: other.cookie } };
      expect(
        (await ask(`${gateway.baseUrl}/oauth/authorize/${begun.uid}/interaction`, foreign)).status,
      ).to.equal(404);
      const { redirectTo } = await allow(ports(), await client.consentToken(begun), ownerOf(gateway));
      for (const [address, cookie] of [
        [redirectTo, ''],
        [redirectTo, other.cookie],
        [redirectTo.replace(/\?.*/, ''), begun.cookie],
        [redirectTo.replace(/decided=.*/, `decided=${'0'.repeat(64)}`), begun.cookie],
      ] as const) {
        const answer = await client.resume(address, { cookie });
        expect(answer.location, address).to.equal(null);
        expect(answer.status).to.be.within(400, 404);
      }
      expect((await client.resume(redirectTo, begun)).location).to.include('code=');
      expect((await client.resume(redirectTo, begun)).location).to.equal(null);
    });

    it('without a decision, and tells the application of a refusal', async () => {
      const client = await registeredClient();
      const begun = await client.begin();
      const token = await client.consentToken(begun);
      const request = await ports().authorizationRequests.find(token);
      const denied = await ports().authorizationRequests.decide(request?.id ?? '', { allowed: false });
      const { location } = await client.resume(denied ?? '', begun);
      const answer = new URL(location ?? 'none:');
      expect(answer.searchParams.get('error')).to.equal('access_denied');
      expect(answer.searchParams.get('iss')).to.equal(gateway.baseUrl);
    });
  });

  describe('at /oauth/token', () => {
    it(`a stolen code: without the verifier, for another client or redirect ${verifies('contract:18:oauth-tokens')}`, async () => {
      const client = await dynamicClient();
      const thief = await dynamicClient();
      const { code: stolen } = await code(client);
      for (const changes of [
        { code_verifier: newVerifier() },
        { code_verifier: challengeOf(client.verifier) },
        { client_id: thief.clientId },
        { redirect_uri: 'http://127.0.0.1:1/callback' },
        { resource: 'https://evil.example/mcp' },
      ]) {
        const { status, json } = await client.exchange(stolen, changes);
        expect(status, JSON.stringify(changes)).to.equal(400);
        expect(json.error).to.match(/^invalid_(grant|target|request)$/);
      }
    });

    it('a code that was used, and ends what came of it', async () => {
      const client = await dynamicClient();
      const { code: once, grantId } = await code(client);
      const { json: tokens } = await client.exchange(once);
      const { status, json } = await client.exchange(once);
      expect([status, json.error]).to.deep.equal([400, 'invalid_grant']);
      expect(await endOf(grantId)).to.equal('code_reused');
      expect((await client.mcp(tokens.access_token)).status).to.equal(401);
      expect((await client.refresh(tokens.refresh_token)).json.error).to.equal('invalid_grant');
    });

    it('all but one of many that use a code at once', async () => {
      const client = await dynamicClient();
      const { code: once } = await code(client);
      const answers = await Promise.all(Array.from({ length: 6 }, () => client.exchange(once)));
      expect(answers.filter(({ status }) => status === 200).length).to.be.at.most(1);
      expect(answers.every(({ status }) => status < 500)).to.equal(true);
    });

    it('a refresh token that was replaced more than 30 s ago, and ends its grant', async () => {
      const client = await dynamicClient();
      const { code: once, grantId } = await code(client);
      const { json: first } = await client.exchange(once);
      const { json: second } = await client.refresh(first.refresh_token);
      // Its answer was lost.
      clock.advance(25_000);
      const { status, json: again } = await client.refresh(first.refresh_token);
      expect(status).to.equal(200);
      expect(again.refresh_token).not.to.equal(second.refresh_token);
      clock.advance(5_000);
      const replayed = await client.refresh(first.refresh_token);
      expect([replayed.status, replayed.json.error]).to.deep.equal([400, 'invalid_grant']);
      expect(await endOf(grantId)).to.equal('refresh_token_reused');
      for (const { access_token, refresh_token } of [second, again]) {
        expect((await client.mcp(access_token)).status).to.equal(401);
        expect((await client.refresh(refresh_token)).json.error).to.equal('invalid_grant');
      }
    });

    it('more scopes than were given, and gives fewer where fewer are asked for', async () => {
      const client = await dynamicClient();
      const { json: tokens } = await client.exchange((await code(client)).code);
      expect(tokens.scope).to.equal('messages:read mailboxes:read');
      const wider = await client.refresh(tokens.refresh_token, { scope: 'messages:read drafts:send' });
      expect(wider.json.error).to.equal('invalid_scope');
      const narrower = await client.refresh(tokens.refresh_token, { scope: 'messages:read' });
      expect(narrower.json.scope).to.equal('messages:read');
    });

    it('a confidential client without its secret, and takes it in both ways', async () => {
      const { token: secret } = ports().tokens.newClientSecret(ownerOf(gateway).orgId);
      const client = await registeredClient(secret);
      const without = await client.exchange((await code(client)).code);
      expect([without.status, without.json.error]).to.deep.equal([401, 'invalid_client']);
      const wrong = await client.exchange((await code(client)).code, { client_secret: `${secret}x` });
      expect([wrong.status, wrong.json.error]).to.deep.equal([401, 'invalid_client']);
      const hash = createHash('sha256').update(secret).digest('hex');
      expect((await client.exchange((await code(client)).code, { client_secret: hash })).status).to.equal(
        401,
      );
      expect((await client.exchange((await code(client)).code, { client_secret: secret })).status).to.equal(
        200,
      );
      const basic = Buffer.from(`${client.clientId}:${secret}`).toString('base64');
      const { status } = await client.exchange(
        (await code(client)).code,
        {},
        { headers: { authorization: `Basic ${basic}` } },
      );
      expect(status).to.equal(200);
    });

    it('bodies above 16 KiB, other methods and other grant types', async () => {
      const { address } = new OAuthClient(gateway.baseUrl);
      expect((await ask(`${address}/oauth/token`, form({ code: 'x'.repeat(17_000) }))).status).to.equal(413);
      const get = await ask(`${address}/oauth/token`);
      expect([get.status, get.headers.get('allow')]).to.deep.equal([405, 'POST']);
      const client = await dynamicClient();
      const { json } = await client.token({ grant_type: 'client_credentials', client_id: client.clientId });
      expect(json.error).to.equal('unsupported_grant_type');
      for (const path of ['/me', '/session/end', '/token/introspection', '/request', '/device/auth'])
        expect((await ask(`${address}/oauth${path}`)).status, path).to.equal(404);
    });
  });

  describe('at /oauth/revoke', () => {
    it('the tokens of others; the own one ends the whole connection', async () => {
      const client = await dynamicClient();
      const { code: once, grantId } = await code(client);
      const { json: tokens } = await client.exchange(once);
      const other = await dynamicClient();
      expect((await other.revoke(tokens.refresh_token)).status).to.equal(200);
      expect(grantOf(grantId)?.revokedAt).to.equal(null);
      expect((await client.revoke('no such token')).status).to.equal(200);
      expect((await client.revoke(tokens.access_token)).json.error).to.equal('unsupported_token_type');
      expect((await client.revoke(tokens.refresh_token)).status).to.equal(200);
      expect(await endOf(grantId)).to.equal('revoked_by_application');
      expect((await client.mcp(tokens.access_token)).status).to.equal(401);
    });
  });

  describe('at /oauth/register', () => {
    it('what is no redirect, and picks from the rest', async () => {
      const client = new OAuthClient(gateway.baseUrl);
      for (const metadata of [{}, { redirect_uris: ['http://evil.example/cb'] }, { redirect_uris: [] }]) {
        const { status, json } = await client.register(metadata);
        expect(status).to.equal(400);
        expect(json.error).to.match(/^invalid_(redirect_uri|client_metadata)$/);
      }
      const { status, json } = await client.register({
        client_name: 'Tool',
        redirect_uris: ['https://tool.example/cb'],
        token_endpoint_auth_method: 'client_secret_basic',
        scope: 'org:manage',
        grant_types: ['authorization_code', 'client_credentials'],
        sector_identifier_uri: 'https://10.0.0.1/x',
        jwks_uri: 'https://10.0.0.1/keys',
      });
      expect(status).to.equal(201);
      expect(json.token_endpoint_auth_method).to.equal('none');
      expect(json).not.to.have.any.keys(
        'client_secret',
        'sector_identifier_uri',
        'jwks_uri',
        'registration_access_token',
      );
      const [registered] = await ports().events.readStream(`oauthClient-${json.client_id}`);
      expect(registered?.type).to.equal('OAuthClientSelfRegistered');
      expect(registered?.data).to.deep.equal({ name: 'Tool', redirect_uris: ['https://tool.example/cb'] });
    });

    it('to be called where it is off', async () => {
      const closed = await startTestGateway();
      try {
        const answer = await new OAuthClient(closed.baseUrl).register({ redirect_uris: [REDIRECT] });
        expect(answer.status).to.equal(404);
      } finally {
        await closed.stop();
      }
    });
  });

  it('many failures of one address, and never what succeeds', async () => {
    const strict = await startTestGateway({ env: { OAUTH_DCR: 'on', LIMIT_SIGN_INS_PER_MINUTE: '3' } });
    try {
      const client = new OAuthClient(strict.baseUrl);
      await client.becomeDynamic();
      const { code: good } = await client.code(strict.gateway.ports, ownerOf(strict));
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 5; attempt += 1)
        statuses.push((await client.exchange('guessed')).status);
      expect(statuses).to.deep.equal([400, 400, 400, 429, 429]);
      const limited = await client.exchange('guessed');
      expect(limited.json.error).to.equal('temporarily_unavailable');
      expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 60);
      const { status, json: tokens } = await client.exchange(good);
      expect(status).to.equal(200);
      expect((await client.refresh(tokens.refresh_token)).status).to.equal(200);
      await client.becomeDynamic();
      await client.becomeDynamic();
      expect((await client.register({ redirect_uris: [REDIRECT] })).status).to.equal(429);
    } finally {
      await strict.stop();
    }
  });

  it('an id whose document it may not fetch: this machine, an address, no path', async () => {
    for (const clientId of [
      'https://localhost/client.json',
      'https://127.0.0.1/client.json',
      'https://tool.example',
    ]) {
      const { status, location } = await new OAuthClient(gateway.baseUrl, { clientId }).authorize();
      expect([status, location], clientId).to.deep.equal([400, null]);
    }
  });

  it('no page that calls what needs no cookie, and every page what needs one', async () => {
    const origin = 'https://app.example';
    for (const path of ['token', 'register', 'revoke', 'jwks']) {
      const preflight = await ask(`${gateway.baseUrl}/oauth/${path}`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
      expect(preflight.status).to.equal(204);
      expect(preflight.headers.get('access-control-allow-origin')).to.equal('*');
    }
    const client = await dynamicClient();
    const begun = await client.begin();
    const { headers } = await ask(`${gateway.baseUrl}/oauth/authorize/${begun.uid}/interaction`, {
      headers: { origin, cookie: begun.cookie },
    });
    expect(headers.get('access-control-allow-origin')).to.equal(null);
  });
});
