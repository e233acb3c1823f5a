import { expect } from 'chai';
import { capabilities } from '../../read-api/capabilities.ts';
import { publicRoutes } from '../../read-api/http/public-routes.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

/** The route table of the interface; `mbx` and the like stand for ids. */
const PLANNED = [
  '/identity', '/mailboxes/mbx/messages', '/mailboxes/mbx/monitor_inbox', '/mailboxes/mbx/wants_to_move',
  '/mailboxes/mbx/wants_to_copy', '/mailboxes/mbx/wants_to_expunge', '/mailboxes/mbx/move', '/mailboxes/mbx/copy',
  '/mailboxes/mbx/trash', '/mailboxes/mbx/spam', '/mailboxes/mbx/archive', '/mailboxes/mbx/set_flags',
  '/mailboxes/mbx/start_draft', '/mailboxes/mbx/reply_to_thread', '/mailboxes/mbx/folders/list',
  '/mailboxes/mbx/attachments/att', '/drafts', '/drafts/drf', '/drafts/drf/content', '/drafts/drf/edit_draft',
  '/drafts/drf/patch_draft', '/drafts/drf/discard_draft', '/drafts/drf/wants_to_send_draft', '/drafts/drf/send_draft',
  '/approvals', '/approvals/chk', '/approvals/chk/preview', '/approvals/monitor_approval',
  '/approvals/chk/cancel_approval', '/approvals/chk/approval_commit', '/mailboxes/mbx/email.query',
  '/mailboxes/mbx/email.act', '/mailboxes/mbx/email.await', '/approvals/email.requests', '/webhook-endpoints',
  '/webhook-endpoints/whk', '/webhook-endpoints/whk/rotate-secret', '/webhook-endpoints/whk/test', '/deliveries',
  '/deliveries/obx', '/deliveries/obx/replay', '/auth/login', '/auth/logout', '/auth/signup', '/auth/mfa/enroll',
  '/users/me', '/org', '/members', '/invites', '/agents', '/tokens', '/mailboxes', '/audit', '/audit/export',
  '/audit/evt',
]; // prettier-ignore

/** Methods the capabilities give a path, HEAD with GET unless reading is recorded; a route without parameters wins over one with them. */
function methodsOf(path: string): readonly string[] {
  const routes = [...capabilities, ...publicRoutes].flatMap(({ rest }) => (rest ? [rest] : []));
  const exact = routes.filter((route) => route.path === path);
  const fitting = routes.filter((route) =>
    new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
  );
  return (exact.length > 0 ? exact : fitting).flatMap((route) =>
    route.method === 'get' && !('noHead' in route) ? ['GET', 'HEAD'] : [route.method.toUpperCase()],
  );
}

