import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('the identity of a token', function () {
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

  it(`returns its mailboxes, folder roles, tools and limits ${verifies('contract:17:identity-reports', 'contract:17:route-identity', 'contract:19:rest-base')}`, async () => {
    const { status, body } = await gateway.rest('GET', '/identity');
    expect(status).to.equal(200);
    expect(body.principal).to.include({ type: 'delegated', id: gateway.tokens.userId });
    expect(body.org).to.deep.equal({ id: gateway.tokens.orgId, name: 'First' });
    expect(body.token).to.include({ surface: 'rest' });
    const [mailbox] = body.mailboxes;
    expect(mailbox).to.include({ id: mailboxId, email: 'anna@example.com', state: 'connected' });
    expect(mailbox.folder_roles.archive).to.match(/^fld_/);
    expect(mailbox.server_defined).to.deep.equal(['body_contains', 'header']);
    expect(body.tools).to.include.members(['email_query', 'email_act', 'move', 'list_folders']);
    expect(body.advertised_tools).to.have.members([
      'get_identity', 'settings_toggle_advanced_tools', 'email_query', 'email_act', 'email_await', 'email_requests',
    ]); // prettier-ignore
    expect(body.limits.reads_per_minute).to.equal(1_000_000);
    expect(body.server.mcp_revisions).to.deep.equal(['2025-11-25', '2025-06-18', '2025-03-26']);
  });

  it(`requires a bearer ${verifies('contract:17:bearer')}`, async () => {
    const without = await gateway.rest('GET', '/identity', undefined, { token: null });
    expect(without.status).to.equal(401);
    expect(without.body.error.code).to.equal('unauthenticated');
    expect(without.headers.get('www-authenticate')).to.match(/^Bearer/);
  });

  it('links to roles, connection and grants as separate resources of the mailbox', async () => {
    const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}`);
    expect(body.id).to.match(/^mbx_/);
    expect(JSON.stringify(body)).not.to.include('password":');
    for (const part of ['folder-roles', 'grants']) {
      expect((await gateway.rest('GET', `/mailboxes/${mailboxId}/${part}`)).status, part).to.equal(200);
    }
    const tested = await gateway.rest('POST', `/mailboxes/${mailboxId}/connection-tests`, {});
    expect(tested.body.imap.ok).to.equal(true);
  });

  it(`is JSON as application/json, and accepts no body for no fields ${verifies('contract:0:json')}`, async () => {
    const path = `/mailboxes/${mailboxId}/email.query`;
    const text = await gateway.rest('POST', path, undefined, {
      raw: '{"select":{}}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(text.body.error).to.include({ status: 415, code: 'unsupported_media_type' });
    expect((await gateway.rest('POST', path, { select: {} })).status).to.equal(200);
    expect((await gateway.rest('POST', `/mailboxes/${mailboxId}/connection-tests`)).status).to.equal(200);
  });

  it('answers 404 or 405 when route or method do not exist', async () => {
    const unknown = await gateway.rest('GET', '/nowhere');
    expect(unknown.body.error).to.include({ status: 404, code: 'not_found' });
    const wrong = await gateway.rest('DELETE', '/identity');
    expect(wrong.body.error).to.include({ status: 405, code: 'method_not_allowed' });
    expect(wrong.headers.get('allow')).to.equal('GET, HEAD');
  });
});
