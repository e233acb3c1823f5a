import { expect } from 'chai';
import { decideAndAppend, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { account, registerAccount } from '../../commands/accounts/account.ts';
import { issueToken, mintToken, token as tokenAggregate } from '../../commands/organisation/token.ts';
import { createOrganisation, organisation } from '../../commands/organisation/organisation.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

describe('access rights', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const agentToken = async (
    scopes: readonly string[],
    extra: object = {},
  ): Promise<{ id: string; token: string }> => {
    const { status, body } = await gateway.rest('POST', '/tokens', {
      name: 'of the agent',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      scopes,
      expires_at: inAnHour(),
      ...extra,
    });
    expect(status).to.equal(201);
    return body as { id: string; token: string };
  };

  /** A second organisation with its own owner and token, made as the system would. */
  const otherOrganisation = async (): Promise<string> => {
    const { ports } = gateway.gateway;
    const [orgId, userId, tokenId] = [ports.ids.newId('org'), ports.ids.newId('usr'), ports.ids.newId('tok')];
    const author = systemAuthor(ports, orgId);
    const [email, name] = [
      await ports.personal.seal(userId, 'x@example.net'),
      await ports.personal.seal(userId, 'X'),
    ];
    await decideAndAppend(ports, author, account, {
      id: userId,
      decide: (state) => registerAccount(state, { email, name, isVerified: true }),
    });
    await decideAndAppend(ports, author, organisation, {
      id: orgId,
      decide: (state) => createOrganisation(state, { name: 'Second', ownerId: userId }),
    });
    const { secret, terms } = await mintToken(ports, {
      tokenId,
      orgId,
      principal: { id: userId, kind: 'user' },
      name: 'Second owner',
      surface: 'rest',
      scopes: ['org:read', 'mailboxes:read', 'mailboxes:manage', 'mailboxes:grants', 'tokens:manage', 'audit:read', 'messages:read', 'messages:archive', 'folders:read'],
      mailboxIds: null,
      expiresAt: inAnHour(),
    }); // prettier-ignore
    const { appended } = await decideAndAppend(ports, author, tokenAggregate, {
      id: tokenId,
      decide: (state) => issueToken(state, terms),
    });
    await ports.directory.waitFor(appended?.position ?? 0n);
    return secret;
  };

  it(`hide another organisation's objects exactly like unknown ones ${verifies('contract:3:foreign-404', 'contract:12:own-org')}`, async () => {
    const stranger = await otherOrganisation();
    const unknown = await gateway.rest('GET', '/mailboxes/mbx_unknown', undefined, { token: stranger });
    const routes: [string, string, unknown][] = [
      ['GET', `/mailboxes/${mailboxId}`, undefined],
      ['PATCH', `/mailboxes/${mailboxId}`, { display_name: 'Mine now' }],
      ['DELETE', `/mailboxes/${mailboxId}`, undefined],
      ['GET', `/mailboxes/${mailboxId}/messages`, undefined],
      ['GET', `/mailboxes/${mailboxId}/folders/list`, undefined],
      ['POST', `/mailboxes/${mailboxId}/email.query`, { select: {} }],
      ['POST', `/mailboxes/${mailboxId}/archive`, { message_ids: ['msg_x'] }],
      ['GET', `/mailboxes/${mailboxId}/grants`, undefined],
      ['POST', `/mailboxes/${mailboxId}/grants`, { principal_id: 'usr_x', preset: 'reader' }],
      ['PUT', `/mailboxes/${mailboxId}/credentials`, { password: 'another' }],
    ];
    for (const [method, path, body] of routes) {
      const answer = await gateway.rest(method, path, body, { token: stranger });
      expect(answer.status, path).to.equal(404);
      expect({ ...answer.body.error, request_id: '' }, path).to.deep.equal({
        ...unknown.body.error,
        request_id: '',
      });
    }
    const audit = await gateway.rest('GET', '/audit?limit=200', undefined, { token: stranger });
    expect(JSON.stringify(audit.body)).not.to.include(gateway.tokens.orgId);
    const mailboxes = await gateway.rest('GET', '/mailboxes', undefined, { token: stranger });
    expect(mailboxes.body.items).to.deep.equal([]);
  });

  it('refuse a revoked token at once and record the refusal', async () => {
    const { id, token } = await agentToken(['messages:read']);
    expect((await gateway.rest('GET', '/identity', undefined, { token })).status).to.equal(200);
    expect((await gateway.rest('DELETE', `/tokens/${id}`)).status).to.equal(204);
    const refused = await gateway.rest('GET', '/identity', undefined, { token });
    expect(refused.status).to.equal(401);
    expect(refused.body.error.code).to.equal('token_revoked');
    expect(refused.headers.get('www-authenticate')).to.include('invalid_token');
  });

  it('refuse an expired token', async () => {
    const endsAt = Date.now() + 5_000;
    const { token } = await agentToken(['messages:read'], { expires_at: new Date(endsAt).toISOString() });
    expect((await gateway.rest('GET', '/identity', undefined, { token })).status).to.equal(200);
    await new Promise((resolve) => setTimeout(resolve, endsAt + 100 - Date.now()));
    const refused = await gateway.rest('GET', '/identity', undefined, { token });
    expect(refused.body.error).to.include({ status: 401, code: 'token_expired' });
  });

  it(`show a token once, keep tokens inside their issuer and list them without secrets ${verifies('contract:17:tokens', 'contract:17:route-tokens', 'contract:2:shown-once')}`, async () => {
    const made = await gateway.rest(
      'POST',
      '/tokens',
      { name: 'mine', surface: 'rest', scopes: ['messages:read'], expires_at: inAnHour() },
      { key: 'token-1' },
    );
    expect(made.body.token).to.match(/^mgw_[0-9A-Za-z]{53}$/);
    const again = await gateway.rest(
      'POST',
      '/tokens',
      { name: 'mine', surface: 'rest', scopes: ['messages:read'], expires_at: made.body.expires_at },
      { key: 'token-1' },
    );
    expect(again.status).to.be.oneOf([201, 422]);
    expect(again.body).not.to.have.property('token');
    const wider = await gateway.rest('POST', '/tokens', {
      name: 'wide',
      surface: 'rest',
      scopes: ['policy:manage'],
      expires_at: inAnHour(),
    });
    expect(wider.status).to.equal(403);
    const managing = await gateway.rest('POST', '/tokens', {
      name: 'managing',
      surface: 'rest',
      scopes: ['tokens:manage'],
      expires_at: inAnHour(),
    });
    expect(managing.status).to.equal(403);
    const listed = await gateway.rest('GET', '/tokens');
    expect(JSON.stringify(listed.body)).not.to.match(/mgw_|secret_hash/);
    expect(listed.body.items.map((item: { id: string }) => item.id)).to.include(made.body.id);
  });

  it(`end for the agent within the same second when a grant is revoked ${verifies('contract:3:foreign-404', 'contract:3:verb-missing', 'contract:17:grants', 'contract:17:route-mailbox-grants')}`, async () => {
    const { token } = await agentToken(['messages:read', 'folders:read']);
    const list = () => gateway.rest('GET', `/mailboxes/${mailboxId}/messages`, undefined, { token });
    expect((await list()).status).to.equal(200);
    const grants = await gateway.rest('GET', `/mailboxes/${mailboxId}/grants`);
    const grant = grants.body.items.find(
      (item: { principal: { id: string } }) => item.principal.id === gateway.tokens.agentId,
    );
    const narrowed = await gateway.rest('PATCH', `/mailboxes/${mailboxId}/grants/${String(grant.id)}`, {
      scopes: ['folders:read'],
    });
    expect(narrowed.status).to.equal(200);
    expect((await list()).body.error).to.deep.include({
      status: 403,
      code: 'insufficient_scope',
      details: { required: ['messages:read'] },
    });
    expect(
      (await gateway.rest('DELETE', `/mailboxes/${mailboxId}/grants/${String(grant.id)}`)).status,
    ).to.equal(204);
    expect((await list()).body.error).to.include({ status: 404, code: 'not_found' });
    const back = await gateway.rest('POST', `/mailboxes/${mailboxId}/grants`, {
      principal_id: gateway.tokens.agentId,
      preset: 'operator',
    });
    expect(back.status).to.equal(201);
    expect((await list()).status).to.equal(200);
  });

  it(`bind a grant to folder roles, source and destination, and hide other folders ${verifies('contract:17:route-agents', 'contract:3:folder-unknown')}`, async () => {
    const agent = await gateway.rest('POST', '/agents', { name: 'Inbox only' });
    await gateway.rest('POST', `/mailboxes/${mailboxId}/grants`, {
      principal_id: agent.body.id,
      preset: 'operator',
      folder_roles: ['inbox'],
    });
    const made = await gateway.rest('POST', '/tokens', {
      name: 'inbox only', principal_id: agent.body.id, surface: 'rest', scopes: ['messages:read', 'messages:archive'], expires_at: inAnHour(),
    }); // prettier-ignore
    const token = made.body.token as string;
    const list = (folder: string) =>
      gateway.rest('GET', `/mailboxes/${mailboxId}/messages?folder=${folder}`, undefined, { token });
    expect((await list('inbox')).status).to.equal(200);
    const beyond = await list('archive');
    expect(beyond.body.error).to.deep.include({ code: 'folder_role_missing', details: { role: 'archive' } });
    const [there, nowhere] = [await list('path:Sent'), await list('path:Nowhere')];
    for (const { body } of [there, nowhere])
      expect(body.error).to.include({ status: 404, code: 'not_found' });
    expect(there.body.error.message).to.equal(nowhere.body.error.message);
    const identity = await gateway.rest('GET', '/identity', undefined, { token });
    expect(Object.keys(identity.body.mailboxes[0].folder_roles as object)).to.deep.equal(['inbox']);
    const roles = await gateway.rest(
      'PUT',
      `/mailboxes/${mailboxId}/folder-roles`,
      { inbox: null },
      { token },
    );
    expect(roles.body.error.code).to.equal('insufficient_scope');
  });

  it(`manage a mailbox with ETag and If-Match and restore it when its removal is undone ${verifies('contract:0:mailbox-deleted', 'contract:0:if-match', 'contract:17:route-mailboxes')}`, async () => {
    const path = `/mailboxes/${mailboxId}`;
    const read = await gateway.rest('GET', path);
    const etag = read.headers.get('etag') ?? '';
    expect(etag).to.match(/^"\d+"$/);
    const renamed = await gateway.rest(
      'PATCH',
      path,
      { display_name: 'Anna' },
      { headers: { 'if-match': etag } },
    );
    expect(renamed.body.display_name).to.equal('Anna');
    const late = await gateway.rest(
      'PATCH',
      path,
      { display_name: 'Berta' },
      { headers: { 'if-match': etag } },
    );
    expect(late.body.error).to.include({ status: 412, code: 'version_conflict' });
    const gone = await gateway.rest('DELETE', path, undefined, { headers: { 'if-match': etag } });
    expect(gone.body.error).to.include({ status: 412, code: 'version_conflict' });
    const password = { password: 'of no use' };
    const unheld = await gateway.rest('PUT', `${path}/credentials`, password, {
      headers: { 'if-match': etag },
    });
    expect(unheld.body.error).to.include({ status: 400, code: 'invalid_request' });
    const moved = await gateway.rest('PATCH', path, {
      imap: { host: '127.0.0.1', port: 1, security: 'none' },
    });
    expect(moved.body.error.code).to.equal('invalid_request');
    expect((await gateway.rest('DELETE', path)).status).to.equal(202);
    expect((await gateway.rest('GET', `${path}/messages`)).status).to.equal(404);
    expect((await gateway.rest('PATCH', path, { restore: true })).status).to.equal(200);
    await gateway.waitForState(mailboxId, 'connected');
    expect((await gateway.rest('GET', `${path}/messages`)).status).to.equal(200);
  });

  it(`pause and resume a mailbox ${verifies('contract:4:mailbox-paused')}`, async () => {
    const path = `/mailboxes/${mailboxId}`;
    expect((await gateway.rest('PATCH', path, { paused: true })).body.state).to.equal('paused');
    expect((await gateway.rest('GET', `${path}/messages`)).body.error.code).to.equal('conflict');
    await gateway.rest('PATCH', path, { paused: false });
    await gateway.waitForState(mailboxId, 'connected');
  });

  it(`test a connection and never return a password ${verifies('contract:17:route-mailbox-connection-tests')}`, async () => {
    const path = `/mailboxes/${mailboxId}/connection-tests`;
    const stored = await gateway.rest('POST', path, {});
    expect(stored.body.imap).to.include({ ok: true });
    const wrong = await gateway.rest('POST', path, {
      imap: { ...dovecot.imap() },
      auth: { type: 'password', username: 'anna', password: 'wrong password!' },
    });
    expect(wrong.body.imap).to.include({ ok: false, stage: 'login' });
    expect(JSON.stringify(wrong.body)).not.to.include('wrong password!');
  });

  it('refuse control characters in names', async () => {
    const names: [string, string, object][] = [
      ['PUT', `/mailboxes/${mailboxId}/folder-roles`, { important: { create: 'a\u0000b' } }],
      ['POST', '/agents', { name: 'a\r\nb' }],
      [
        'POST',
        '/tokens',
        { name: 'a\u0007', surface: 'rest', scopes: ['messages:read'], expires_at: inAnHour() },
      ],
      ['PATCH', `/mailboxes/${mailboxId}`, { display_name: 'a\tb' }],
    ];
    for (const [method, path, body] of names) {
      const refused = await gateway.rest(method, path, body);
      expect(refused.body.error, path).to.include({ status: 400, code: 'invalid_request' });
    }
  });

  it(`map and create folder roles ${verifies('contract:4:role-missing', 'contract:17:folder-roles', 'contract:17:route-mailbox-folder-roles')}`, async () => {
    const path = `/mailboxes/${mailboxId}/folder-roles`;
    const before = await gateway.rest('GET', path);
    expect(before.body.archive).to.match(/^fld_/);
    const made = await gateway.rest('PUT', path, { important: { create: 'Wichtig' } });
    expect(made.status).to.equal(200);
    expect(made.body.important).to.match(/^fld_/);
    const cleared = await gateway.rest('PUT', path, { archive: null });
    expect(cleared.body.archive ?? null).to.equal(null);
    const refused = await gateway.rest('POST', `/mailboxes/${mailboxId}/archive`, { message_ids: ['msg_x'] });
    expect(refused.body.error).to.deep.include({ code: 'folder_role_missing', details: { role: 'archive' } });
    await gateway.rest('PUT', path, { archive: before.body.archive });
  });
});
