/** An organisation is deleted and restored over REST: who may sign in meanwhile, what stays dead, and what its mail server hears. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type CuttingProxy, startCuttingProxy } from '../support/servers/cutting-proxy.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';
import {
  type Answer,
  callRest,
  eventually,
  startTestGateway,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import {
  PERSON_PASSWORD,
  type SignedInPerson,
  signInNew,
  signInOwner,
  signInWith,
} from '../support/worlds/sign-in.ts';

/** A worker asks its server, or is told by it, several times in this. */
const LONG_ENOUGH_MS = 4_000;
const DAY_MS = 86_400_000;

describe('a deleted organisation', function () {
  this.timeout(180_000);
  let dovecot: TestDovecot;
  let proxy: CuttingProxy;
  let gateway: TestGateway;
  let mailboxId: string;
  let owner: SignedInPerson;
  let admin: SignedInPerson;
  let member: SignedInPerson;
  let agentToken: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    proxy = await startCuttingProxy(dovecot.imap());
    gateway = await startTestGateway();
    mailboxId = await gateway.addMailbox({ host: '127.0.0.1', port: proxy.port }, 'anna');
    owner = await signInOwner(gateway);
    admin = await signInNew(gateway, 'admin');
    member = await signInNew(gateway, 'member');
    agentToken = await newAgentToken(owner);
  });
  after(async () => {
    await gateway.stop();
    await proxy.close();
    await dovecot.dispose();
  });

  const newAgentToken = async (person: SignedInPerson): Promise<string> => {
    const made = await person.rest('POST', '/tokens', {
      name: 'Token',
      surface: 'rest',
      scopes: ['messages:read'],
      expires_at: new Date(Date.now() + DAY_MS).toISOString(),
      principal_id: gateway.tokens.agentId,
    });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    return (made.body as { token: string }).token;
  };
  const codeOf = ({ status, body }: Answer): string => `${String(status)} ${String(body?.error?.code ?? '')}`;
  const arrive = (subject: string) =>
    appendMessages(dovecot.imap(), 'anna', [
      { raw: plainMessage({ subject, id: `<${subject}@example.org>` }) },
    ]);
  const listWith = (bearer: string): Promise<Answer> =>
    callRest(gateway.baseUrl, ['GET', `/mailboxes/${mailboxId}/messages`], { token: bearer });
  const isThere = (subject: string, { bearer }: SignedInPerson) =>
    eventually(async () => {
      const { body } = await listWith(bearer);
      const subjects = (body.items as { subject: string }[]).map((item) => item.subject);
      expect(subjects).to.include(subject);
    });
  const login = (email: string): Promise<Answer> =>
    callRest(gateway.baseUrl, ['POST', '/auth/login', { email, password: PERSON_PASSWORD }], {});
  const remove = (person: SignedInPerson) => person.rest('DELETE', '/org', { name: 'First' });

  it(`is left alone by the workers: its mail server hears no command any more ${verifies('contract:17:organisation-delete')}`, async () => {
    await arrive('before');
    await isThere('before', owner);
    const deleted = await remove(owner);
    expect(deleted.status, JSON.stringify(deleted.body)).to.equal(202);
    // What was under way ends with its connection.
    await eventually(async () => {
      expect(proxy.open).to.equal(0);
    });
    const { connections, transcript } = proxy;
    await arrive('meanwhile');
    await pause(LONG_ENOUGH_MS);
    expect(proxy.transcript.slice(transcript.length)).to.equal('');
    expect(proxy.connections).to.equal(connections);
  });

  it(`lets only an owner in, to restore it ${verifies('contract:18:organisation-deletion', 'contract:17:organisation-delete')}`, async () => {
    const former = [owner.bearer, admin.bearer, member.bearer, agentToken, gateway.tokens.restToken];
    for (const bearer of former) expect(codeOf(await listWith(bearer))).to.equal('401 token_revoked');
    const refusals = [await login(admin.email), await login(member.email)];
    expect(refusals.map(codeOf)).to.deep.equal(['401 invalid_credentials', '401 invalid_credentials']);

    const back = await signInWith(gateway.baseUrl, owner.email);
    const shown = await back.rest('GET', '/org');
    expect(shown.status).to.equal(200);
    expect(Date.parse(String(shown.body.deletion.erase_at)) - Date.now()).to.be.within(
      6.9 * DAY_MS,
      7 * DAY_MS,
    );
    for (const path of ['/mailboxes', '/members', `/mailboxes/${mailboxId}/messages`])
      expect(codeOf(await back.rest('GET', path)), path).to.equal('409 conflict');
    expect(codeOf(await back.rest('PATCH', '/org', { name: 'Other' }))).to.equal('409 conflict');

    const restored = await back.rest('PATCH', '/org', { restore: true });
    expect(restored.status, JSON.stringify(restored.body)).to.equal(200);
    expect(restored.body).to.include({ name: 'First', deletion: null });
    expect((await back.rest('GET', '/members')).body.items).to.have.length(3);
    await isThere('meanwhile', back);
    for (const bearer of former) expect(codeOf(await listWith(bearer))).to.equal('401 token_revoked');

    const again = await signInWith(gateway.baseUrl, admin.email);
    expect((await again.rest('GET', '/mailboxes')).status).to.equal(200);
    expect((await login(member.email)).status).to.equal(200);
    // The agent and its grant count again; its tokens have to be issued again.
    expect((await listWith(await newAgentToken(back))).status).to.equal(200);
  });

  it(`is fetched for again once it is restored ${verifies('contract:17:organisation-delete')}`, async () => {
    const back = await signInWith(gateway.baseUrl, owner.email);
    const { length } = proxy.transcript;
    await arrive('after');
    await isThere('after', back);
    expect(proxy.transcript.slice(length)).to.match(/FETCH/);
    expect((await back.rest('GET', `/mailboxes/${mailboxId}`)).body.state).to.equal('connected');
  });

  it(`does not keep its last owner from erasing the account ${verifies('contract:17:erase-account')}`, async () => {
    const back = await signInWith(gateway.baseUrl, owner.email);
    expect(codeOf(await back.rest('DELETE', '/users/me'))).to.equal('409 last_owner');
    expect((await remove(back)).status).to.equal(202);
    const last = await signInWith(gateway.baseUrl, owner.email);
    const erased = await last.rest('DELETE', '/users/me');
    expect(erased.status, JSON.stringify(erased.body)).to.equal(202);
    expect(codeOf(await last.rest('GET', '/org'))).to.equal('401 unauthenticated');
    expect(codeOf(await login(owner.email))).to.equal('401 invalid_credentials');
  });
});
