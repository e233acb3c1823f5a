import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { verifies } from '../support/suite/verifies.ts';

const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

interface ToolAnswer {
  readonly isError?: boolean;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into answers of every shape
  readonly structuredContent: any;
  readonly content: readonly { readonly type: string; readonly text: string }[];
}

describe('the MCP adapter of the gateway', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(
      dovecot.imap(),
      'anna',
      Array.from({ length: 8 }, (_, index) => ({
        raw: plainMessage({ subject: `Tool ${String(index)}`, id: `<tool-${String(index)}@example.org>` }),
      })),
    );
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
  });

  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const connect = async (): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> => {
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${gateway.tokens.mcpToken}` } },
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    return { client, transport };
  };

  const tool = async (client: Client, name: string, args: object = {}): Promise<ToolAnswer> =>
    (await client.callTool({ name, arguments: { ...args } })) as unknown as ToolAnswer;

  it(`serves the official client: identity, query, act, requery ${verifies('contract:16:endpoint', 'contract:16:fresh-tools', 'contract:16:hidden-tools', 'contract:16:structured-content', 'contract:16:tools-call', 'contract:16:advertised-six')}`, async () => {
    const { client, transport } = await connect();
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).to.deep.equal([
      'get_identity', 'settings_toggle_advanced_tools', 'email_query', 'email_act', 'email_await', 'email_requests',
    ]); // prettier-ignore
    const identity = await tool(client, 'get_identity');
    expect(identity.structuredContent.principal).to.include({ type: 'agent', id: gateway.tokens.agentId });
    expect(JSON.parse(identity.content[0]?.text ?? '')).to.deep.equal(identity.structuredContent);
    const mailbox = identity.structuredContent.mailboxes[0].id as string;
    expect(mailbox).to.equal(mailboxId);
    const found = await tool(client, 'email_query', {
      select: { mailbox_id: mailbox, folder: 'inbox', filter: { subject_contains: 'Tool 3' } },
    });
    const [message] = found.structuredContent.items;
    expect(message.subject).to.equal('Tool 3');
    const acted = await tool(client, 'email_act', {
      operation: {
        type: 'message_actions',
        select: { message_ids: [message.id] },
        actions: [{ type: 'archive' }],
      },
      idempotency_key: 'mcp-1',
    });
    expect(acted.isError).not.to.equal(true);
    expect(acted.structuredContent.summary.done).to.equal(1);
    const stale = await tool(client, 'archive', { message_ids: [message.id] });
    expect(stale.structuredContent.results[0].error.code).to.equal('message_stale');
    await transport.terminateSession();
    await client.close();
  });

  it(`answers domain errors as tool results and unknown tools as JSON-RPC errors ${verifies('contract:13:tool-channel', 'contract:13:json-rpc-channel', 'contract:16:is-error')}`, async () => {
    const { client } = await connect();
    await client.listTools();
    const missing = await tool(client, 'email_query', { select: { mailbox_id: 'mbx_unknown' } });
    expect(missing.isError).to.equal(true);
    expect(missing.structuredContent.error).to.include({ code: 'not_found', status: 404 });
    const unknown = await rejected(client.callTool({ name: 'no_such_tool', arguments: {} }));
    expect(unknown).to.include({ code: -32602 });
    const malformed = await tool(client, 'email_query', { selekt: {} });
    expect(malformed.structuredContent.error).to.include({ code: 'invalid_request' });
    await client.close();
  });

  it(`notifies the client that tools changed when advanced tools are switched on ${verifies('contract:16:granular-listed', 'contract:16:toggle', 'contract:16:granular-23')}`, async () => {
    const { client } = await connect();
    let told = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told += 1;
    });
    const toggled = await tool(client, 'settings_toggle_advanced_tools', { enabled: true });
    expect(toggled.structuredContent.tools).to.include.members(['move', 'archive', 'list_folders']);
    await eventually(async () => {
      if (told === 0) throw new Error('not told yet');
    });
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).to.deep.equal([
      'get_identity', 'settings_toggle_advanced_tools', 'email_query', 'email_act', 'email_await', 'email_requests',
      'get_attachment', 'monitor_inbox', 'monitor_approval',
      'list_folders', 'move', 'copy', 'trash', 'spam', 'archive', 'set_flags',
      'wants_to_move', 'wants_to_copy', 'wants_to_expunge', 'cancel_approval', 'approval_commit',
      'start_draft', 'reply_to_thread', 'get_draft', 'edit_draft', 'patch_draft',
      'wants_to_send_draft', 'send_draft', 'discard_draft',
    ]); // prettier-ignore
    await client.close();
  });

  it(`shares idempotency keys with REST ${verifies('contract:14:faces-share')}`, async () => {
    const { client } = await connect();
    const token = (
      await gateway.rest('POST', '/tokens', {
        name: 'agent rest',
        principal_id: gateway.tokens.agentId,
        surface: 'rest',
        scopes: ['messages:copy', 'messages:read'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      })
    ).body.token as string;
    const { body } = await gateway.rest('POST', `/mailboxes/${mailboxId}/email.query`, {
      select: { filter: { subject_contains: 'Tool 5' } },
    });
    const copy = { message_ids: [body.items[0].id as string], folder: 'sent' };
    const first = await gateway.rest('POST', `/mailboxes/${mailboxId}/copy`, copy, {
      token,
      key: 'both-faces',
    });
    const second = await tool(client, 'copy', {
      ...copy,
      mailbox_id: mailboxId,
      idempotency_key: 'both-faces',
    });
    expect(second.structuredContent.operation_id).to.equal(first.body.operation_id);
    expect(second.structuredContent.original_status).to.equal('completed');
    await client.close();
  });

  for (const revision of REVISIONS) {
    it(`speaks ${revision} over plain HTTP with a session header until DELETE ${verifies('contract:16:session-made', 'contract:16:initialize', 'contract:16:initialized', 'contract:16:post', 'contract:16:delete-ends-session', 'contract:16:session-deleted', 'contract:13:session-not-found', 'contract:16:revisions', 'contract:16:echo')}`, async () => {
      const post = (body: object, headers: Record<string, string> = {}) =>
        fetch(`${gateway.baseUrl}/mcp`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${gateway.tokens.mcpToken}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
          body: JSON.stringify({ jsonrpc: '2.0', ...body }),
        });
      const clientInfo = { name: 'curl', version: '8' };
      const hello = await post({
        id: 1,
        method: 'initialize',
        params: { protocolVersion: revision, capabilities: {}, clientInfo },
      });
      const greeting = (await hello.json()) as { result: { protocolVersion: string } };
      expect(greeting.result.protocolVersion).to.equal(revision);
      const session = hello.headers.get('mcp-session-id') ?? '';
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': revision };
      expect((await post({ method: 'notifications/initialized' }, headers)).status).to.equal(202);
      const pong = (await (await post({ id: 2, method: 'ping', params: {} }, headers)).json()) as object;
      expect(pong).to.deep.equal({ jsonrpc: '2.0', id: 2, result: {} });
      const call = { id: 3, method: 'tools/call', params: { name: 'get_identity', arguments: {} } };
      const answer = (await (await post(call, headers)).json()) as { result: ToolAnswer };
      expect(answer.result.structuredContent.org.id).to.equal(gateway.tokens.orgId);
      const ended = await fetch(`${gateway.baseUrl}/mcp`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${gateway.tokens.mcpToken}`, ...headers },
      });
      expect(ended.status).to.equal(204);
      const gone = await post({ id: 4, method: 'ping' }, headers);
      expect(gone.status).to.equal(404);
      expect(((await gone.json()) as { error: { code: string } }).error.code).to.equal('session_not_found');
    });
  }

  it(`refuses REST tokens, and REST refuses its tokens ${verifies('contract:2:mcp-jwt')}`, async () => {
    const mcp = await fetch(`${gateway.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.tokens.restToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{}',
    });
    expect(mcp.status).to.equal(401);
    const rest = await gateway.rest('GET', '/identity', undefined, { token: gateway.tokens.mcpToken });
    expect(rest.status).to.equal(401);
    expect(rest.body.error.code).to.equal('unauthenticated');
  });
});

async function rejected(promise: Promise<unknown>): Promise<{ code?: number }> {
  try {
    await promise;
  } catch (error) {
    return error as { code?: number };
  }
  throw new Error('it was expected to be refused');
}
