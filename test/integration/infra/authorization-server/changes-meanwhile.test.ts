/** What changes between the arrival of a request and its answer, and what an application may ask for. */
import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import {
  changeOAuthClient,
  oauthClient,
  registerOAuthClient,
} from '../../../../commands/oauth/oauth-client.ts';
import { GRANTABLE_SCOPES } from '../../../../commands/oauth/oauth-grant.ts';
import { deleteOrganisation, organisation } from '../../../../commands/organisation/organisation.ts';
import { startTestGateway, type TestGateway } from '../../../support/worlds/gateway.ts';
import { allow, OAuthClient, ownerOf, REDIRECT } from '../../../support/worlds/oauth/oauth-client.ts';
import { ShiftedClock } from '../../../support/fakes/shifted-clock.ts';

describe('An authorization', () => {
  const clock = new ShiftedClock();
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway({ clock, env: { OAUTH_DCR: 'on' } });
  });
  after(() => gateway.stop());

  const ports = () => gateway.gateway.ports;
  const dynamicClient = () => OAuthClient.dynamic(gateway.baseUrl);
  const append = async (work: ReturnType<typeof decideAndAppend>): Promise<void> => {
    const { position } = await work;
    await ports().directory.waitFor(position ?? 0n);
  };
  const author = () => systemAuthor(ports(), ownerOf(gateway).orgId);
  const registeredClient = async (): Promise<OAuthClient> => {
    const id = ports().ids.newId('oac');
    const terms = {
      client_id: null,
      name: 'Ours',
      redirect_uris: [REDIRECT],
      scopes: null,
      secret_hash: null,
    };
    const decide = (state: typeof oauthClient.initial) => registerOAuthClient(state, terms);
    await append(decideAndAppend(ports(), author(), oauthClient, { id, decide }));
    return new OAuthClient(gateway.baseUrl, { clientId: id });
  };
  const setRedirects = (id: string, redirect_uris: string[]): Promise<void> =>
    append(
      decideAndAppend(ports(), author(), oauthClient, {
        id,
        decide: (state) => changeOAuthClient(state, { redirect_uris }),
      }),
    );
  const asked = async (client: OAuthClient, scope: string | null) => {
    const token = await client.consentToken(await client.begin({ scope }));
    return (await ports().authorizationRequests.find(token))?.scopes;
  };
  const endOf = async (grantId: string): Promise<unknown> => {
    const stored = await ports().events.readStream(`oauthGrant-${grantId}`);
    return stored.find(({ type }) => type === 'OAuthGrantEnded')?.data['reason'] ?? null;
  };

  it('offers everything only to an application that names nothing', async () => {
    const client = await dynamicClient();
    expect(await asked(client, null)).to.deep.equal(GRANTABLE_SCOPES);
    expect(await asked(client, '')).to.deep.equal(GRANTABLE_SCOPES);
    expect(await asked(client, 'org:manage messages:read offline_access')).to.deep.equal(['messages:read']);
  });

  for (const scope of ['openid', 'org:manage', 'offline_access', 'openid approvals:decide'])
    it(`is refused for what no application may hold: ${scope}`, async () => {
      const { location } = await (await registeredClient()).authorize({ scope });
      expect(new URL(location ?? 'none:').searchParams.get('error')).to.equal('invalid_scope');
      const page = await (await dynamicClient()).authorize({ scope });
      expect([page.status, page.location]).to.deep.equal([400, null]);
      expect(page.text).to.include('invalid_scope');
    });

  it('tells whether it was decided', async () => {
    const { authorizationRequests: requests } = ports();
    const client = await dynamicClient();
    const [denied, allowed] = [await client.begin(), await client.begin()];
    const decisionOf = async (token: string) => (await requests.find(token))?.decision;
    const token = await client.consentToken(denied);
    expect(await decisionOf(token)).to.equal('none');
    const answer = await requests.decide(denied.uid, { allowed: false });
    expect(await decisionOf(token)).to.equal('denied');
    expect(await requests.decide(denied.uid, { allowed: false })).to.equal(answer);
    const other = await client.consentToken(allowed);
    await allow(ports(), other, ownerOf(gateway));
    expect(await decisionOf(other)).to.equal('allowed');
  });

  it('sends no code to an address that was removed meanwhile', async () => {
    const client = await registeredClient();
    const anyPort = { redirect_uri: REDIRECT.replace('51234', '6000') };
    const begun = await client.begin(anyPort);
    const token = await client.consentToken(begun);
    const { redirectTo } = await allow(ports(), token, ownerOf(gateway));
    expect(await ports().authorizationRequests.find(token)).not.to.equal(null);
    await setRedirects(client.clientId, ['https://ours.example/cb']);
    expect(await ports().authorizationRequests.find(token)).to.equal(null);
    const { status, location, text } = await client.resume(redirectTo, begun);
    expect([status, location]).to.deep.equal([400, null]);
    expect(text).to.include('invalid_redirect_uri');
  });

  it('ends with a refresh token that is used after the one that follows it, also within 30 s', async () => {
    const client = await dynamicClient();
    const { code, grantId } = await client.code(ports(), ownerOf(gateway));
    const { json: first } = await client.exchange(code);
    const { json: second } = await client.refresh(first.refresh_token);
    const { json: third } = await client.refresh(second.refresh_token);
    const replayed = await client.refresh(first.refresh_token);
    expect([replayed.status, replayed.json.error]).to.deep.equal([400, 'invalid_grant']);
    expect(await endOf(grantId)).to.equal('refresh_token_reused');
    expect((await client.mcp(third.access_token)).status).to.equal(401);
  });

  it('goes on with a refresh token whose answer was lost', async () => {
    const client = await dynamicClient();
    const { code, grantId } = await client.code(ports(), ownerOf(gateway));
    const { json: first } = await client.exchange(code);
    await client.refresh(first.refresh_token);
    const { status, json: again } = await client.refresh(first.refresh_token);
    expect(status).to.equal(200);
    expect((await client.refresh(again.refresh_token)).status).to.equal(200);
    expect(await endOf(grantId)).to.equal(null);
  });

  it('is not given to an application of a deleted organisation', async () => {
    const client = await registeredClient();
    const begun = await client.begin();
    const token = await client.consentToken(begun);
    const { orgId, userId } = ownerOf(gateway);
    const eraseAt = new Date(clock.now().getTime() + 1_000_000);
    const decide = (state: typeof organisation.initial) => deleteOrganisation(state, eraseAt, { userId });
    await append(decideAndAppend(ports(), author(), organisation, { id: orgId, decide }));
    expect(await ports().authorizationRequests.find(token)).to.equal(null);
    const { status, location, text } = await client.authorize({ prompt: 'none' });
    expect([status, location]).to.deep.equal([400, null]);
    expect(text).to.include('This application is not known here');
  });
});
