/** A person is invited over REST, accepts with the link of the mail, works with the grants, and erases the account. */
import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { acceptInvite, invite as aggregate } from '../../commands/organisation/invite.ts';
import { ShiftedClock } from '../support/fakes/shifted-clock.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { MailLog } from '../support/fakes/mail-log.ts';
import {
  callRest,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, type SignedInPerson, signInOwner, signInWith } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const STEPPED_UP_MS = 15 * 60_000;

describe('an invited person', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let mails: MailLog;
  let owner: SignedInPerson;
  const clock = new ShiftedClock();

  before(async function () {
    dovecot = await requireTestDovecot(this);
    mails = new MailLog();
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, { log: mails, clock }));
    owner = await signInOwner(gateway);
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const invite = async (email: string, more: object = {}): Promise<Json> => {
    const made = await owner.rest('POST', '/invites', { email, role: 'member', ...more });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    return made.body;
  };
  const linkOf = (inviteId: string, count = 1): Promise<string> =>
    mails.tokenOf('invite', inviteId, count - 1);
  const post = (path: string, body: object) => callRest(gateway.baseUrl, ['POST', path, body], {});

  it(`becomes a member and works with the grants of the invite ${verifies('contract:18:accept-invite', 'contract:18:invite-link', 'contract:17:invites')}`, async () => {
    const { id } = await invite('ida@example.net', {
      mailbox_grants: [{ mailbox_id: mailboxId, preset: 'reader' }],
    });
    const first = await linkOf(id as string);
    expect((await owner.rest('POST', `/invites/${id as string}/resend`)).status).to.equal(200);
    expect((await post('/auth/invites/accept/link', { token: first })).status).to.equal(401);
    const token = await linkOf(id as string, 2);
    const offered = await post('/auth/invites/accept/link', { token });
    expect(offered.body).to.deep.include({ email: 'ida@example.net', role: 'member', has_account: false });
    const weak = await post('/auth/invites/accept', { token, name: 'Ida', password: 'short' });
    expect(weak.status).to.equal(400);
    expect(weak.body.error.details.issues[0].path).to.equal('password');
    const accepted = await post('/auth/invites/accept', { token, name: 'Ida', password: PERSON_PASSWORD });
    expect(accepted.status, JSON.stringify(accepted.body)).to.equal(204);
    const again = await post('/auth/invites/accept', { token, name: 'Ida', password: PERSON_PASSWORD });
    expect(again.status).to.equal(401);
    const ida = await signInWith(gateway.baseUrl, 'ida@example.net');
    const me = await ida.rest('GET', '/users/me');
    expect(me.body).to.deep.include({ name: 'Ida', email: 'ida@example.net', is_verified: true });
    const messages = await ida.rest('GET', `/mailboxes/${mailboxId}/messages`);
    expect(messages.status, JSON.stringify(messages.body)).to.equal(200);
    expect((await ida.rest('GET', '/invites')).status).to.equal(403);
  });

  it(`is invited with a fresh password of a person only ${verifies('contract:17:invites')}`, async () => {
    const body = { email: 'nobody@example.net', role: 'member' };
    const byToken = await gateway.rest('POST', '/invites', body);
    expect(byToken.status).to.equal(403);
    clock.step(STEPPED_UP_MS);
    const stale = await owner.rest('POST', '/invites', body);
    expect([stale.status, stale.body.error.code]).to.deep.equal([403, 'step_up_required']);
    const listed = await owner.rest('GET', '/invites');
    expect(listed.body.items).to.deep.equal([]);
    const fresh = await owner.rest('POST', '/auth/step-up', { password: PERSON_PASSWORD });
    expect(fresh.status).to.equal(200);
    const { id } = await invite(body.email);
    clock.step(STEPPED_UP_MS);
    const again = await owner.rest('POST', `/invites/${id as string}/resend`);
    expect([again.status, again.body.error.code]).to.deep.equal([403, 'step_up_required']);
    expect((await owner.rest('DELETE', `/invites/${id as string}`)).status).to.equal(204);
    await owner.rest('POST', '/auth/step-up', { password: PERSON_PASSWORD });
  });

  it(`is finished by the gateway when the request was interrupted ${verifies('contract:18:accept-once')}`, async () => {
    const { id } = await invite('lea@example.net');
    const { ports } = gateway.gateway;
    const userId = ports.ids.newId('usr');
    const name = await ports.personal.seal(userId, 'Lea');
    await ports.secrets.savePassword(userId, await ports.secrets.hashPassword(PERSON_PASSWORD));
    await decideAndAppend(ports, systemAuthor(ports, gateway.tokens.orgId), aggregate, {
      id: id as string,
      decide: (state, now) => acceptInvite(state, { user_id: userId, name }, now),
    });
    const lea = await eventually(() => signInWith(gateway.baseUrl, 'lea@example.net'));
    expect(lea.userId).to.equal(userId);
  });

  it(`erases the account, and the address is free ${verifies('contract:17:erase-account')}`, async () => {
    const ida = await signInWith(gateway.baseUrl, 'ida@example.net');
    expect((await ida.rest('DELETE', '/users/me')).status).to.equal(202);
    expect((await ida.rest('GET', '/users/me')).status).to.equal(401);
    const login = await post('/auth/login', { email: 'ida@example.net', password: PERSON_PASSWORD });
    expect(login.status).to.equal(401);
    const refused = await owner.rest('DELETE', '/users/me');
    expect(refused.status).to.equal(409);
    expect(refused.body.error).to.deep.include({
      code: 'last_owner',
      details: { organisations: [{ id: gateway.tokens.orgId, name: 'First' }] },
    });
    const { id } = await invite('ida@example.net');
    const more = { name: 'Other Ida', password: PERSON_PASSWORD };
    const accepted = await post('/auth/invites/accept', { token: await linkOf(id as string), ...more });
    expect(accepted.status).to.equal(204);
    expect((await signInWith(gateway.baseUrl, 'ida@example.net')).userId).not.to.equal(ida.userId);
  });
});
