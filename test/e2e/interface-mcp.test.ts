import { expect } from 'chai';
import { capabilities } from '../../read-api/capabilities.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { callOf, helloOf, openSession, rawMcp, rpc } from '../support/worlds/mcp/raw-mcp.ts';
import { verifies } from '../support/suite/verifies.ts';

const REVISION = '2025-11-25';
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** A bearer and the headers of a session it opened. */
interface Session {
  readonly bearer: string;
  readonly headers: Record<string, string>;
}

describe('the MCP interface of the contract', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let url: string;
  let full: Session;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(
      dovecot.imap(),
      'anna',
      ['Plan one', 'Plan two', 'Plan three', 'Other'].map((subject, index) => ({
        raw: plainMessage({ subject, id: `<plan-${String(index)}@example.org>` }),
        flags: index === 0 ? ['\\Seen'] : [],
        receivedAt: new Date(Date.UTC(2026, 4, 1 + index)),
      })),
    );
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    url = `${gateway.baseUrl}/mcp`;
    full = await sessionOf(gateway.tokens.mcpToken);
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const sessionOf = async (bearer: string): Promise<Session> => ({
    bearer,
    headers: await openSession(url, REVISION, bearer),
  });

  const send = async (session: Session, body: unknown): Promise<Json> =>
    (await rawMcp(url, { ...session, body })).body;

  const callTool = async (session: Session, name: string, args: object = {}): Promise<Json> =>
    (await send(session, callOf(name, args))).result;

  const listed = async (session: Session): Promise<string[]> =>
    ((await send(session, rpc('tools/list'))).result.tools as Json[]).map(({ name }) => name as string);

  const tokenOf = async (
    principalId: string,
    scopes: readonly string[],
    surface = 'mcp',
  ): Promise<string> => {
    const { body } = await gateway.rest('POST', '/tokens', {
      name: `${surface} of an agent`,
      principal_id: principalId,
      surface,
      scopes,
      expires_at: inAnHour(),
    });
    return body.token as string;
  };

  it(`requires a JWT with every request ${verifies('contract:16:bearer', 'contract:2:bearer', 'contract:2:mcp-jwt', 'contract:13:http-errors')}`, async () => {
    const claims = gateway.tokens.mcpToken.split('.').map((part) => Buffer.from(part, 'base64url'));
    expect(claims).to.have.length(3);
    expect(JSON.parse(String(claims[0]))).to.have.property('alg');
    const requests = [
      { body: helloOf(REVISION) },
      { body: rpc('tools/list'), headers: full.headers },
      { method: 'DELETE', headers: full.headers },
    ];
    for (const request of requests) {
      for (const authorization of [undefined, `Bearer ${gateway.tokens.restToken}`, 'Basic eDp5']) {
        const { status, body } = await rawMcp(url, {
          ...request,
          headers: { ...request.headers, authorization },
        });
        expect([status, (body as Json).error.status]).to.deep.equal([401, 401]);
      }
    }
    expect(await listed(full), 'the session outlives what was refused').not.to.deep.equal([]);
  });

  it(`refuses origins and protocol headers with HTTP statuses ${verifies('contract:13:http-errors', 'contract:13:http-channel', 'contract:16:session-header', 'contract:16:version-header', 'contract:16:echo')}`, async () => {
    const refusal = async (headers: Record<string, string | undefined>): Promise<unknown[]> => {
      const answer = await rawMcp(url, {
        bearer: full.bearer,
        headers: { ...full.headers, ...headers },
        body: rpc('ping'),
      });
      return [answer.status, (answer.body as Json).error.code];
    };
    expect(await refusal({ origin: 'https://evil.example' })).to.deep.equal([403, 'origin_not_allowed']);
    expect(await refusal({ 'mcp-session-id': undefined })).to.deep.equal([400, 'invalid_request']);
    for (const version of [undefined, '2025-06-18']) {
      expect(await refusal({ 'mcp-protocol-version': version })).to.deep.equal([
        400,
        'protocol_version_unsupported',
      ]);
    }
  });

  it(`accepts a session only with the token that created it, even for the same agent ${verifies('contract:2:session-bound', 'contract:13:session-not-found')}`, async () => {
    const bearer = await tokenOf(gateway.tokens.agentId, ['messages:read']);
    const answer = await rawMcp(url, { bearer, headers: full.headers, body: rpc('ping') });
    expect([answer.status, (answer.body as Json).error.code]).to.deep.equal([404, 'session_not_found']);
    expect(await send(await sessionOf(bearer), rpc('ping'))).to.have.property('result');
    expect(await send(full, rpc('ping'))).to.have.property('result');
  });

  it(`lists and runs the tools that the grants allow at that moment ${verifies('contract:3:effective-grants', 'contract:16:narrow-token', 'contract:16:hidden-tools', 'contract:16:tools-list', 'contract:3:insufficient-scope', 'contract:13:insufficient-scope')}`, async () => {
    const { body: agent } = await gateway.rest('POST', '/agents', { name: 'Narrow' });
    const grants = `/mailboxes/${mailboxId}/grants`;
    const { body: grant } = await gateway.rest('POST', grants, {
      principal_id: agent.id,
      scopes: ['messages:read', 'messages:archive'],
    });
    const scopes = ['messages:read', 'messages:archive', 'messages:trash'];
    const narrow = await sessionOf(await tokenOf(String(agent.id), scopes));
    const identity = async () => (await callTool(narrow, 'get_identity')).structuredContent;
    const fresh = [
      'get_identity',
      'settings_toggle_advanced_tools',
      'email_query',
      'email_act',
      'email_await',
    ];
    expect(await listed(narrow)).to.deep.equal(fresh);
    expect((await identity()).advertised_tools).to.deep.equal(fresh);
    expect((await identity()).tools).to.deep.equal([...fresh, 'monitor_inbox', 'archive']);
    const hidden = await callTool(narrow, 'archive', { mailbox_id: mailboxId, message_ids: ['msg_x'] });
    expect(hidden.structuredContent.error.code, 'hidden, not disabled').to.equal('not_found');
    const trash = { mailbox_id: mailboxId, message_ids: ['msg_x'] };
    const refused = await rawMcp(url, { ...narrow, body: callOf('trash', trash) });
    expect(refused.status).to.equal(403);
    expect((refused.body as Json).error).to.deep.include({
      code: 'insufficient_scope',
      details: { required: ['messages:trash'], operation_scopes: ['messages:trash'] },
    });
    await gateway.rest('PATCH', `${grants}/${String(grant.id)}`, { scopes: ['messages:read'] });
    const reading = fresh.filter((name) => name !== 'email_act');
    expect(await listed(narrow)).to.deep.equal(reading);
    expect((await identity()).tools).to.deep.equal([...reading, 'monitor_inbox']);
  });

  it(`switches advanced tools on for one session ${verifies('contract:16:toggle')}`, async () => {
    const [switched, other] = [await sessionOf(full.bearer), await sessionOf(full.bearer)];
    const before = await listed(other);
    expect(before).not.to.include('move');
    await rawMcp(url, { ...switched, body: callOf('settings_toggle_advanced_tools', { enabled: true }) });
    const { tools } = (await callTool(switched, 'get_identity')).structuredContent;
    expect(await listed(switched)).to.have.members(tools as string[]);
    expect(await listed(switched)).to.include.members(['list_folders', 'move', 'set_flags']);
    expect(await listed(other)).to.deep.equal(before);
  });

  it(`accepts the arguments of email_query ${verifies('contract:16:email-query-arguments', 'contract:4:message-filters')}`, async () => {
    const query = (select: object) =>
      callTool(full, 'email_query', {
        select: { mailbox_id: mailboxId, folder: 'inbox', ...select },
        view: 'summary',
      });
    const subjects = ({ structuredContent }: Json) =>
      structuredContent.items.map(({ subject }: Json) => subject as string) as string[];
    expect(subjects(await query({ filter: { seen: true } }))).to.deep.equal(['Plan one']);
    const unseen = { filter: { seen: false, subject_contains: 'plan' } };
    expect(subjects(await query(unseen))).to.deep.equal(['Plan three', 'Plan two']);
    const first = await query({ ...unseen, limit: 1 });
    expect(subjects(first)).to.deep.equal(['Plan three']);
    expect(first.structuredContent.page.next_cursor).to.be.a('string');
  });

  it(`accepts an empty object for get_identity ${verifies('contract:16:get-identity-arguments')}`, async () => {
    expect((await callTool(full, 'get_identity', {})).isError).to.equal(false);
    const more = await send(full, callOf('get_identity', { of: 'anna' }));
    expect(more.result.structuredContent.error.code).to.equal('invalid_request');
  });

  it(`reports each kind of failure by its channel ${verifies('contract:13:json-rpc-channel', 'contract:13:tool-channel', 'contract:16:is-error', 'contract:16:structured-content')}`, async () => {
    expect((await send(full, rpc('tools/unknown'))).error.code).to.equal(-32601);
    expect((await send(full, callOf('unknown_tool'))).error.code).to.equal(-32602);
    const broken = await send(full, callOf('email_query', { select: 5 }));
    expect([broken.result.isError, broken.result.structuredContent.error.code]).to.deep.equal([
      true,
      'invalid_request',
    ]);
    const answer = await send(full, callOf('email_query', { select: { mailbox_id: 'mbx_unknown' } }));
    expect(answer).not.to.have.property('error');
    const { isError, structuredContent, content } = answer.result;
    expect(isError).to.equal(true);
    expect(structuredContent.error).to.include({ code: 'not_found', status: 404, retryable: false });
    expect(structuredContent.error.request_id).to.match(/^req_/);
    expect(content).to.deep.equal([{ type: 'text', text: JSON.stringify(structuredContent) }]);
  });

  it(`returns the answers of REST for each tool ${verifies('contract:0:two-surfaces', 'contract:4:select-type')}`, async () => {
    const tools = capabilities.filter(({ tool }) => tool !== null);
    const withoutRoute = tools.filter(({ rest }) => rest === null).map(({ name }) => name);
    // A session's own matter, and two that gather or cut into pieces what has routes of its own.
    expect(withoutRoute).to.deep.equal(['settings_toggle_advanced_tools', 'get_attachment', 'get_draft']);
    const scopes = ['messages:read', 'messages:archive', 'folders:read'];
    const token = await tokenOf(gateway.tokens.agentId, scopes, 'rest');
    const same = await sessionOf(await tokenOf(gateway.tokens.agentId, scopes));
    const rest = async (method: string, path: string, body?: object) =>
      (await gateway.rest(method, path, body, { token })).body;
    const tool = async (name: string, args: object = {}) =>
      (await callTool(same, name, args)).structuredContent;
    const mailbox = `/mailboxes/${mailboxId}`;
    const select = { folder: 'inbox', filter: { subject_contains: 'Plan' }, order_by: 'received_asc' };
    const found = await rest('POST', `${mailbox}/email.query`, { select, view: 'headers' });
    expect(found.items).to.have.length(3);
    const queried = await tool('email_query', {
      select: { mailbox_id: mailboxId, ...select },
      view: 'headers',
    });
    expect(queried.items).to.deep.equal(found.items);
    const folders = await rest('GET', `${mailbox}/folders/list`);
    expect((await tool('list_folders', { mailbox_id: mailboxId })).items).to.deep.equal(folders.items);
    const byQuery = await tool('email_query', { select: { mailbox_id: mailboxId, type: 'folders' } });
    expect(byQuery.items).to.deep.equal(folders.items);
    const misplaced = { mailbox_id: mailboxId, type: 'folders', folder: 'inbox' };
    expect((await tool('email_query', { select: misplaced })).error.details.issues[0].path).to.equal(
      'select.folder',
    );
    const noScope = await send(
      same,
      callOf('email_query', { select: { mailbox_id: mailboxId, type: 'drafts' } }),
    );
    expect(noScope.error).to.deep.include({ code: 'insufficient_scope' });
    const { token: mcpToken, ...identity } = await tool('get_identity');
    const { token: restToken, ...onRest } = await rest('GET', '/identity');
    expect(identity).to.deep.equal(onRest);
    expect([mcpToken.surface, restToken.surface]).to.deep.equal(['mcp', 'rest']);
    const act = {
      operation: {
        type: 'message_actions',
        select: { mailbox_id: mailboxId, message_ids: [found.items[0].id as string] },
        actions: [{ type: 'archive' }],
      },
      authorization: { mode: 'preview' },
    };
    const preview = await rest('POST', `${mailbox}/email.act`, act);
    expect(preview.status).to.equal('preview');
    expect(await tool('email_act', act)).to.deep.equal(preview);
  });
});