describe('the REST interface of the contract', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let mailbox: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(
      dovecot.imap(),
      'anna',
      Array.from({ length: 5 }, (_, index) => ({
        raw: plainMessage({
          subject: `Invoice ${String(index)}`,
          id: `<invoice-${String(index)}@example.org>`,
        }),
        flags: index === 4 ? ['\\Seen'] : [],
        receivedAt: new Date(Date.UTC(2026, 4, 1 + index)),
      })),
    );
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    mailbox = `/mailboxes/${mailboxId}`;
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const get = async (path: string): Promise<Json> => (await gateway.rest('GET', path)).body;

  const someId = async (): Promise<string> => {
    const { body } = await gateway.rest('POST', `${mailbox}/email.query`, { select: { folder: 'inbox' } });
    return body.items[0].id as string;
  };

  it(`has the routes of the contract that have a handler, and no other ${verifies('contract:17:inventory', 'contract:19:rest-base')}`, async () => {
    for (const path of PLANNED) {
      const answer = await gateway.rest('OPTIONS', path);
      const allowed = answer.headers.get('allow')?.split(', ') ?? [];
      expect(allowed, path).to.have.members(methodsOf(path));
      const code = allowed.length === 0 ? 'not_found' : 'method_not_allowed';
      expect(answer.body.error.code, path).to.equal(code);
    }
    expect(PLANNED.filter((path) => methodsOf(path).length > 0)).to.include.members([
      '/identity', '/mailboxes/mbx/email.query', '/mailboxes/mbx/email.act', '/mailboxes/mbx/messages', '/audit',
    ]); // prettier-ignore
    const outside = await fetch(`${gateway.baseUrl}/identity`, {
      headers: { authorization: `Bearer ${gateway.tokens.restToken}` },
    });
    await outside.text();
    expect(outside.status).to.equal(404);
  });

  it(`writes email.query and email.act with a literal dot ${verifies('contract:17:route-email-query', 'contract:17:route-email-act')}`, async () => {
    expect((await gateway.rest('POST', `${mailbox}/email.query`, { select: {} })).status).to.equal(200);
    for (const path of [
      'email-query',
      'emailxquery',
      'email/query',
      'email_query',
      'email-act',
      'emailxact',
    ]) {
      expect((await gateway.rest('POST', `${mailbox}/${path}`, {})).status, path).to.equal(404);
    }
    const { body } = await gateway.rest('POST', `${mailbox}/email.act`, {});
    expect(body.error.code).to.equal('invalid_request');
  });

  it(`returns every collection as items and page, and a single resource as itself ${verifies('contract:0:collection', 'contract:0:single-resource')}`, async () => {
    const collections = [
      '/mailboxes', '/tokens', '/agents', '/audit', `${mailbox}/messages`, `${mailbox}/folders/list`,
      `${mailbox}/grants`,
    ]; // prettier-ignore
    for (const path of collections) {
      const body = await get(path);
      const also = path === '/audit' ? ['sealed_through'] : [];
      expect(body, path).to.have.all.keys('items', 'page', ...also);
      expect(body.items, path).to.be.an('array').with.length.above(0);
      expect(body.page, path).to.have.property('next_cursor');
    }
    for (const path of ['/mailboxes', '/tokens', '/agents', '/audit']) {
      const [item] = (await get(path)).items;
      expect((await get(`${path}/${String(item.id)}`)).id, path).to.equal(item.id);
    }
  });

  it(`continues by an opaque cursor to the end ${verifies('contract:0:cursor', 'contract:17:route-messages')}`, async () => {
    const first = await get(`${mailbox}/messages?folder=inbox&limit=2`);
    const cursors: string[] = [];
    const subjects = first.items.map(({ subject }: Json) => subject as string) as string[];
    for (let { page } = first; page.next_cursor !== null;) {
      const cursor = page.next_cursor as string;
      cursors.push(cursor);
      const next = await get(`${mailbox}/messages?folder=inbox&limit=2&cursor=${encodeURIComponent(cursor)}`);
      subjects.push(...(next.items.map(({ subject }: Json) => subject as string) as string[]));
      ({ page } = next);
    }
    expect(cursors).to.have.length(2);
    expect(subjects).to.deep.equal(['Invoice 4', 'Invoice 3', 'Invoice 2', 'Invoice 1', 'Invoice 0']);
    expect(cursors.join()).not.to.match(/Invoice|INBOX/i);
  });

  it(`accepts the query body of the contract ${verifies('contract:4:email-query-select', 'contract:4:email-query-view')}`, async () => {
    const { body } = await gateway.rest('POST', `${mailbox}/email.query`, {
      select: {
        filter: { seen: false, subject_contains: 'Invoice' },
        order_by: 'received_desc',
        limit: 2,
      },
      view: 'summary',
    });
    expect(body.items.map(({ subject }: Json) => subject as string)).to.deep.equal([
      'Invoice 3',
      'Invoice 2',
    ]);
    expect(body.items[0]).not.to.have.property('message_id');
    const unknown = await gateway.rest('POST', `${mailbox}/email.query`, { select: {}, view: 'everything' });
    expect(unknown.body.error.details.issues[0].path).to.equal('view');
  });

  it(`accepts the action body of the contract and returns the outcome ${verifies('contract:6:email-act-operation', 'contract:6:email-act-authorization', 'contract:6:email-act-cardinality', 'contract:6:cardinality-bounds', 'contract:6:status', 'contract:6:status-completed', 'contract:6:status-preview')}`, async () => {
    const id = await someId();
    const act = (change: object, key = 'shown') =>
      gateway.rest(
        'POST',
        `${mailbox}/email.act`,
        {
          operation: {
            type: 'message_actions',
            select: { message_ids: [id] },
            actions: [{ type: 'archive' }],
          },
          authorization: { mode: 'execute_or_request_approval', reason: 'It is paid.' },
          cardinality: { min: 1, max: 1 },
          ...change,
        },
        { key },
      );
    for (const cardinality of [{ max: 1.5 }, { min: '1' }, { max: -1 }]) {
      const { body } = await act({ cardinality });
      expect(body.error.code).to.equal('invalid_request');
      expect(body.error.details.issues[0].path).to.match(/^cardinality\.(min|max)$/);
    }
    const tooFew = await act({ cardinality: { min: 2 } });
    expect(tooFew.body.error.code).to.equal('cardinality_violation');
    const unknown = await act({ authorization: { mode: 'just_do_it' } });
    expect(unknown.body.error.details.issues[0].path).to.equal('authorization.mode');
    const previewed = await act({ authorization: { mode: 'preview', reason: 'To see.' } });
    expect(previewed.body.status).to.equal('preview');
    expect(await someId(), 'nothing ran').to.equal(id);
    const { status, body } = await act({});
    expect(status).to.equal(200);
    expect(body.status).to.equal('completed');
    expect(body.results[0]).to.include({ message_id: id, outcome: 'done' });
    expect(await someId(), 'it ran').not.to.equal(id);
  });

  it(`returns audit events by their evt_ ids and allows no change ${verifies('contract:12:read-only', 'contract:17:route-audit')}`, async () => {
    const { items } = await eventually(async () => {
      const found = await get('/audit?limit=5');
      expect(found.items).to.have.length(5);
      return found;
    });
    for (const { id } of items as Json[]) expect(id).to.match(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
    const path = `/audit/${String(items[0].id)}`;
    expect(await get(path)).to.deep.include(items[0]);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const target of [path, '/audit']) {
        const answer = await gateway.rest(method, target);
        expect([answer.status, answer.headers.get('allow')], method).to.deep.equal([405, 'GET, HEAD']);
      }
    }
    expect((await get('/audit/evt_unknown')).error.code).to.equal('not_found');
  });

  it(`returns the parts of a mailbox below its path ${verifies('contract:4:mailbox-parts', 'contract:17:route-mailboxes', 'contract:17:route-mailbox-credentials', 'contract:17:route-mailbox-connection-tests', 'contract:17:route-mailbox-folder-roles', 'contract:17:route-mailbox-grants')}`, async () => {
    const made = await gateway.rest('POST', '/mailboxes', {
      email: 'berta@example.com',
      imap: { ...dovecot.imap() },
      smtp: { host: '127.0.0.1', port: 25, security: 'none' },
      auth: { type: 'password', username: 'berta', password: PASSWORD },
    });
    expect(made.body.id).to.match(/^mbx_/);
    const path = `/mailboxes/${String(made.body.id)}`;
    await gateway.waitForState(String(made.body.id), 'connected');
    expect((await get(path)).email).to.equal('berta@example.com');
    const named = await gateway.rest('PATCH', path, { display_name: 'Berta' });
    expect(named.body.display_name).to.equal('Berta');
    const stored = await gateway.rest('PUT', `${path}/credentials`, { password: PASSWORD });
    expect(stored.status).to.equal(204);
    expect((await gateway.rest('GET', `${path}/credentials`)).status, 'written, never read').to.equal(405);
    expect((await gateway.rest('POST', `${path}/connection-tests`, {})).body.imap.ok).to.equal(true);
    expect((await get(`${path}/folder-roles`)).inbox).to.match(/^fld_/);
    const granted = await gateway.rest('POST', `${path}/grants`, {
      principal_id: gateway.tokens.agentId,
      preset: 'reader',
    });
    const { items } = await get(`${path}/grants`);
    expect(items.map(({ id }: Json) => id as string)).to.include(granted.body.id);
    expect((await gateway.rest('DELETE', path)).status).to.equal(202);
    expect((await gateway.rest('GET', `${path}/messages`)).status).to.equal(404);
  });

  it(`creates, lists and returns agents and tokens ${verifies('contract:17:route-agents', 'contract:17:route-tokens')}`, async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const asked: [string, object, RegExp][] = [
      ['/agents', { name: 'Reader' }, /^agt_/],
      ['/tokens', { name: 'Reader', surface: 'rest', scopes: ['messages:read'], expires_at }, /^tok_/],
    ];
    for (const [path, body, prefix] of asked) {
      const made = await gateway.rest('POST', path, body);
      expect(made.status).to.equal(201);
      expect(made.body.id).to.match(prefix);
      expect((await get(`${path}/${String(made.body.id)}`)).name).to.equal('Reader');
      const ids = (await get(path)).items.map(({ id }: Json) => id as string) as string[];
      expect(ids).to.include(made.body.id);
    }
    const { items } = await get('/tokens');
    const own = items.find(({ name }: Json) => name === 'Reader');
    expect((await gateway.rest('DELETE', `/tokens/${String(own.id)}`)).status).to.equal(204);
  });
});
