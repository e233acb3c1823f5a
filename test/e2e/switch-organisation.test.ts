/** One person in several organisations: where a sign-in arrives, changing over, and ending sessions meanwhile. */
import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { createOrganisation, organisation } from '../../commands/organisation/organisation.ts';
import { MailLog } from '../support/fakes/mail-log.ts';
import { PERSON_PASSWORD, signInNew, signInWith } from '../support/worlds/sign-in.ts';
import {
  callRest,
  eventually,
  type Json,
  startTestGateway,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { timesOf } from '../support/suite/long.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('switching the organisation', function () {
  this.timeout(timesOf(300_000, 1_800_000));
  const log = new MailLog();
  let gateway: TestGateway;
  let first: string;

  before(async () => {
    gateway = await startTestGateway({ log, env: { TRUSTED_PROXIES: '127.0.0.1' } });
    first = gateway.tokens.orgId;
  });
  after(() => gateway.stop());

  const codeOf = ({ status, body }: { status: number; body: Json }): string =>
    `${String(status)} ${String(body.error.code)}`;
  const found = async (ownerId: string): Promise<string> => {
    const { ports } = gateway.gateway;
    const id = ports.ids.newId('org');
    const { position } = await decideAndAppend(ports, systemAuthor(ports, id), organisation, {
      id,
      decide: (state) => createOrganisation(state, { name: 'Second', ownerId }),
    });
    if (position !== null) await ports.directory.waitFor(position);
    return id;
  };
  const withBearer = (bearer: string, method: string, path: string, body?: unknown) =>
    callRest(gateway.baseUrl, [method, path, body], { token: bearer });
  const openSessions = (userId: string) =>
    (gateway.gateway.ports.directory.state.personSessions.get(userId)?.sessions ?? []).filter(
      ({ endedAt }) => endedAt === null,
    );

  it(`replaces the session by one with the same end, in an organisation of the person only ${verifies('contract:17:switch-org', 'contract:17:login')}`, async () => {
    const ann = await signInNew(gateway, 'member', 'ann@example.com');
    const second = await found(ann.userId);
    const before = (await ann.rest('GET', '/auth/session')).body;
    expect(
      codeOf(await ann.rest('POST', '/auth/switch-org', { org_id: gateway.gateway.ports.ids.newId('org') })),
    ).to.equal('404 not_found');
    const other = await signInNew(gateway, 'admin', 'other@example.com');
    expect(codeOf(await other.rest('POST', '/auth/switch-org', { org_id: second }))).to.equal(
      '404 not_found',
    );
    const switched = await ann.rest('POST', '/auth/switch-org', { org_id: second });
    expect(switched.status, JSON.stringify(switched.body)).to.equal(200);
    expect(switched.body).to.have.all.keys('session_token', 'session', 'expires_at');
    expect(switched.body.session).to.deep.include({ role: 'owner', org: { id: second, name: 'Second' } });
    expect(switched.body.session.stepped_up_until).to.equal(before.stepped_up_until);
    expect(switched.body.expires_at).to.equal(before.expires_at);
    expect(codeOf(await ann.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    const next = switched.body.session_token as string;
    expect((await withBearer(next, 'GET', '/auth/session')).body.org.id).to.equal(second);
    // The next sign-in arrives where the last one was; without that one, where the person joined first.
    const again = await callRest(
      gateway.baseUrl,
      ['POST', '/auth/login', { email: ann.email, password: PERSON_PASSWORD }],
      {},
    );
    expect(again.body.session.org.id).to.equal(second);
    const back = await withBearer(next, 'POST', '/auth/switch-org', { org_id: first });
    expect(back.body.session.role).to.equal('member');
    const listed = await withBearer(back.body.session_token as string, 'GET', '/auth/sessions');
    expect(listed.body.items[0].device).to.equal('node');
  });

  it(`ends what replaced a session together with it, also before that began ${verifies('contract:17:switch-org', 'contract:17:logout')}`, async () => {
    const bob = await signInNew(gateway, 'member', 'bob@example.com');
    const second = await found(bob.userId);
    const switched = await bob.rest('POST', '/auth/switch-org', { org_id: second });
    const next = await withBearer(switched.body.session_token as string, 'GET', '/auth/session');
    expect(next.status).to.equal(200);
    const third = await signInWith(gateway.baseUrl, bob.email);
    expect((await third.rest('DELETE', `/auth/sessions/${bob.sessionId}`)).status).to.equal(204);
    const ended = await withBearer(switched.body.session_token as string, 'GET', '/auth/session');
    expect(codeOf(ended)).to.equal('401 token_revoked');
  });

  it(`leaves no session alive after all were ended or the password was changed, 50 times each ${verifies('contract:17:switch-org', 'contract:17:logout', 'contract:17:password-change')}`, async () => {
    const cleo = await signInNew(gateway, 'member', 'cleo@example.com');
    const second = await found(cleo.userId);
    const rounds = timesOf(50, 1_000);
    for (let n = 0; n < rounds; n += 1) {
      const [one, two] = [
        await signInWith(gateway.baseUrl, cleo.email),
        await signInWith(gateway.baseUrl, cleo.email),
      ];
      const target = openSessions(cleo.userId)[0]?.orgId === second ? first : second;
      const [switched, revoked] = await Promise.all([
        one.rest('POST', '/auth/switch-org', { org_id: target }),
        two.rest('POST', '/auth/sessions/revoke-all', {}),
      ]);
      expect(revoked.status).to.equal(204);
      if (switched.status === 200) {
        const token = switched.body.session_token as string;
        expect(codeOf(await withBearer(token, 'GET', '/auth/session'))).to.equal('401 token_revoked');
      } else expect(codeOf(switched)).to.equal('401 token_revoked');
      expect(openSessions(cleo.userId), `round ${String(n)}`).to.deep.equal([]);
    }
    for (let n = 0; n < rounds; n += 1) {
      const [one, two] = [
        await signInWith(gateway.baseUrl, cleo.email),
        await signInWith(gateway.baseUrl, cleo.email),
      ];
      const target = openSessions(cleo.userId)[0]?.orgId === second ? first : second;
      const change = { old: PERSON_PASSWORD, new: PERSON_PASSWORD };
      const [switched, changed] = await Promise.all([
        one.rest('POST', '/auth/switch-org', { org_id: target }),
        two.rest('POST', '/auth/password/change', change),
      ]);
      expect(changed.status, JSON.stringify(changed.body)).to.equal(204);
      expect([200, 401]).to.include(switched.status);
      expect(
        openSessions(cleo.userId).map(({ id }) => id),
        `round ${String(n)}`,
      ).to.deep.equal([two.sessionId]);
      expect((await two.rest('POST', '/auth/logout', {})).status).to.equal(204);
    }
  });

  it(`tells a person of a sign-in from another device, and of no other ${verifies('contract:18:new-device')}`, async () => {
    const dan = await signInNew(gateway, 'member', 'dan@example.com');
    const signIn = async (address: string, userAgent: string): Promise<void> => {
      const headers = { 'x-forwarded-for': address, 'user-agent': userAgent };
      const body = { email: dan.email, password: PERSON_PASSWORD };
      const answer = await callRest(gateway.baseUrl, ['POST', '/auth/login', body], { headers });
      expect(answer.status).to.equal(200);
    };
    const told = () => log.countOf('new_sign_in', dan.userId);
    await eventually(async () => {
      const rows = await gateway.gateway.ports.sql.query(
        'select 1 from work.known_device where user_id = $1',
        [dan.userId],
      );
      expect(rows).to.have.length(1);
    });
    const firefox = (version: string) =>
      `Mozilla/5.0 (X11; Linux x86_64; rv:${version}) Gecko/20100101 Firefox/${version}`;
    await signIn('203.0.113.7', firefox('127.0'));
    await eventually(async () => {
      expect(told()).to.equal(1);
    });
    // Another version, another address of the same network.
    await signIn('203.0.113.99', firefox('128.0'));
    await signIn('198.18.0.1', firefox('128.0'));
    await eventually(async () => {
      expect(told()).to.equal(2);
    });
    const rows = await gateway.gateway.ports.sql.query(
      'select device from work.known_device where user_id = $1',
      [dan.userId],
    );
    expect(rows).to.have.length(3);
  });
});
