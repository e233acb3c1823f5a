import { expect } from 'chai';
import { createToken, deleteToken } from '../../../commands/organisation/manage-tokens.ts';
import { errorOf, type RestStage, startRestStage } from '../../support/worlds/rest/rest-stage.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('answers on REST', () => {
  let stage: RestStage;

  before(async () => {
    stage = await startRestStage();
  });
  beforeEach(() => {
    for (const list of [stage.recorded, stage.counted, stage.lines]) list.length = 0;
    stage.reads.askedFor.length = 0;
    stage.reads.inTime = true;
  });
  after(() => stage.close());

  it(`are the resource itself with the id of the request ${verifies('contract:0:single-resource', 'contract:0:request-id', 'contract:13:request-id')}`, async () => {
    const answer = await stage.call('GET', '/notes/n');
    expect(answer.status).to.equal(200);
    expect(answer.json).to.deep.equal({ id: 'not_1', input: { note_id: 'n' } });
    expect(answer.headers['request-id']).to.match(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(answer.headers).to.deep.include({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(answer.text)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers).not.to.have.any.keys('x-powered-by', 'transfer-encoding', 'set-cookie', 'stale');
    expect(stage.notes.requests.at(-1)?.id).to.equal(answer.headers['request-id']);
  });

  it(`have a strong ETag where the capability declares one, and nowhere else ${verifies('contract:0:no-other-etag')}`, async () => {
    expect((await stage.call('GET', '/notes/n')).headers.etag).to.equal('"7"');
    for (const answer of [
      await stage.call('PATCH', '/notes/n'),
      await stage.call('POST', '/notes'),
      await stage.call('GET', '', { url: '/' }),
      await stage.call('GET', '/nothing'),
    ]) {
      expect(answer.headers).not.to.have.property('etag');
    }
    const conditional = await stage.call('GET', '/notes/n', { headers: { 'if-none-match': '"7"' } });
    expect(conditional.status).to.equal(200);
  });

  it('name the location of a created object and the position of its event', async () => {
    const made = await stage.call('POST', '/notes', { body: { text: 'a' } });
    expect(made.status).to.equal(201);
    expect(made.headers).to.deep.include({
      location: '/api/v1/notes/not_1',
      position: `${stage.ports.server.logId}-4711`,
    });
    expect(made.headers).not.to.have.property('idempotency-replayed');
  });

  it('report that a key was used before', async () => {
    const headers = { 'idempotency-key': 'k' };
    const first = await stage.call('POST', '/notes', { headers });
    const again = await stage.call('POST', '/notes', { headers });
    expect(first.headers).not.to.have.property('idempotency-replayed');
    expect(again.headers['idempotency-replayed']).to.equal('true');
  });

  it('have no body for 204', async () => {
    const answer = await stage.call('DELETE', '/notes/n');
    expect(answer.status).to.equal(204);
    expect(answer.text).to.equal('');
    expect(answer.headers).not.to.have.any.keys('content-type', 'content-length', 'transfer-encoding');
    expect(answer.headers).to.have.property('request-id');
  });

  it('pass the whole body to the field that is the body', async () => {
    const body = { archive: null, important: { create: 'Wichtig' } };
    const { json } = await stage.call('PUT', '/notes/n/labels', { body });
    expect(json?.['input']).to.deep.equal({ note_id: 'n', labels: body });
    expect((await stage.call('PUT', '/notes/n/labels')).json?.['input']).to.deep.equal({
      note_id: 'n',
      labels: {},
    });
  });

  it('have headers and no body for HEAD', async () => {
    const { status, headers, text } = await stage.call('HEAD', '/notes/n');
    expect([status, text]).to.deep.equal([200, '']);
    expect(headers['content-length']).to.equal(String((await stage.call('GET', '/notes/n')).text.length));
  });

  it('wait for If-Position and report when it was not reached', async () => {
    const headers = { 'if-position': `${stage.ports.server.logId}-4711` };
    expect((await stage.call('GET', '/notes/n', { headers })).headers).not.to.have.property('stale');
    stage.reads.inTime = false;
    expect((await stage.call('GET', '/notes/n', { headers })).headers['stale']).to.equal('true');
    expect(stage.reads.askedFor).to.deep.equal([4_711n, 4_711n]);
  });

  it(`ignore an If-Position of another log and refuse a malformed one ${verifies('contract:0:log-id')}`, async () => {
    stage.reads.inTime = false;
    const ofAnother = { 'if-position': 'ffffffff-4711' };
    expect((await stage.call('GET', '/notes/n', { headers: ofAnother })).headers).not.to.have.property(
      'stale',
    );
    const none = await stage.call('GET', '/notes/n', { headers: { 'if-position': '4711' } });
    expect(errorOf(none)).to.include({ code: 'invalid_request' });
  });

  it(`have errors of one form ${verifies('contract:13:body', 'contract:13:retry-after')}`, async () => {
    const gone = errorOf(await stage.call('POST', '/fail', { body: { how: 'gone' } }));
    expect(gone).to.have.all.keys('code', 'status', 'message', 'request_id', 'retryable', 'details');
    expect(gone).to.include({ code: 'not_found', status: 404, retryable: false });
  });

  it(`have a time to retry after 503 ${verifies('contract:13:retry-503', 'contract:13:retry-after')}`, async () => {
    const answer = await stage.call('POST', '/fail', { body: { how: 'busy' } });
    expect(answer.status).to.equal(503);
    expect(errorOf(answer)).to.include({
      code: 'mailbox_unavailable',
      retryable: true,
      retry_after_seconds: 2,
    });
    expect(answer.headers['retry-after']).to.equal('2');
  });

  it(`name the missing scope, and record it ${verifies('contract:3:insufficient-scope', 'contract:13:insufficient-scope')}`, async () => {
    const answer = await stage.call('GET', '/closed');
    expect(errorOf(answer)).to.deep.include({
      code: 'insufficient_scope',
      status: 403,
      details: { required: ['policy:manage'] },
    });
    expect(answer.headers['www-authenticate']).to.equal(
      'Bearer realm="api", error="insufficient_scope", scope="policy:manage"',
    );
    expect(stage.recorded.map(({ data, metadata }) => [data['code'], metadata['request_id']])).to.deep.equal([
      ['insufficient_scope', answer.headers['request-id']],
    ]);
  });

  it(`name the request in the record of a refused token ${verifies('contract:12:denials', 'contract:13:http-errors')}`, async () => {
    const { memory } = stage;
    const { id, token } = await memory.call<{ id: string; token: string }>(createToken, {
      name: 'short',
      surface: 'rest',
      scopes: ['mailboxes:read'],
      expires_at: '2026-03-10T00:00:00Z',
    });
    await memory.call(deleteToken, { token_id: id });
    const answer = await stage.call('GET', '/notes/n', { bearer: token, headers: { 'user-agent': 'probe' } });
    expect(errorOf(answer)).to.include({ code: 'token_revoked', status: 401 });
    expect(answer.headers['www-authenticate']).to.equal('Bearer realm="api", error="invalid_token"');
    const [entry] = stage.recorded;
    expect(entry?.metadata['request_id']).to.equal(answer.headers['request-id']);
    const { client } = entry?.metadata['actor'] as { client: string };
    expect(client).to.equal(`sealed:${stage.memory.org.userId}:{"ip":"127.0.0.1","user_agent":"probe"}`);
  });

  it(`record the console as surface when its page asks in a session, and nowhere else ${verifies('contract:12:console-surface')}`, async () => {
    const { memory, notes, recorded } = stage;
    const { token: session, hash } = memory.ports.tokens.newSessionToken(memory.org.orgId);
    await memory.signIn(undefined, hash);
    const surfaceOf = async (bearer: string, site: string | null): Promise<unknown> => {
      const headers = site === null ? {} : { 'sec-fetch-site': site };
      expect((await stage.call('GET', '/notes/n', { bearer, headers })).status).to.equal(200);
      return notes.requests.at(-1)?.surface;
    };
    expect(await surfaceOf(session, 'same-origin')).to.equal('console');
    for (const site of ['same-site', 'cross-site', 'none', null]) {
      expect(await surfaceOf(session, site), String(site)).to.equal('rest');
    }
    expect(await surfaceOf(memory.org.restToken, 'same-origin'), 'no session').to.equal('rest');
    const headers = { 'sec-fetch-site': 'same-origin' };
    await stage.call('GET', '/nowhere', { bearer: session, headers });
    await stage.call('GET', '/nowhere', { headers });
    expect(recorded.map(({ metadata }) => metadata['surface'])).to.deep.equal(['console', 'rest']);
  });

  describe('to browsers', () => {
    const preflight = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };

    it(`allow listed origins ${verifies('contract:16:cors')}`, async () => {
      const origin = 'https://app.example';
      const asked = await stage.call('OPTIONS', '/notes', {
        bearer: null,
        headers: { ...preflight, origin },
      });
      expect(asked.status).to.equal(204);
      expect(asked.headers).to.include({ 'access-control-allow-origin': origin, vary: 'Origin' });
      const answer = await stage.call('GET', '/notes/n', { headers: { origin } });
      expect(answer.headers['access-control-allow-origin']).to.equal(origin);
      const refused = await stage.call('GET', '/notes/n', { bearer: null, headers: { origin } });
      expect([refused.status, refused.headers['access-control-allow-origin']]).to.deep.equal([401, origin]);
    });

    it(`refuse other origins before anything else, and count them ${verifies('contract:16:origin', 'contract:13:http-errors')}`, async () => {
      for (const origin of ['https://evil.example', 'null']) {
        for (const [method, headers] of [
          ['OPTIONS', { ...preflight, origin }],
          ['GET', { origin }],
        ] as const) {
          const answer = await stage.call(method, '/notes', { headers });
          expect(errorOf(answer)).to.include({ code: 'origin_not_allowed', status: 403 });
          expect(answer.headers).not.to.have.property('access-control-allow-origin');
        }
      }
      expect(stage.counted).to.have.length(4);
      expect(stage.recorded).to.deep.equal([]);
    });
  });
});

