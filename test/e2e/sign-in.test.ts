/** Signing in, end to end: links, passwords, sessions and what they may do. */
import { expect } from 'chai';
import { resetPassword } from '../../commands/accounts/change-password.ts';
import { signIn } from '../../commands/accounts/sign-in.ts';
import { addPerson, passwordLink } from '../../commands/organisation/add-person.ts';
import type { Ports } from '../../commands/ports/ports.ts';
import type { PublicContext } from '../../commands/kernel/public-route.ts';
import type { Secrets } from '../../commands/ports/sign-in-port.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import {
  callRest,
  eventually,
  type Json,
  startTestGateway,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { callOf, helloOf, rawMcp } from '../support/worlds/mcp/raw-mcp.ts';
import { rejection } from '../support/suite/rejection.ts';
import {
  PERSON_PASSWORD,
  signInNew,
  signInOwner,
  type SignedInPerson,
  signInWith,
} from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const OWNER = 'owner@example.com';
const REVISION = '2025-06-18';
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

describe('signing in', function () {
  this.timeout(60_000);
  let gateway: TestGateway;
  let owner: SignedInPerson;
  let member: SignedInPerson;

  before(async () => {
    gateway = await startTestGateway();
    [owner, member] = [await signInOwner(gateway), await signInNew(gateway, 'member')];
  });
  after(() => gateway.stop());

  const open = (method: string, path: string, body?: unknown) =>
    callRest(gateway.baseUrl, [method, path, body], {});
  const login = (email: string, password: string) => open('POST', '/auth/login', { email, password });
  const codeOf = ({ status, body }: { status: number; body: Json }): string =>
    `${String(status)} ${String(body.error.code)}`;
  const audited = (query: string, action?: string): Promise<Json[]> =>
    eventually(async () => {
      const { body } = await gateway.rest('GET', `/audit?${query}`);
      const lines = (body.items as Json[]).filter((line) => action === undefined || line.action === action);
      if (lines.length === 0) throw new Error(`nothing of ${query} yet`);
      return lines;
    });
  const newLink = async (email: string): Promise<{ userId: string; token: string }> => {
    const { ports } = gateway.gateway;
    const { orgId } = gateway.tokens;
    const person = { orgId, email, name: 'New', role: 'member' as const };
    const userId = await addPerson(ports, systemAuthor(ports, orgId), person);
    const link = await passwordLink(ports, userId);
    expect(link).to.match(new RegExp(`^${gateway.baseUrl}/console#reset=[\\w-]{47}$`));
    return { userId, token: link.slice(link.indexOf('=') + 1) };
  };

  it(`returns the bearer once and the session afterwards ${verifies('contract:17:login', 'contract:2:session-form', 'contract:17:sessions')}`, async () => {
    const { status, body } = await login(' Owner@Example.com ', PERSON_PASSWORD);
    expect(status).to.equal(200);
    expect(body.session_token).to.match(/^mgs_[0-9A-Za-z]{53}$/);
    expect(body).to.have.all.keys('session_token', 'session', 'expires_at');
    const lifeMs = Date.parse(body.expires_at as string) - Date.now();
    expect(lifeMs).to.be.within(11.9 * 3_600_000, 12 * 3_600_000);
    const token = body.session_token as string;
    const own = await gateway.rest('GET', '/auth/session', undefined, { token });
    expect(own.body).to.deep.equal(body.session);
    expect(own.body).to.deep.include({ role: 'owner', expires_at: body.expires_at });
    const listed = await owner.rest('GET', '/auth/sessions');
    expect(listed.body.items.map(({ id }: Json) => id as string)).to.include(own.body.id);
    const current = listed.body.items.filter(({ is_current }: Json) => is_current as boolean);
    expect(current.map(({ id }: Json) => id as string)).to.deep.equal([owner.sessionId]);
    expect(current[0]).to.include({ ip: '127.0.0.1', user_agent: 'node' });
    expect(JSON.stringify(listed.body)).not.to.contain('mgs_');
  });

  it(`identifies a person by the session, which MCP refuses ${verifies('contract:2:session-person', 'contract:2:session-not-on-mcp')}`, async () => {
    const { body } = await owner.rest('GET', '/identity');
    expect(body.principal).to.deep.equal({ type: 'person', id: owner.userId, name: 'Olga Owner' });
    expect(body.token).to.include({ id: owner.sessionId, surface: 'rest' });
    const refused = await rawMcp(`${gateway.baseUrl}/mcp`, { bearer: owner.bearer, body: helloOf(REVISION) });
    expect(refused.status).to.equal(401);
  });

  it(`refuses an unknown address and a wrong password alike, recording the one and counting the other ${verifies('contract:18:no-enumeration', 'contract:13:invalid-credentials', 'contract:12:failed-sign-ins')}`, async () => {
    const wrong = await login(member.email, 'not the right password');
    const unknown = await login('nobody@example.com', 'not the right password');
    expect([codeOf(wrong), codeOf(unknown)]).to.deep.equal(Array(2).fill('401 invalid_credentials'));
    const told = ({ body }: { body: Json }) => ({ ...body.error, request_id: null }) as object;
    expect(told(unknown)).to.deep.equal(told(wrong));
    const [line, ...others] = await audited('type=RequestRefused', 'sign_in');
    expect(others).to.deep.equal([]);
    expect(line.outcome).to.equal('denied');
    expect(line.actor).to.include({ type: 'person', id: member.userId, token_id: null, session_id: null });
    expect(line.actor.ip).to.equal('127.0.0.1');
  });

  it(`delays only callers who fail, and reports for how long ${verifies('contract:18:delays', 'contract:15:sign-in-limit')}`, async () => {
    let last = await login('guessed@example.com', 'not the right password');
    for (let n = 1; n < 8 && last.status === 401; n += 1) {
      last = await login('guessed@example.com', 'not the right password');
    }
    expect(codeOf(last)).to.equal('429 rate_limited');
    expect(Number(last.headers.get('retry-after'))).to.be.within(1, 16);
    expect((await login(OWNER, PERSON_PASSWORD)).status).to.equal(200);
  });

  it(`ends a session by logout, by id and all at once ${verifies('contract:17:logout')}`, async () => {
    const [one, two, three] = [
      await signInWith(gateway.baseUrl, member.email),
      await signInWith(gateway.baseUrl, member.email),
      await signInWith(gateway.baseUrl, member.email),
    ];
    expect((await one.rest('POST', '/auth/logout')).status).to.equal(204);
    expect(codeOf(await one.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    expect((await three.rest('DELETE', `/auth/sessions/${two.sessionId}`)).status).to.equal(204);
    expect(codeOf(await two.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    expect(codeOf(await owner.rest('DELETE', `/auth/sessions/${three.sessionId}`))).to.equal('404 not_found');
    expect((await three.rest('POST', '/auth/sessions/revoke-all')).status).to.equal(204);
    for (const ended of [three, member]) {
      expect(codeOf(await ended.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    }
    const ends = await audited('type=SessionEnded');
    const [first] = ends.slice(-1);
    expect(first).to.deep.include({
      action: 'session.end',
      resource: { type: 'session', id: one.sessionId },
    });
    expect(first.actor).to.include({
      type: 'person',
      id: one.userId,
      token_id: null,
      session_id: one.sessionId,
    });
    member = await signInWith(gateway.baseUrl, member.email);
  });

  it(`confirms the password for a step-up and refuses a wrong one ${verifies('contract:18:step-up', 'contract:12:failed-sign-ins')}`, async () => {
    const { body: before } = await owner.rest('GET', '/auth/session');
    const wrong = await owner.rest('POST', '/auth/step-up', { password: 'not the right password' });
    expect(codeOf(wrong)).to.equal('401 invalid_credentials');
    const { status, body } = await owner.rest('POST', '/auth/step-up', { password: PERSON_PASSWORD });
    expect(status).to.equal(200);
    expect(Object.keys(body as object)).to.deep.equal(['stepped_up_until']);
    expect(Date.parse(body.stepped_up_until as string)).to.be.above(
      Date.parse(before.stepped_up_until as string),
    );
    const [refusal] = await audited('type=RequestRefused', 'step_up');
    expect(refusal.outcome).to.equal('denied');
    for (const path of ['/auth/step-up', '/auth/session/token']) {
      expect(codeOf(await gateway.rest('POST', path, {}))).to.equal('403 insufficient_scope');
    }
  });

  it(`creates tokens that act on behalf of the person and end with the session ${verifies('contract:2:session-token')}`, async () => {
    const session = await signInWith(gateway.baseUrl, OWNER);
    const make = (body: object) => session.rest('POST', '/auth/session/token', body);
    const audience = `${gateway.baseUrl}/mcp`;
    const { status, body } = await make({ audience });
    expect(status).to.equal(200);
    expect(Date.parse(body.expires_at as string) - Date.now()).to.be.within(500_000, 600_000);
    const mcp = (message: object, headers = {}) =>
      rawMcp(audience, { bearer: body.token as string, body: message, headers });
    const hello = await mcp(helloOf(REVISION));
    const headers = {
      'mcp-session-id': hello.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': REVISION,
    };
    const { text } = await mcp(callOf('get_identity'), headers);
    const { structuredContent: told } = JSON.parse(text).result;
    expect(told.principal).to.include({ type: 'delegated', on_behalf_of: session.userId });
    expect(told.token).to.include({ id: session.sessionId, surface: 'mcp' });
    expect(told.token.scopes).not.to.include.members(['approvals:decide']);
    expect(told.token.scopes).not.to.include.members(['policy:manage']);
    const narrow = await make({
      audience: `${gateway.baseUrl}/api/v1`,
      scopes: ['org:read'],
      ttl_seconds: 60,
    });
    const asked = await gateway.rest('GET', '/identity', undefined, { token: narrow.body.token as string });
    expect(asked.body.token.scopes).to.deep.equal(['org:read']);
    expect(codeOf(await make({ audience: 'https://elsewhere.example/mcp' }))).to.equal('400 invalid_request');
    expect(codeOf(await make({ audience, scopes: ['approvals:decide'] }))).to.equal('403 insufficient_scope');
    expect(codeOf(await make({ audience, ttl_seconds: 601 }))).to.equal('400 invalid_request');
    await session.rest('POST', '/auth/logout');
    expect((await mcp(callOf('get_identity'), headers)).status).to.equal(401);
    expect(
      (await gateway.rest('GET', '/identity', undefined, { token: narrow.body.token as string })).status,
    ).to.equal(401);
  });

  it(`requires no scope for own tokens and agents, and a step-up for anything that outlives the session ${verifies('contract:3:own-in-session', 'contract:3:wider-in-session')}`, async () => {
    const made = await member.rest('POST', '/agents', { name: 'Own' });
    expect(made.status).to.equal(201);
    const others = await member.rest('POST', '/agents', { name: 'Other', owner_id: owner.userId });
    expect(codeOf(others)).to.equal('403 insufficient_scope');
    const terms = {
      name: 'Own',
      surface: 'rest',
      scopes: ['messages:read', 'org:read'],
      expires_at: inDays(300),
    };
    for (const principal_id of [member.userId, made.body.id as string]) {
      const issued = await member.rest('POST', '/tokens', { ...terms, principal_id });
      expect(issued.status).to.equal(201);
    }
    expect((await member.rest('GET', '/tokens')).body.items).to.have.length(2);
    expect((await member.rest('GET', '/agents')).body.items).to.have.length(1);
    const beyond = await member.rest('POST', '/tokens', { ...terms, scopes: ['audit:read'] });
    expect(codeOf(beyond)).to.equal('403 insufficient_scope');
    const never = await owner.rest('POST', '/tokens', { ...terms, scopes: ['approvals:decide'] });
    expect(codeOf(never)).to.equal('403 insufficient_scope');
    const managing = await owner.rest('POST', '/tokens', { ...terms, scopes: ['tokens:manage'] });
    expect(managing.status).to.equal(201);
  });

  it(`creates wider grants than its own while the step-up is recent ${verifies('contract:3:wider-in-session')}`, async () => {
    const nowhere = { host: '127.0.0.1', port: 1, security: 'none' };
    const auth = { type: 'password', username: 'nobody', password: 'nothing' };
    const mailbox = { email: 'a@example.com', imap: nowhere, smtp: nowhere, auth };
    const added = await gateway.rest('POST', '/mailboxes', mailbox);
    const admin = await signInNew(gateway, 'admin');
    const path = `/mailboxes/${String(added.body.id)}/grants`;
    const given = await admin.rest('POST', path, { principal_id: admin.userId, preset: 'reader' });
    expect(given.status).to.equal(201);
    const { body } = await admin.rest('GET', '/identity');
    expect(body.mailboxes[0].scopes).to.have.members(given.body.scopes as string[]);
  });

  it(`changes a password when the old one is given, and ends the other sessions ${verifies('contract:17:password-change')}`, async () => {
    const person = await signInNew(gateway, 'auditor');
    const other = await signInWith(gateway.baseUrl, person.email);
    const change = (old: string, fresh: string, key?: string) =>
      person.rest('POST', '/auth/password/change', { old, new: fresh }, key === undefined ? {} : { key });
    expect(codeOf(await change('not the right password', 'another long passphrase'))).to.equal(
      '401 invalid_credentials',
    );
    expect(codeOf(await change(PERSON_PASSWORD, 'too short'))).to.equal('400 invalid_request');
    expect((await change(PERSON_PASSWORD, 'another long passphrase', 'once')).status).to.equal(204);
    expect((await change(PERSON_PASSWORD, 'another long passphrase', 'once')).status).to.equal(204);
    expect((await person.rest('GET', '/auth/session')).status).to.equal(200);
    expect(codeOf(await other.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
    expect(codeOf(await login(person.email, PERSON_PASSWORD))).to.equal('401 invalid_credentials');
    expect((await login(person.email, 'another long passphrase')).status).to.equal(200);
    const [line] = await audited('type=PasswordSet');
    expect(line).to.deep.include({ action: 'password.set', data: { by: 'change' } });
  });

  it(`sets a password by a one-time link and ends every session ${verifies('contract:17:password-reset', 'contract:18:one-time-links', 'contract:18:link-names', 'contract:18:password-length')}`, async () => {
    const { token } = await newLink('linked@example.com');
    const reset = (password: string) => open('POST', '/auth/password/reset', { token, password });
    expect(codeOf(await reset('too short'))).to.equal('400 invalid_request');
    expect((await open('GET', `/auth/password/reset?token=${token}`)).status).to.equal(401);
    const whose = () => open('POST', '/auth/password/reset/link', { token });
    const named = await whose();
    expect(named.status, JSON.stringify(named.body)).to.equal(200);
    expect(named.body.user.email).to.equal('linked@example.com');
    expect(named.body.org.name).to.be.a('string').and.not.to.equal('');
    const both = await Promise.all([reset(PERSON_PASSWORD), reset(PERSON_PASSWORD)]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal([204, 401]);
    expect(codeOf(await whose())).to.equal('401 invalid_credentials');
    const person = await signInWith(gateway.baseUrl, 'linked@example.com');
    const again = await newLink('linked@example.com');
    expect(again.userId).to.equal(person.userId);
    const body = { token: again.token, password: 'a third long passphrase' };
    expect((await open('POST', '/auth/password/reset', body)).status).to.equal(204);
    expect(codeOf(await person.rest('GET', '/auth/session'))).to.equal('401 token_revoked');
  });

  const publicContext = (ports: Ports): PublicContext => ({
    surface: 'rest',
    ports,
    routes: { registry: [], publicRoutes: [] },
    requestId: ports.ids.newId('req'),
    source: 'somewhere',
    device: '00',
    sealClient: (id) => ports.personal.seal(id, '{}'),
    afterAnswer: () => undefined,
    notePosition: () => undefined,
  });

  it(`keeps a link valid when its request failed ${verifies('contract:18:one-time-links')}`, async () => {
    const { ports } = gateway.gateway;
    const { token } = await newLink('overloaded@example.com');
    let others: Promise<unknown>[] = [];
    const find: typeof ports.links.find = async (...given) => {
      const found = await ports.links.find(...given);
      others = Array.from({ length: 22 }, () => ports.secrets.hashPassword(PERSON_PASSWORD));
      return found;
    };
    const input = { token, password: PERSON_PASSWORD };
    const context = publicContext({ ...ports, links: { ...ports.links, find } });
    expect(await rejection(resetPassword.handle(input, context))).to.include({ code: 'overloaded' });
    await Promise.all(others);
    expect((await open('POST', '/auth/password/reset', input)).status).to.equal(204);
  });

  it(`refuses a password that was replaced while it was being verified ${verifies('contract:17:password-reset')}`, async () => {
    const { ports } = gateway.gateway;
    const person = await signInNew(gateway, 'member', 'replaced@example.com');
    const { token } = await newLink(person.email);
    const secrets: Secrets = {
      ...ports.secrets,
      verifyPassword: async (...given) => {
        const verified = await ports.secrets.verifyPassword(...given);
        const body = { token, password: 'a fourth long passphrase' };
        expect((await open('POST', '/auth/password/reset', body)).status).to.equal(204);
        return verified;
      },
    };
    const input = { email: person.email, password: PERSON_PASSWORD };
    const late = signIn.handle(input, publicContext({ ...ports, secrets }));
    expect(await rejection(late)).to.include({ code: 'invalid_credentials' });
    const sessions = ports.directory.state.personSessions.get(person.userId)?.sessions ?? [];
    expect(sessions).to.have.length(2);
    for (const { endedAt } of sessions) expect(endedAt).to.be.a('string');
  });

  it('writes no password, bearer or password hash into an event', async () => {
    const events = await gateway.gateway.ports.events.readAll(null, 10_000);
    const text = JSON.stringify(events, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(text).to.contain('SessionStarted');
    for (const secret of [PERSON_PASSWORD, 'argon2id', 'mgs_', owner.email, 'Olga Owner']) {
      expect(text, secret).not.to.contain(secret);
    }
  });

  it(`refuses a second setup ${verifies('contract:18:setup-link')}`, async () => {
    const token = await gateway.gateway.ports.links.make('setup', null, null);
    const second = { token, email: 'x@example.com', password: PERSON_PASSWORD, name: 'X', org_name: 'X' };
    expect(codeOf(await open('POST', '/auth/setup', second))).to.equal('401 invalid_credentials');
  });
});
