import { expect } from 'chai';
import { capabilities } from '../../read-api/capabilities.ts';
import { publicRoutes } from '../../read-api/http/public-routes.ts';
import { freePort } from '../../infra/platform/reserved-port.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import {
  type Answer,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { verifies } from '../support/suite/verifies.ts';

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();
const TYPED = { 'content-type': 'application/json' };

describe('the contract for every caller', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let metricsPort: number;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    metricsPort = await freePort();
    const env = { METRICS_PORT: String(metricsPort), LIMIT_READS_PER_MINUTE: '987654' };
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, { env }));
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const makeToken = (change: object = {}): Promise<Answer> =>
    gateway.rest('POST', '/tokens', {
      name: 'made', surface: 'rest', scopes: ['messages:read'], expires_at: inAnHour(), ...change,
    }); // prettier-ignore
  const makeAgent = (): Promise<Answer> => gateway.rest('POST', '/agents', { name: 'Made' });
  const makeMailbox = (change: object = {}): Promise<Answer> =>
    gateway.rest('POST', '/mailboxes', {
      email: 'berta@example.com',
      display_name: 'Berta',
      imap: { ...dovecot.imap() },
      smtp: { host: '127.0.0.1', port: 25, security: 'none' },
      auth: { type: 'password', username: 'berta', password: PASSWORD },
      ...change,
    });

  it(`answers 201 with the location of a created object ${verifies('contract:0:created')}`, async () => {
    for (const made of [await makeToken(), await makeAgent(), await makeMailbox()]) {
      expect(made.status).to.equal(201);
      const location = made.headers.get('location') ?? '';
      expect(location).to.match(/^\/api\/v1\/(tokens|agents|mailboxes)\//);
      const { status, body } = await gateway.rest('GET', location.replace('/api/v1', ''));
      expect(status).to.equal(200);
      expect(body.id).to.equal(made.body.id);
    }
    const { body: agent } = await makeAgent();
    const grant = await gateway.rest('POST', `/mailboxes/${mailboxId}/grants`, {
      principal_id: agent.id,
      preset: 'reader',
    });
    expect(grant.status).to.equal(201);
    const { body: grants } = await gateway.rest('GET', `/mailboxes/${mailboxId}/grants`);
    expect(grants.items.map(({ id }: Json) => id)).to.include(grant.body.id);
  });

  it(`answers changes with 200 and removals with an empty 204 ${verifies('contract:0:verbs', 'contract:0:deleted')}`, async () => {
    const { body: agent } = await makeAgent();
    const grants = `/mailboxes/${mailboxId}/grants`;
    const { body: grant } = await gateway.rest('POST', grants, { principal_id: agent.id, preset: 'reader' });
    const { body: token } = await makeToken();
    const declared = {
      operation: { type: 'message_actions', select: { folder: 'inbox', filter: {} }, actions: [{ type: 'archive' }] },
      cardinality: { min: 0, max: 9 },
    }; // prettier-ignore
    const changes = [
      await gateway.rest('PATCH', `/mailboxes/${mailboxId}`, { display_name: 'Anna' }),
      await gateway.rest('PATCH', `${grants}/${String(grant.id)}`, { scopes: ['messages:read'] }),
      await gateway.rest('PUT', `/mailboxes/${mailboxId}/folder-roles`, { flagged: null }),
      await gateway.rest('POST', `/mailboxes/${mailboxId}/email.act`, declared, { key: 'nothing-there' }),
      await gateway.rest('POST', `/mailboxes/${mailboxId}/email.query`, { select: {} }),
    ];
    expect(changes.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
    for (const path of [`${grants}/${String(grant.id)}`, `/tokens/${String(token.id)}`]) {
      const { status, body, headers } = await gateway.rest('DELETE', path);
      expect([status, body, headers.get('content-type')]).to.deep.equal([204, null, null]);
    }
  });

  it(`sends an ETag for mailboxes and agents only ${verifies('contract:0:etag', 'contract:0:no-other-etag')}`, async () => {
    const { body: agent, headers } = await makeAgent();
    const read = await gateway.rest('GET', `/agents/${String(agent.id)}`);
    expect(read.headers.get('etag'))
      .to.match(/^"[^"]+"$/)
      .and.to.equal(headers.get('etag'));
    const mailbox = await gateway.rest('GET', `/mailboxes/${mailboxId}`);
    expect(mailbox.headers.get('etag')).to.equal(`"${String(mailbox.body.version)}"`);
    const paths = [
      '/identity', '/mailboxes', '/tokens', '/agents', '/audit', '/openapi.json', '/nowhere',
      `/mailboxes/${mailboxId}/messages`, `/mailboxes/${mailboxId}/folders/list`,
      `/mailboxes/${mailboxId}/folder-roles`, `/mailboxes/${mailboxId}/grants`,
    ]; // prettier-ignore
    for (const path of paths) {
      expect((await gateway.rest('GET', path)).headers.get('etag'), path).to.equal(null);
    }
    for (const path of ['/', '/health/live', '/health/ready', '/nowhere']) {
      const answer = await fetch(`${gateway.baseUrl}${path}`);
      await answer.text();
      expect(answer.headers.get('etag'), path).to.equal(null);
    }
  });

  it(`accepts the JSON media types, and no body as an empty object ${verifies('contract:0:media-types')}`, async () => {
    const path = `/mailboxes/${mailboxId}/email.query`;
    const raw = '{"select":{}}';
    const send = (type: string) =>
      gateway.rest('POST', path, undefined, { raw, headers: { 'content-type': type } });
    for (const type of ['application/json', 'application/json; charset=utf-8', 'application/vnd.x+json']) {
      expect((await send(type)).status, type).to.equal(200);
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      expect((await send(type)).body.error, type).to.include({ status: 415, code: 'unsupported_media_type' });
    }
    const tests = `/mailboxes/${mailboxId}/connection-tests`;
    for (const { status, body } of [
      await gateway.rest('POST', tests),
      await gateway.rest('POST', tests, {}),
      await gateway.rest('POST', tests, undefined, { headers: { 'content-type': 'text/plain' } }),
    ]) {
      expect(status).to.equal(200);
      expect(body.imap).to.include({ ok: true });
    }
  });

  it(`accepts a body of 1 MiB and refuses one byte more ${verifies('contract:15:body-size')}`, async () => {
    const path = `/mailboxes/${mailboxId}/email.query`;
    const send = (bytes: number) => {
      const raw = '{"select":{}}'.padEnd(bytes, ' ');
      return gateway.rest('POST', path, undefined, { raw, headers: TYPED });
    };
    expect((await send(1_048_576)).status).to.equal(200);
    expect((await send(1_048_577)).body.error).to.include({ status: 413, code: 'payload_too_large' });
  });

  it(`reports where input is wrong and never repeats it ${verifies('contract:13:issues', 'contract:0:unknown-fields')}`, async () => {
    const secret = 'do-not-echo';
    const bad = [
      await makeToken({ surface: secret, misspelt: secret }),
      await makeMailbox({ auth: { type: 'password', username: 'x', password: [secret] }, imap: secret }),
      await gateway.rest('GET', `/mailboxes/${mailboxId}/messages?limit=${secret}&misspelt=1`),
    ];
    for (const { status, body } of bad) {
      expect(status).to.equal(400);
      expect(body.error.code).to.equal('invalid_request');
      expect(body.error.details.issues).to.have.length(2);
      for (const issue of body.error.details.issues) {
        expect(issue).to.have.all.keys('path', 'code', 'message');
      }
      expect(JSON.stringify(body)).not.to.include(secret);
    }
    const paths = (answer: Answer | undefined) =>
      answer?.body.error.details.issues.map(({ path }: Json) => path);
    expect(paths(bad[0])).to.have.members(['surface', 'misspelt']);
    expect(paths(bad[1])).to.have.members(['auth.password', 'imap']);
    expect(paths(bad[2])).to.have.members(['limit', 'misspelt']);
  });

  it(`sends a Request-Id with every answer ${verifies('contract:13:request-id')}`, async () => {
    const answers = [
      await gateway.rest('GET', '/identity'),
      await gateway.rest('GET', '/nowhere'),
      await gateway.rest('PUT', '/identity'),
      await gateway.rest('GET', '/identity', undefined, { token: null }),
      await gateway.rest('GET', '/identity', undefined, { headers: { origin: 'http://evil.example' } }),
      await gateway.rest('GET', '/mailboxes/%zz'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 405, 401, 403, 400]);
    const ids = answers.map(({ headers }) => headers.get('request-id'));
    for (const id of ids) expect(id).to.match(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(new Set(ids).size).to.equal(answers.length);
    for (const [index, { body, status }] of answers.entries()) {
      if (status !== 200) expect(body.error.request_id).to.equal(ids[index]);
    }
    for (const path of ['/health/live', '/', '/nowhere', '/mcp']) {
      const answer = await fetch(`${gateway.baseUrl}${path}`);
      await answer.text();
      expect(answer.headers.get('request-id'), path).to.match(/^req_/);
    }
  });

  it(`hides the text of an internal failure ${verifies('contract:13:internal')}`, async () => {
    const { mail } = gateway.gateway.ports;
    const query = mail.query.bind(mail);
    Object.assign(mail, { query: () => Promise.reject(new Error('secret inner text')) });
    const answer = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`);
    Object.assign(mail, { query });
    expect(answer.body.error).to.include({ status: 500, code: 'internal_error', retryable: false });
    expect(JSON.stringify(answer.body)).not.to.include('secret');
  });

  it(`returns a mailbox with the state of its index and without credentials ${verifies('contract:4:mailbox', 'contract:4:mailbox-syncs', 'contract:4:freshness')}`, async () => {
    const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}`);
    expect(body).to.have.all.keys(
      'id', 'email', 'display_name', 'provider', 'auth_type', 'state', 'state_reason', 'imap', 'smtp', 'folder_roles',
      'capabilities', 'trusted_authserv_ids', 'sync', 'limits', 'created_at', 'updated_at', 'version',
    ); // prettier-ignore
    expect(body).to.deep.include({
      email: 'anna@example.com',
      auth_type: 'password',
      state: 'connected',
      state_reason: null,
      imap: { ...dovecot.imap() },
      limits: { provider_connections: 4 },
    });
    expect(body.folder_roles.inbox).to.match(/^fld_/);
    expect(body.sync).to.include.keys('last_event_at', 'indexed', 'total');
    expect(body.sync.indexed).to.equal(body.sync.total);
    expect(body.sync.freshness).to.equal('live');
    expect(body.capabilities).to.include('MOVE');
    expect(JSON.stringify(body)).not.to.include(PASSWORD);
  });

  it(`creates a mailbox at once and connects it in the background ${verifies('contract:17:create-mailbox', 'contract:4:mailbox-connects')}`, async () => {
    const made = await makeMailbox({ email: 'new@example.com' });
    expect(made.status).to.equal(201);
    expect(made.body).to.deep.include({ email: 'new@example.com', display_name: 'Berta', state: 'pending' });
    await gateway.waitForState(String(made.body.id), 'connected');
    const states = await eventually(async () => {
      const { body } = await gateway.rest('GET', `/audit?mailbox_id=${String(made.body.id)}&order=asc`);
      const types = body.items.map(({ type }: Json) => type as string) as string[];
      if (!types.includes('MailboxConnected')) throw new Error('not told yet');
      return types.filter((type) => type.startsWith('MailboxConnect') || type === 'MailboxAdded');
    });
    expect(states).to.deep.equal(['MailboxAdded', 'MailboxConnectionStarted', 'MailboxConnected']);
    const blocked = await makeMailbox({ imap: { host: '10.0.0.1', port: 143, security: 'none' } });
    expect(blocked.body.error).to.include({ status: 422, code: 'target_blocked' });
  });

  it(`lists mailboxes with a grant, and all of them to managers ${verifies('contract:3:mailboxes-seen')}`, async () => {
    const { body: agentToken } = await makeToken({
      principal_id: gateway.tokens.agentId,
      scopes: ['mailboxes:read', 'messages:read'],
    });
    const { body: other } = await makeMailbox({ email: 'other@example.com' });
    const { body: grants } = await gateway.rest('GET', `/mailboxes/${String(other.id)}/grants`);
    const own = grants.items.find(({ principal }: Json) => principal.id === gateway.tokens.userId);
    await gateway.rest('DELETE', `/mailboxes/${String(other.id)}/grants/${String(own.id)}`);
    const seen = async (token?: string): Promise<string[]> => {
      const options = token === undefined ? {} : { token };
      const { body } = await gateway.rest('GET', '/mailboxes', undefined, options);
      return body.items.map(({ id }: Json) => id as string) as string[];
    };
    expect(await seen()).to.include.members([mailboxId, other.id]);
    expect(await seen(String(agentToken.token))).to.deep.equal([mailboxId]);
    const mail = await gateway.rest('GET', `/mailboxes/${String(other.id)}/messages`);
    expect(mail.body.error.code, 'mail itself needs a grant').to.equal('not_found');
  });

  it(`returns every field of a token except the secret ${verifies('contract:2:token-fields')}`, async () => {
    const expires_at = inAnHour();
    const made = await makeToken({ mailbox_ids: [mailboxId], expires_at });
    const path = `/tokens/${String(made.body.id)}`;
    const { body } = await gateway.rest('GET', path);
    expect(body).to.deep.include({
      name: 'made',
      principal: { id: gateway.tokens.userId, kind: 'user' },
      scopes: ['messages:read'],
      mailbox_ids: [mailboxId],
      surface: 'rest',
      expires_at,
      last_used_at: null,
      created_by: gateway.tokens.userId,
      status: 'active',
    });
    expect(body).to.have.property('created_at');
    expect(body).not.to.have.property('token');
    await gateway.rest('DELETE', path);
    expect((await gateway.rest('GET', path)).body.status).to.equal('revoked');
  });

  it(`returns identity, rights and limits of the caller ${verifies('contract:17:identity', 'contract:15:shown')}`, async () => {
    const { body } = await gateway.rest('GET', '/identity');
    expect(body).to.have.all.keys(
      'principal', 'org', 'token', 'mailboxes', 'tools', 'advertised_tools', 'limits', 'server',
    ); // prettier-ignore
    expect(body.principal).to.deep.equal({
      type: 'delegated',
      id: gateway.tokens.userId,
      name: 'Olga Owner',
      on_behalf_of: gateway.tokens.userId,
    });
    expect(body.org).to.deep.equal({ id: gateway.tokens.orgId, name: 'First' });
    expect(body.token).to.have.all.keys('id', 'name', 'surface', 'scopes', 'expires_at');
    const mailbox = body.mailboxes.find(({ id }: Json) => id === mailboxId);
    expect(mailbox).to.have.all.keys(
      'id', 'email', 'state', 'folder_roles', 'scopes', 'filters', 'server_defined', 'requires_approval',
      'limits',
    ); // prettier-ignore
    expect(mailbox.folder_roles.inbox).to.match(/^fld_/);
    expect(body.limits).to.include({
      reads_per_minute: 987_654,
      provider_connections: 4,
      json_body_bytes: 1_048_576,
      mcp_result_bytes: 98_304,
      page_items: 200,
      messages_per_operation: 500,
    });
    expect(body.server.mcp_revisions).to.deep.equal(['2025-11-25', '2025-06-18', '2025-03-26']);
  });

  it(`describes every route without credentials ${verifies('contract:17:openapi')}`, async () => {
    const { status, body } = await gateway.rest('GET', '/openapi.json', undefined, { token: null });
    expect(status).to.equal(200);
    const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => /^(get|post|put|patch|delete)$/.test(method))
        .map((method) => `${method} ${path.replace('/api/v1', '').replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    const routes = [...capabilities, ...publicRoutes].flatMap(({ rest }) =>
      rest ? [`${rest.method} ${rest.path}`] : [],
    );
    expect(described).to.have.members(routes);
  });

  it(`requires a bearer except for sign-in and health ${verifies('contract:18:public-routes')}`, async () => {
    for (const { rest } of capabilities) {
      if (!rest) continue;
      const path = rest.path.replaceAll(/:\w+/g, 'x');
      const { status, body } = await gateway.rest(rest.method.toUpperCase(), path, undefined, {
        token: null,
      });
      expect([status, body.error.code], `${rest.method} ${path}`).to.deep.equal([401, 'unauthenticated']);
    }
    for (const { rest } of publicRoutes.filter(({ rest }) => rest.method === 'post')) {
      const { status, body } = await gateway.rest('POST', rest.path, {}, { token: null });
      expect([status, body.error.code], rest.path).to.deep.equal([400, 'invalid_request']);
      expect((await gateway.rest('GET', rest.path, undefined, { token: null })).status).to.equal(401);
    }
    expect((await gateway.rest('GET', '/nowhere', undefined, { token: null })).status).to.equal(401);
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await fetch(`${gateway.baseUrl}/mcp`, { method });
      await answer.text();
      expect(answer.status, `${method} /mcp`).to.equal(401);
    }
    for (const path of ['/health/live', '/health/ready']) {
      const answer = await fetch(`${gateway.baseUrl}${path}`);
      expect(await answer.text(), path).not.to.match(/\d/);
      expect(answer.status, path).to.equal(200);
    }
  });

  it(`serves only metrics, on a separate port ${verifies('contract:20:metrics-port')}`, async () => {
    const ask = async (path: string, init: RequestInit = {}): Promise<[number, string]> => {
      const answer = await fetch(`http://127.0.0.1:${String(metricsPort)}${path}`, init);
      return [answer.status, await answer.text()];
    };
    const [status, text] = await ask('/metrics');
    expect(status).to.equal(200);
    expect(text).to.match(/^# TYPE \w+ counter$/m);
    for (const path of ['/', '/health/live', '/api/v1/identity', '/mcp'])
      expect(await ask(path)).to.deep.equal([404, '']);
    expect(await ask('/metrics', { method: 'POST' })).to.deep.equal([404, '']);
    const public_ = await fetch(`${gateway.baseUrl}/metrics`);
    await public_.text();
    expect(public_.status).to.equal(404);
  });
});
