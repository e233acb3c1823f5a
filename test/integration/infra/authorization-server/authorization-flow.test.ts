import { expect } from 'chai';
import { GRANTABLE_SCOPES } from '../../../../commands/oauth/oauth-grant.ts';
import { startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { ask, OAuthClient, ownerOf, REDIRECT } from '../../../support/worlds/oauth/oauth-client.ts';

describe('The authorization server', () => {
  let gateway: TestGateway;

  before(async () => {
    gateway = await startTestGateway({ env: { OAUTH_DCR: 'on' } });
  });
  after(() => gateway.stop());

  const dynamicClient = async (): Promise<OAuthClient> => {
    const client = new OAuthClient(gateway.baseUrl);
    await client.becomeDynamic();
    return client;
  };

  it('connects a client that registered itself: code, tokens, MCP, refresh', async () => {
    const client = await dynamicClient();
    const { code, grantId, answer } = await client.code(gateway.gateway.ports, ownerOf(gateway));
    expect(answer.href.startsWith(REDIRECT)).to.equal(true);
    expect(answer.searchParams.get('state')).to.equal('the-state');
    expect(answer.searchParams.get('iss')).to.equal(gateway.baseUrl);
    const tokens = await client.exchange(code);
    expect(tokens.status, tokens.text).to.equal(200);
    expect(Object.keys(tokens.json).sort()).to.deep.equal([
      'access_token',
      'expires_in',
      'refresh_token',
      'scope',
      'token_type',
    ]);
    const [head, body] = tokens.json.access_token
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString());
    expect(JSON.parse(head ?? '')).to.include({ alg: 'ES256', typ: 'at+jwt' });
    expect(JSON.parse(body ?? '')).to.include({
      tid: grantId,
      aud: `${gateway.baseUrl}/mcp`,
      iss: gateway.baseUrl,
    });
    expect((await client.mcp(tokens.json.access_token)).status).to.equal(200);
    const again = await client.refresh(tokens.json.refresh_token);
    expect(again.status, again.text).to.equal(200);
    expect(again.json.refresh_token).not.to.equal(tokens.json.refresh_token);
    expect((await client.mcp(again.json.access_token)).status).to.equal(200);
  });

  it('shows and decides a request through the port, once', async () => {
    const client = await dynamicClient();
    const { authorizationRequests: requests, ids } = gateway.gateway.ports;
    const token = await client.consentToken(await client.begin({ scope: 'messages:read org:manage openid' }));
    const request = await requests.find(token);
    expect(request?.scopes).to.deep.equal(['messages:read']);
    expect(request?.client).to.deep.equal({
      id: client.clientId,
      kind: 'dynamic',
      name: 'A tool',
      redirectUri: REDIRECT,
    });
    const id = request?.id ?? '';
    for (const forged of [
      id,
      `${id}.${'0'.repeat(64)}`,
      `other-request-of-nobody.${token.split('.')[1] ?? ''}`,
    ])
      expect(await requests.find(forged)).to.equal(null);
    const { userId } = ownerOf(gateway);
    const allowed = { allowed: true, userId, grantId: ids.newId('oag'), scopes: ['messages:read'] } as const;
    const address = await requests.decide(id, allowed);
    expect(address).to.match(/\?decided=[0-9a-f]{64}$/);
    expect(await requests.decide(id, allowed)).to.equal(address);
    expect(await requests.decide(id, { allowed: false })).to.equal(null);
    expect(await requests.decide(id, { ...allowed, grantId: ids.newId('oag') })).to.equal(null);
    const unnamed = await requests.find(await client.consentToken(await client.begin({ scope: null })));
    expect(unnamed?.scopes).to.deep.equal(GRANTABLE_SCOPES);
  });

  it('ends the way of a decision whose grant does not exist', async () => {
    const client = await dynamicClient();
    const { authorizationRequests: requests, ids } = gateway.gateway.ports;
    const begun = await client.begin();
    const request = await requests.find(await client.consentToken(begun));
    const { userId } = ownerOf(gateway);
    const grantId = ids.newId('oag');
    const address = await requests.decide(request?.id ?? '', { allowed: true, userId, grantId, scopes: [] });
    const { location } = await client.resume(address ?? '', begun);
    expect(new URL(location ?? 'none:').searchParams.get('error')).to.equal('access_denied');
  });

  it('is found from the address of /mcp alone', async () => {
    const refused = await new OAuthClient(gateway.baseUrl).mcp(null);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const { json: resource } = await ask(metadata);
    expect(resource.resource).to.equal(`${gateway.baseUrl}/mcp`);
    const { json: server } = await ask(
      `${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`,
    );
    expect(server.issuer).to.equal(gateway.baseUrl);
    expect(server.registration_endpoint).to.equal(`${gateway.baseUrl}/oauth/register`);
    const { json: keys } = await ask(server.jwks_uri);
    expect(keys.keys[0]).to.include({ kty: 'EC', alg: 'ES256' }).and.not.to.have.property('d');
  });
});
