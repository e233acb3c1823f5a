/** A request for authorization belongs to the browser in which the application opened it. */
import { expect } from 'chai';
import { ShiftedClock } from '../support/fakes/shifted-clock.ts';
import type { TestGateway } from '../support/worlds/gateway.ts';
import { ask, type Begun, type OAuthClient } from '../support/worlds/oauth/oauth-client.ts';
import { dynamicClient, openOAuthStage } from '../support/worlds/oauth/oauth-stage.ts';
import { codeOf, decide, type Deciding } from '../support/worlds/oauth/person-deciding.ts';
import { signInNew } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const NOBODY: Pick<Begun, 'cookie'> = { cookie: '' };

describe('a request for authorization in a browser', function () {
  this.timeout(90_000);
  const clock = new ShiftedClock();
  let gateway: TestGateway;
  let owner: Deciding;
  let member: Deciding;
  let client: OAuthClient;

  before(async () => {
    const stage = await openOAuthStage({ clock });
    ({ gateway, owner } = stage);
    member = { ...(await signInNew(gateway, 'owner', 'second@example.com')), orgId: owner.orgId };
    client = await dynamicClient(stage);
  });
  after(() => gateway.stop());

  const interaction = ({ uid }: Pick<Begun, 'uid'>, cookie: string) =>
    ask(`${gateway.baseUrl}/oauth/authorize/${uid}/interaction`, { headers: { cookie } });

  const decided = async (begun: Begun, person = owner): Promise<string> => {
    const { status, body } = await decide(person, gateway.baseUrl, await client.consentToken(begun));
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.redirect_to as string;
  };

  const grants = (): number => gateway.gateway.ports.directory.state.oauthGrants.size;

  it('shows nothing to another browser, nor to a page of another origin', async () => {
    const [mine, theirs] = [await client.begin(), await client.begin()];
    expect((await interaction(mine, '')).status).to.equal(404);
    expect((await interaction(mine, theirs.cookie)).status).to.equal(404);
    const shown = await interaction(mine, mine.cookie);
    expect(shown.status).to.equal(200);
    expect(shown.headers.get('cache-control')).to.equal('no-store');
    expect(shown.headers.get('access-control-allow-origin')).to.equal(null);
  });

  it(`keeps the cookie from scripts and from every other path ${verifies('contract:20:oauth-cookies')}`, async () => {
    const { headers, location } = await client.authorize();
    const uid = location?.split('/').at(-1) ?? '';
    const cookies = headers.getSetCookie();
    expect(cookies).to.have.length(1);
    expect(cookies[0]).to.match(/^_interaction_resume=/);
    expect(cookies[0]?.toLowerCase()).to.include(`path=/oauth/authorize/${uid}`.toLowerCase());
    expect(cookies[0]?.toLowerCase()).to.include('httponly').and.include('samesite=lax');
  });

  it('keeps two tabs of one browser apart', async () => {
    // Path keeps the cookies apart: a browser sends each only with its own request.
    const [one, two] = [await client.begin({ state: 'one' }), await client.begin({ state: 'two' })];
    const second = await codeOf(client, owner, two);
    const first = await codeOf(client, owner, one);
    expect(first.answer.searchParams.get('state')).to.equal('one');
    expect(second.answer.searchParams.get('state')).to.equal('two');
    expect(first.grantId).not.to.equal(second.grantId);
    expect((await client.exchange(second.code)).status).to.equal(200);
    expect((await client.exchange(first.code)).status).to.equal(200);
  });

  it('goes on only in the browser that was given the decision', async () => {
    const [mine, theirs] = [await client.begin(), await client.begin()];
    const redirectTo = await decided(mine);
    const plain = redirectTo.replace(/\?.*/, '');
    const otherProof = `${plain}?${(await decided(theirs)).split('?')[1] ?? ''}`;
    for (const [address, { cookie }] of [
      [plain, mine],
      [`${plain}?decided=`, mine],
      [otherProof, mine],
      [redirectTo, NOBODY],
      [redirectTo, theirs],
    ] as const) {
      const reply = await client.resume(address, { cookie });
      expect(reply.location, address).to.equal(null);
      expect(reply.status, address).to.be.oneOf([400, 404]);
      expect(reply.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
    }
    // None of that has used it up.
    expect((await client.resume(redirectTo, mine)).location).to.match(/[?&]code=/);
  });

  it('goes on once', async () => {
    const begun = await client.begin();
    const redirectTo = await decided(begun);
    const answers = await Promise.all([1, 2, 3].map(() => client.resume(redirectTo, begun)));
    expect(answers.filter(({ location }) => location !== null)).to.have.length(1);
    expect((await client.resume(redirectTo, begun)).location).to.equal(null);
  });

  it(`is decided once, by one person, with a token of this gateway ${verifies('contract:18:oauth-consent')}`, async () => {
    const begun = await client.begin();
    const token = await client.consentToken(begun);
    const before = grants();
    const [uid = '', proof = ''] = token.split('.');
    const other = (await client.begin()).uid;
    for (const forged of [`${other}.${proof}`, `${uid}.${'0'.repeat(64)}`, uid, `${uid}.`])
      expect((await decide(owner, gateway.baseUrl, forged)).status, forged).to.be.oneOf([400, 404]);
    expect(grants()).to.equal(before);
    const races = await Promise.all([
      decide(owner, gateway.baseUrl, token),
      decide(member, gateway.baseUrl, token),
      decide(owner, gateway.baseUrl, token, { scopes: ['messages:read'] }),
    ]);
    expect(races.map(({ status }) => status).filter((status) => status === 200)).to.have.length(1);
    expect(grants()).to.equal(before + 1);
    expect((await decide(owner, gateway.baseUrl, token, { decision: 'deny' })).status).to.equal(409);
  });

  it('is decided by no token of an application or agent', async () => {
    const begun = await client.begin();
    const token = await client.consentToken(begun);
    const { code } = await codeOf(client, owner, begun);
    const { json } = await client.exchange(code);
    const bearers = [gateway.tokens.restToken, gateway.tokens.mcpToken, json.access_token];
    const next = await client.consentToken(await client.begin());
    for (const bearer of bearers)
      for (const each of [token, next])
        expect((await decide({ ...owner, bearer }, gateway.baseUrl, each)).status).to.be.oneOf([401, 403]);
    // What an application holds is for /mcp: REST does not know it.
    const read = await gateway.rest('GET', '/identity', undefined, { token: json.access_token });
    expect([read.status, read.body.error.code]).to.deep.equal([401, 'unauthenticated']);
    expect((await client.mcp(json.access_token)).status).to.equal(200);
  });

  it('goes nowhere for an id that was never given', async () => {
    for (const uid of ['x'.repeat(21), '..', '%2e%2e', 'a'.repeat(5_000)]) {
      const cookie = `_interaction_resume=${uid}`;
      const reply = await ask(`${gateway.baseUrl}/oauth/authorize/${uid}?decided=1`, { headers: { cookie } });
      expect(reply.status, uid.slice(0, 30)).to.be.oneOf([400, 404, 405]);
      expect(reply.location).to.equal(null);
    }
  });

  it('is over ten minutes after it began, and decided with a fresh password', async () => {
    const begun = await client.begin();
    const token = await client.consentToken(begun);
    clock.advance(10 * 60_000 + 1_000);
    expect((await interaction(begun, begun.cookie)).status).to.equal(404);
    expect((await decide(owner, gateway.baseUrl, token)).status).to.equal(404);
    clock.advance(6 * 60_000);
    const later = await client.consentToken(await client.begin());
    const { status, body } = await decide(owner, gateway.baseUrl, later);
    expect([status, body.error.code]).to.deep.equal([403, 'step_up_required']);
  });
});