describe('limits on REST', () => {
  let stage: RestStage;

  beforeEach(async () => {
    stage = await startRestStage({ readsPerMinute: 3, writesPerMinute: 1, concurrentRequests: 2 });
  });
  afterEach(() => stage.close());

  it(`answer 429 with the wait and the limit, and count it ${verifies('contract:15:rates', 'contract:15:headers', 'contract:15:rate-limits', 'contract:12:unauthenticated-counted')}`, async () => {
    const first = await stage.call('POST', '/notes');
    expect(first.headers).to.include({
      'ratelimit-policy': '"writes";q=1;w=60',
      ratelimit: '"writes";r=0;t=60',
    });
    const refused = await stage.call('POST', '/notes');
    expect(errorOf(refused)).to.include({ code: 'rate_limited', retryable: true, retry_after_seconds: 60 });
    expect(refused.headers).to.include({
      'retry-after': '60',
      'ratelimit-policy': '"writes";q=1;w=60',
      ratelimit: '"writes";r=0;t=60',
    });
    expect(stage.counted).to.deep.equal([`rate_limited ${stage.memory.ownerTokenId}`]);
    expect(stage.recorded).to.deep.equal([]);
    expect((await stage.call('GET', '/notes/n')).status).to.equal(200);
    stage.memory.clock.advance(60_000);
    expect((await stage.call('POST', '/notes')).status).to.equal(201);
  });

  it('count requests without a capability too', async () => {
    await stage.call('GET', '/nothing');
    await stage.call('PUT', '/notes');
    await stage.call('GET', '/notes/n?unknown=1');
    expect((await stage.call('GET', '/nothing')).status).to.equal(429);
  });

  it('limit the requests that run at once', async () => {
    const open = stage.notes.holdSlow();
    const slow = [stage.call('GET', '/slow'), stage.call('GET', '/slow')];
    await stage.notes.slowAtWork(2);
    const refused = await stage.call('POST', '/notes');
    expect(errorOf(refused)).to.deep.include({
      code: 'rate_limited',
      details: { limit: 'concurrent_requests' },
    });
    open();
    expect((await Promise.all(slow)).map(({ status }) => status)).to.deep.equal([200, 200]);
    expect((await stage.call('POST', '/notes')).status).to.equal(201);
  });
});
