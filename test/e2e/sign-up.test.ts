/** Signing up, verifying an address and recovering a password, end to end, with the links that are mailed. */
import { expect } from 'chai';
import { MailLog } from '../support/fakes/mail-log.ts';
import { PERSON_PASSWORD, signInOwner, type SignedInPerson, signInWith } from '../support/worlds/sign-in.ts';
import {
  type Answer,
  callRest,
  eventually,
  type Json,
  startTestGateway,
  type TestGateway,
  untilAvailable,
} from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

const OWNER = 'owner@example.com';

describe('signing up', function () {
  this.timeout(90_000);
  const log = new MailLog();
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let calls = 0;

  before(async () => {
    gateway = await startTestGateway({ log, env: { SIGNUP: 'open', TRUSTED_PROXIES: '127.0.0.1' } });
    owner = await signInOwner(gateway);
  });
  after(() => gateway.stop());

  /** From a new address each time, as people do. */
  const open = (method: string, path: string, body?: unknown): Promise<Answer> => {
    calls += 1;
    const headers = { 'x-forwarded-for': `198.51.${String(calls >> 8)}.${String(calls & 255)}` };
    return callRest(gateway.baseUrl, [method, path, body], { headers });
  };
  const codeOf = ({ status, body }: { status: number; body: Json }): string =>
    `${String(status)} ${String(body.error.code)}`;
  const signUp = async (email: string, password = PERSON_PASSWORD): Promise<SignedInPerson> => {
    const input = { email, password, name: 'Sam New', org_name: `Org of ${email.split('@')[0] ?? ''}` };
    const answer = await untilAvailable(
      () => open('POST', '/auth/signup', input),
      ({ status }) => status,
    );
    expect([answer.status, answer.body], JSON.stringify(answer.body)).to.deep.equal([202, {}]);
    return await signInWith(gateway.baseUrl, email, password);
  };
  const verify = (token: string) => open('POST', '/auth/verify', { token });
  const webhook = { url: 'https://hooks.example.com/x', event_types: ['message.received'] };

  it(`makes an account that can do harmless things until its address is verified by the mailed link ${verifies('contract:17:sign-up', 'contract:17:verify', 'contract:18:unverified', 'contract:18:one-time-links')}`, async () => {
    const sam = await signUp('sam@example.com');
    const identity = await sam.rest('GET', '/identity');
    expect(identity.body.org.name).to.equal('Org of sam');
    const refused = await sam.rest('POST', '/webhook-endpoints', webhook);
    expect(codeOf(refused)).to.equal('403 email_unverified');
    expect(refused.body.error.message).to.contain('POST /auth/verify/resend');
    const token = await log.tokenOf('verify_email', sam.userId);
    expect((await open('GET', `/auth/verify?token=${token}`)).status).to.equal(401);
    expect((await verify(token)).status).to.equal(204);
    const admitted = await sam.rest('POST', '/webhook-endpoints', webhook);
    expect(
      codeOf({ status: admitted.status, body: { error: { code: '-' }, ...admitted.body } }),
    ).not.to.contain('email_unverified');
    expect(admitted.status).not.to.equal(403);
    const replayed = await verify(token);
    expect(codeOf(replayed)).to.equal('401 invalid_credentials');
    expect(replayed.body.error.message).to.contain('POST /auth/verify/resend');
    const unknown = await verify('x'.repeat(47));
    expect(unknown.body.error.message).to.equal(replayed.body.error.message);
  });

  it(`tells the person of a known address by mail, and gives the newcomer no link ${verifies('contract:18:no-enumeration', 'contract:18:claimed-address')}`, async () => {
    const newcomer = await signUp(OWNER, 'a third long passphrase');
    expect(newcomer.userId).not.to.equal(owner.userId);
    await eventually(async () => {
      expect(log.countOf('verify_email', owner.userId)).to.equal(1);
    });
    expect(log.countOf('verify_email', newcomer.userId)).to.equal(0);
    expect((await signInWith(gateway.baseUrl, OWNER)).userId).to.equal(owner.userId);
    // A link that was made before the address was taken.
    const late = await gateway.gateway.ports.links.make('verify', newcomer.userId, null);
    expect(codeOf(await verify(late))).to.equal('409 conflict');
    expect((await newcomer.rest('GET', '/auth/session')).status).to.equal(200);
  });

  it(`gives an address to the first of two accounts that verifies it ${verifies('contract:17:verify', 'contract:18:claimed-address')}`, async () => {
    const first = await signUp('twice@example.com');
    const second = await signUp('twice@example.com', 'a third long passphrase');
    const tokens = [
      await log.tokenOf('verify_email', first.userId),
      await log.tokenOf('verify_email', second.userId),
    ] as const;
    expect((await verify(tokens[0])).status).to.equal(204);
    const late = await verify(tokens[1]);
    expect(codeOf(late)).to.equal('409 conflict');
    expect(late.body.error.message).to.contain('POST /auth/password/forgot');
    const { people } = gateway.gateway.ports.directory.state;
    expect(people.get(first.userId)?.isVerified).to.equal(true);
    expect(people.get(second.userId)?.isVerified).to.equal(false);
    // Both accounts are still there, each behind its own password.
    expect((await signInWith(gateway.baseUrl, 'twice@example.com')).userId).to.equal(first.userId);
    expect(
      (await signInWith(gateway.baseUrl, 'twice@example.com', 'a third long passphrase')).userId,
    ).to.equal(second.userId);
  });

  it(`counts a link once when it is used many times at once, and the newest only ${verifies('contract:18:one-time-links', 'contract:18:newest-link', 'contract:17:verify-resend')}`, async () => {
    const ann = await signUp('ann@example.com');
    const replaced = await log.tokenOf('verify_email', ann.userId);
    for (let n = 0; n < 2; n += 1) {
      const asked = await open('POST', '/auth/verify/resend', { email: ' Ann@Example.com' });
      expect([asked.status, asked.body]).to.deep.equal([202, {}]);
    }
    const token = await log.tokenOf('verify_email', ann.userId, 1);
    expect(codeOf(await verify(replaced))).to.equal('401 invalid_credentials');
    const answers = await Promise.all(Array.from({ length: 6 }, () => verify(token)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([204, 401, 401, 401, 401, 401]);
    expect(log.countOf('verify_email', ann.userId)).to.equal(2);
    expect((await ann.rest('GET', '/identity')).status).to.equal(200);
  });

  it(`sets a forgotten password by the mailed link, for half an hour, and tells the person ${verifies('contract:17:password-forgot', 'contract:17:password-reset', 'contract:18:no-enumeration')}`, async () => {
    const bob = await signUp('bob@example.com');
    const forgot = async (email: string) => {
      const asked = await open('POST', '/auth/password/forgot', { email });
      expect([asked.status, asked.body]).to.deep.equal([202, {}]);
    };
    // Nobody's address, and one that nobody has verified yet.
    await forgot('nobody@example.com');
    await forgot('bob@example.com');
    const cleo = await signUp('cleo@example.com');
    expect((await verify(await log.tokenOf('verify_email', cleo.userId))).status).to.equal(204);
    await forgot('cleo@example.com');
    const token = await log.tokenOf('password_reset', cleo.userId);
    // Bob's was requested before, and is of nobody's account as long as he has not verified the address.
    expect(log.mails.filter(({ kind }) => kind === 'password_reset')).to.have.length(1);
    expect((await verify(await log.tokenOf('verify_email', bob.userId))).status).to.equal(204);
    const reset = (password: string) => open('POST', '/auth/password/reset', { token, password });
    expect((await open('GET', `/auth/password/reset?token=${token}`)).status).to.equal(401);
    expect((await open('POST', '/auth/password/reset/link', { token })).body.user.email).to.equal(
      'cleo@example.com',
    );
    expect((await reset('a third long passphrase')).status).to.equal(204);
    expect(codeOf(await cleo.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    expect(codeOf(await reset('a third long passphrase'))).to.equal('401 invalid_credentials');
    await signInWith(gateway.baseUrl, 'cleo@example.com', 'a third long passphrase');
    await eventually(async () => {
      expect(log.countOf('password_changed', cleo.userId)).to.equal(1);
    });
  });

  it(`makes an invited person a member, with the invited address only ${verifies('contract:17:sign-up')}`, async () => {
    const made = await owner.rest('POST', '/invites', { email: 'ida@example.com', role: 'member' });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const token = await log.tokenOf('invite', made.body.id as string);
    const join = (email: string, password: string) =>
      open('POST', '/auth/signup', { email, password, name: 'Ida', invite_token: token });
    const wrong = await join('other@example.com', PERSON_PASSWORD);
    expect(codeOf(wrong)).to.equal('400 invalid_request');
    expect(wrong.body.error.details.issues[0].path).to.equal('email');
    const weak = await join('ida@example.com', 'ida@example.com');
    expect(codeOf(weak)).to.equal('400 invalid_request');
    expect(weak.body.error.message).to.contain('too easy to guess');
    expect((await join('ida@example.com', PERSON_PASSWORD)).status).to.equal(202);
    const ida = await signInWith(gateway.baseUrl, 'ida@example.com');
    const { body } = await ida.rest('GET', '/auth/session');
    expect([body.role, body.org.id]).to.deep.equal(['member', gateway.tokens.orgId]);
    const replayed = await join('ida@example.com', PERSON_PASSWORD);
    expect(codeOf(replayed)).to.equal('401 invalid_credentials');
  });

  it(`names the rule that a weak password breaks, in every route that sets one ${verifies('contract:18:weak-password')}`, async () => {
    const token = await gateway.gateway.ports.links.make('password', owner.userId, null);
    const routes: readonly [string, (password: string) => Promise<Answer>][] = [
      [
        'password',
        (password) =>
          open('POST', '/auth/signup', {
            email: 'weak@example.com',
            password,
            name: 'Wanda Weak',
            org_name: 'Weak Limited',
          }),
      ],
      ['password', (password) => open('POST', '/auth/password/reset', { token, password })],
      [
        'new',
        (password) => owner.rest('POST', '/auth/password/change', { old: PERSON_PASSWORD, new: password }),
      ],
    ];
    const weak = [
      ['passwordpassword1', 'repeats'],
      ['abcabcabcabcabcabc', 'repeats'],
      ['qwertyuiopasdfgh', 'known'],
      ['1234567890123456', 'known'],
      ['mailbox gateway 1', 'this service'],
    ] as const;
    for (const [path, set] of routes) {
      for (const [password, why] of weak) {
        const { status, body } = await set(password);
        expect(
          [status, body.error.details.issues?.[0].path],
          `${path} ${password} ${JSON.stringify(body)}`,
        ).to.deep.equal([400, path]);
        expect(body.error.message).to.contain('too easy to guess').and.to.contain(why);
        expect(JSON.stringify(body)).not.to.contain(password);
      }
    }
    expect((await routes[0]?.[1]('Wanda Weak Limited'))?.status).to.equal(400);
    expect((await open('POST', '/auth/password/reset/link', { token })).status).to.equal(200);
  });

  it('writes no address, name, password or link of a newcomer into an event', async () => {
    const events = await gateway.gateway.ports.events.readAll(null, 10_000);
    const text = JSON.stringify(events, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(text).to.contain('EmailClaimed').and.to.contain('EmailVerified');
    const links = log.mails.flatMap(({ link }) => /#\w+=([\w-]+)$/.exec(link ?? '')?.[1] ?? []);
    expect(links.length).to.be.greaterThan(4);
    for (const secret of [...links, 'sam@example.com', 'nobody@example.com', 'Sam New', PERSON_PASSWORD]) {
      expect(text, secret).not.to.contain(secret);
    }
  });
});
