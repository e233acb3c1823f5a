import { expect } from 'chai';
import { changePassword } from '../../../../commands/accounts/change-password.ts';
import { endSessions, session, startSession } from '../../../../commands/accounts/session.ts';
import { createSessionToken } from '../../../../commands/accounts/session-token.ts';
import { signIn, stepUpSession } from '../../../../commands/accounts/sign-in.ts';
import { deleteSession, revokeSessions, signOut } from '../../../../commands/accounts/sign-out.ts';
import { decideAndAppend, systemAuthor } from '../../../../commands/kernel/decide-and-append.ts';
import type { Sealed } from '../../../../commands/values/sealed.ts';
import type { PublicContext } from '../../../../commands/kernel/public-route.ts';
import { createAnotherOrganisation } from '../../../../commands/organisation/manage-organisation.ts';
import { switchOrganisation } from '../../../../commands/accounts/switch-organisation.ts';
import { createToken } from '../../../../commands/organisation/manage-tokens.ts';
import { getSession, listSessions } from '../../../../read-api/auth/sessions.ts';
import { type MemoryGateway, OWNER, startMemoryGateway } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const QUARTER_MS = 15 * 60_000;

describe('session management', () => {
  let gateway: MemoryGateway;
  let context: PublicContext;
  beforeEach(async () => {
    gateway = await startMemoryGateway();
    context = {
      ports: gateway.ports,
      routes: { registry: [], publicRoutes: [] },
      requestId: 'req_1',
      surface: 'console',
      source: 'somewhere',
      device: '00',
      sealClient: async (id) => `sealed:${id}:{"ip":"192.0.2.1","user_agent":"a browser"}` as Sealed,
      afterAnswer: (work) => {
        work();
      },
      notePosition: () => undefined,
    };
  });

  const login = (password = OWNER.password) => signIn.handle({ email: OWNER.ownerEmail, password }, context);

  it(`requires the password again a quarter of an hour after sign-in ${verifies('contract:18:step-up', 'contract:18:step-up-guards')}`, async () => {
    const { session } = await login();
    const issue = () =>
      gateway.call(
        createToken,
        { name: 'x', surface: 'rest', scopes: ['org:read'], expires_at: '2026-05-01T00:00:00Z' },
        { token: session.id },
      );
    await issue();
    gateway.clock.advance(QUARTER_MS);
    expect(await rejection(issue())).to.include({ code: 'step_up_required' });
    const told = await gateway.call<{ stepped_up_until: unknown }>(getSession, {}, { token: session.id });
    expect(told.stepped_up_until).to.equal(null);
    const again = { password: OWNER.password };
    const { stepped_up_until } = await gateway.call<{ stepped_up_until: string }>(stepUpSession, again, {
      token: session.id,
    });
    expect(Date.parse(stepped_up_until)).to.equal(gateway.clock.now().getTime() + QUARTER_MS);
    await issue();
  });

  it('refuses to sign in when the person has no role, whatever the password', async () => {
    const { directory } = gateway.ports;
    const members = new Map<string, never>();
    const state = { ...directory.state, members };
    context = { ...context, ports: { ...gateway.ports, directory: { ...directory, state } } };
    expect(await rejection(login())).to.include({ code: 'invalid_credentials' });
  });

  it('ends the oldest session when a person starts the hundred-and-first', async () => {
    const first = await login();
    for (let n = 0; n < 99; n += 1) await gateway.signIn();
    expect(gateway.ports.directory.state.sessions.get(first.session.id)?.endedAt).to.equal(null);
    await login();
    expect(gateway.ports.directory.state.sessions.get(first.session.id)?.endedAt).to.be.a('string');
    const last = gateway.events.all.at(-1);
    expect(last).to.deep.include({
      type: 'SessionEnded',
      data: { user_id: gateway.org.userId, reason: 'too_many' },
    });
  });

  it(`lists live sessions with their IP address and user agent ${verifies('contract:17:sessions')}`, async () => {
    const { session } = await login();
    gateway.clock.advance(1);
    const second = await gateway.signIn();
    const ended = await gateway.signIn();
    await gateway.invoke(deleteSession, { session_id: ended }, { token: session.id });
    gateway.clock.advance(2 * QUARTER_MS - 10);
    const list = async (token: string) =>
      (await gateway.call<{ items: { id: string }[] }>(listSessions, {}, { token })).items;
    const items = await list(session.id);
    expect(items.map(({ id }) => id)).to.deep.equal([second, session.id]);
    expect(items[1]).to.include({ is_current: true, ip: '192.0.2.1', user_agent: 'a browser' });
    // Half an hour without use ends the one; the other makes the call.
    gateway.clock.advance(10);
    expect((await list(session.id)).map(({ id }) => id)).to.deep.equal([session.id]);
  });

  it(`lists the sessions in every organisation of the person ${verifies('contract:17:sessions')}`, async () => {
    const first = await gateway.signIn();
    const { id: orgId } = await gateway.call<{ id: string }>(
      createAnotherOrganisation,
      { name: 'Second' },
      { token: first },
    );
    const other = await gateway.signIn();
    const { session: second } = await gateway.call<{ session: { id: string } }>(
      switchOrganisation,
      { org_id: orgId },
      { token: other },
    );
    for (const token of [first, second.id]) {
      const { items } = await gateway.call<{ items: { id: string; org: { id: string } }[] }>(
        listSessions,
        {},
        { token },
      );
      expect(items.map(({ id, org }) => [id, org.id])).to.have.deep.members([
        [first, gateway.org.orgId],
        [second.id, orgId],
      ]);
    }
  });

  it('returns the latest position of the sessions it ends, whichever comes last', async () => {
    const [ended, open] = [await gateway.signIn(), await gateway.signIn()];
    const author = systemAuthor(gateway.ports, gateway.org.orgId);
    const before = await endSessions(gateway.ports, author, [{ id: ended }], 'revoked');
    const last = await endSessions(gateway.ports, author, [{ id: open }, { id: ended }], 'revoked');
    expect(last).to.equal(gateway.events.all.at(-1)?.position);
    expect(before).to.satisfy((position: bigint) => position < (last ?? 0n));
  });

  it(`ends one session or all of them, and never another person's ${verifies('contract:17:logout')}`, async () => {
    const [one, two, three] = [await gateway.signIn(), await gateway.signIn(), await gateway.signIn()];
    const ended = () =>
      [one, two, three].map((id) => gateway.ports.directory.state.sessions.get(id)?.endedAt !== null);
    await gateway.invoke(signOut, {}, { token: one });
    expect(ended()).to.deep.equal([true, false, false]);
    expect(
      await rejection(gateway.invoke(deleteSession, { session_id: 'ses_x' }, { token: two })),
    ).to.include({
      code: 'not_found',
    });
    await gateway.invoke(revokeSessions, {}, { token: two });
    expect(ended()).to.deep.equal([true, true, true]);
  });

  it(`makes no token that outlives its session ${verifies('contract:2:session-token')}`, async () => {
    const { session } = await login();
    gateway.clock.advance(12 * 3_600_000 - 60_000);
    await gateway.call(stepUpSession, { password: OWNER.password }, { token: session.id });
    const made = await gateway.call<{ expires_at: string }>(
      createSessionToken,
      { audience: 'http://127.0.0.1/mcp' },
      { token: session.id },
    );
    expect(Date.parse(made.expires_at)).to.be.at.most(Date.parse(session.expires_at));
  });

  it(`ends a session started elsewhere just before a password change, too ${verifies('contract:17:password-change')}`, async () => {
    const { ports, org } = gateway;
    const own = await gateway.signIn();
    const elsewhere = ports.ids.newId('ses');
    const secretHash = await ports.personal.seal(org.userId, 'x');
    await decideAndAppend(ports, systemAuthor(ports, org.orgId), session, {
      id: elsewhere,
      decide: (state) => startSession(state, { userId: org.userId, secretHash, now: gateway.clock.now() }),
    });
    expect(ports.directory.state.sessions.has(elsewhere)).to.equal(false);
    const change = { old: OWNER.password, new: 'another long passphrase' };
    await gateway.call(changePassword, change, { token: own });
    const ends = ports.directory.state.sessions;
    expect(ends.get(elsewhere)?.endedAt).to.be.a('string');
    expect(ends.get(own)?.endedAt).to.equal(null);
  });
});
