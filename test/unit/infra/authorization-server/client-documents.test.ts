import { expect } from 'chai';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { documentFetch } from '../../../../infra/authorization-server/client-documents.ts';
import type { NewState, StateRow } from '../../../../infra/authorization-server/state-rows.ts';
import type { GuardedFetch } from '../../../../infra/oauth/guarded-fetch.ts';
import { APPLICATION_EGRESS, createEgressGuard } from '../../../../infra/egress/egress-guard.ts';
import { guardedFetch } from '../../../../infra/oauth/guarded-fetch.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { rejection } from '../../../support/suite/rejection.ts';

const ID = 'https://tool.example/client.json';
const DOCUMENT = { client_id: ID, client_name: 'Tool', redirect_uris: ['https://tool.example/cb'] };

describe('the fetch of metadata documents', () => {
  const stored = new Map<string, NewState>();
  const rows = {
    find: (model: string, id: string): Promise<StateRow | null> => {
      const found = stored.get(`${model} ${id}`);
      return Promise.resolve(found ? { payload: found.payload, decidedHash: null, consumedAt: null } : null);
    },
    put: (state: NewState): Promise<void> => {
      stored.set(`${state.model} ${state.id}`, state);
      return Promise.resolve();
    },
    take: (model: string, id: string) => Promise.resolve(stored.delete(`${model} ${id}`)),
  };
  const clock = new ManualClock('2026-01-01T00:00:00.000Z');
  const fetched = (fetch: GuardedFetch) => documentFetch({ rows, clock, fetch })(ID);
  const answers = (body: unknown, init: ResponseInit = {}) =>
    fetched(() => Promise.resolve(Response.json(body, init)));
  beforeEach(() => {
    stored.clear();
  });

  it('answers with what was picked, keeps it, and passes the time on for which it may be cached', async () => {
    const answer = await answers(
      { ...DOCUMENT, jwks_uri: 'https://10.0.0.1/' },
      { headers: { 'cache-control': 'max-age=7200' } },
    );
    expect(answer.headers.get('cache-control')).to.equal('max-age=7200');
    const picked = (await answer.json()) as Record<string, unknown>;
    expect(picked).to.include({ client_id: ID, client_name: 'Tool', token_endpoint_auth_method: 'none' });
    expect(picked).not.to.have.property('jwks_uri');
    expect(stored.get(`ClientDocument ${ID}`)?.payload).to.deep.equal(picked);
  });

  it('uses the last good document while the host fails or does not answer', async () => {
    await answers(DOCUMENT);
    for (const outage of [
      () => Promise.resolve(new Response('', { status: 502 })),
      () => Promise.resolve(new Response('', { status: 429 })),
      () => Promise.reject(new Error('connection reset')),
      () =>
        Promise.reject(
          new GatewayError('mailbox_unavailable', 'no such name', { details: { reason: 'dns' } }),
        ),
    ]) {
      const answer = await fetched(outage);
      expect(answer.status).to.equal(200);
      expect(await answer.json()).to.include({ client_id: ID });
    }
  });

  it('has no substitute when the document is gone, bad, redirected or blocked', async () => {
    await answers(DOCUMENT);
    expect((await answers({}, { status: 404 })).status).to.equal(404);
    expect((await answers({}, { status: 302, headers: { location: '/x' } })).status).to.equal(302);
    const blocked = new GatewayError('target_blocked', 'not public');
    expect(await rejection(fetched(() => Promise.reject(blocked)))).to.equal(blocked);
    expect(await rejection(answers({ ...DOCUMENT, client_secret: 'x' }))).to.be.an('error');
    expect(await rejection(answers([DOCUMENT]))).to.be.an('error');
    expect(await rejection(answers({ ...DOCUMENT, client_name: 'x'.repeat(6_000) }))).to.be.an('error');
  });

  for (const [why, body, init] of [
    ['is gone', {}, { status: 404 }],
    ['is gone for ever', {}, { status: 410 }],
    ['leads elsewhere', {}, { status: 302, headers: { location: '/x' } }],
    ['has a secret', { ...DOCUMENT, client_secret: 'x' }, {}],
    ['is no object', [DOCUMENT], {}],
    ['is too large', { ...DOCUMENT, client_name: 'x'.repeat(6_000) }, {}],
  ] as const)
    it(`is not brought back by an outage after a document that ${why}`, async () => {
      await answers(DOCUMENT);
      await answers(body, init).catch((error: unknown) => error);
      const error = new Error('connection reset');
      expect(await rejection(fetched(() => Promise.reject(error)))).to.equal(error);
    });

  it('throws what the host did when nothing is kept', async () => {
    const error = new Error('connection reset');
    expect(await rejection(fetched(() => Promise.reject(error)))).to.equal(error);
  });

  it('asks no host whose name leads to this machine, also among public addresses', async () => {
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::1'], ['169.254.169.254']]) {
      const guard = createEgressGuard([], () => Promise.resolve(addresses), APPLICATION_EGRESS);
      const error = await rejection(documentFetch({ rows, clock, fetch: guardedFetch(guard) })(ID));
      expect(error).to.be.instanceOf(GatewayError).and.to.have.property('code', 'target_blocked');
      expect(error.message).to.include('EGRESS_ALLOW_OAUTH');
    }
  });
});
