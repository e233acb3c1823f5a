/** MCP 2026-07-28 on the whole gateway: the official client without a session, beside one with a session under the same token. */
import { Client, InsufficientScopeError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { rejection } from '../support/suite/rejection.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';

interface ToolAnswer {
  readonly isError?: boolean;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into answers of every shape
  readonly structuredContent: any;
}

describe('MCP without sessions on the gateway', function () {
  this.timeout(30_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let client: Client;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(
      dovecot.imap(),
      'anna',
      ['First', 'Second'].map((subject) => ({
        raw: plainMessage({ subject, id: `<${subject}@example.org>` }),
      })),
    );
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, {
      env: { MCP_2026: 'on', LIMIT_CONCURRENT_WAITS: '1' },
    }));
    client = await connect(gateway.tokens.mcpToken);
  });
  after(async () => {
    await client.close();
    await gateway.stop();
    await dovecot.dispose();
  });

  const connect = async (token: string): Promise<Client> => {
    const connected = new Client(
      { name: 'official', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    );
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await connected.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), { requestInit }),
    );
    expect(connected.getNegotiatedProtocolVersion()).to.equal('2026-07-28');
    return connected;
  };

  const tool = async (name: string, args: object = {}, signal?: AbortSignal): Promise<ToolAnswer> =>
    (await client.callTool({ name, arguments: { ...args } }, signal && { signal })) as ToolAnswer;

  const inbox = () => ({ mailbox_id: mailboxId, folder: 'inbox' });

  const subjects = async (): Promise<string[]> => {
    const found = await tool('email_query', { select: inbox() });
    return (found.structuredContent.items as { subject: string }[]).map(({ subject }) => subject).sort();
  };

  it(`lists every tool of the token, discovers the server and shows the revision ${verifies('contract:16:sessionless-tools', 'contract:16:sessionless-results', 'contract:16:sessionless-off')}`, async () => {
    const { tools } = await client.listTools();
    expect(tools).to.have.length(28);
    expect(tools.map(({ name }) => name)).to.include.members([
      'email_query',
      'list_folders',
      'approval_commit',
    ]);
    expect(tools.map(({ name }) => name)).to.not.include('settings_toggle_advanced_tools');
    const { structuredContent } = await tool('get_identity');
    expect(structuredContent.server.mcp_revisions[0]).to.equal('2026-07-28');
    expect(structuredContent.tools).to.have.members(tools.map(({ name }) => name));
  });

  it(`reads mail, archives it and reads what it changed ${verifies('contract:16:sessionless-writes')}`, async () => {
    expect(await subjects()).to.deep.equal(['First', 'Second']);
    const found = await tool('email_query', {
      select: { ...inbox(), filter: { subject_contains: 'First' } },
    });
    const operation = {
      type: 'message_actions',
      select: { message_ids: [found.structuredContent.items[0].id] },
      actions: [{ type: 'archive' }],
    };
    const acted = await tool('email_act', { operation, idempotency_key: 'sessionless-1' });
    expect(acted.structuredContent.summary.done).to.equal(1);
    expect(await subjects()).to.deep.equal(['Second']);
    const again = await client.callTool({
      name: 'email_act',
      arguments: { operation, idempotency_key: 'sessionless-1' },
    });
    expect(again._meta).to.include({ idempotency_replayed: true });
    expect(again._meta).to.have.property('io.modelcontextprotocol/serverInfo');
  });

  it('receives domain errors as results and missing scopes as a challenge', async () => {
    const missing = await tool('email_query', { select: { mailbox_id: 'mbx_unknown' } });
    expect(missing.isError).to.equal(true);
    expect(missing.structuredContent.error).to.include({ code: 'not_found', status: 404 });
    const { body } = await gateway.rest('POST', '/tokens', {
      name: 'reader',
      principal_id: gateway.tokens.agentId,
      surface: 'mcp',
      scopes: ['messages:read'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const reader = await connect(body.token as string);
    expect((await reader.listTools()).tools.map(({ name }) => name)).to.not.include('archive');
    const refused = await rejection(
      reader.callTool({ name: 'archive', arguments: { message_ids: ['msg_x'], idempotency_key: 'k' } }),
    );
    expect(refused, String(refused)).to.be.instanceOf(InsufficientScopeError);
    expect(refused).to.have.property('requiredScope', 'messages:archive');
    await reader.close();
  });

  it(`ends a wait when its client leaves ${verifies('contract:16:sessionless-cancel')}`, async () => {
    const wait = { for: 'message', select: inbox() };
    // The token has one place to wait, which a wait of 50 seconds would keep.
    const left = await rejection(
      tool('email_await', { ...wait, timeout_seconds: 50 }, AbortSignal.timeout(500)),
    );
    expect(String(left)).to.not.include('429');
    await eventually(async () => {
      const { structuredContent } = await tool('email_await', { ...wait, timeout_seconds: 1 });
      expect(structuredContent.status).to.equal('timed_out');
    });
  });

  it('leaves the sessions of the token as they are', async () => {
    const session = new ClientV1({ name: 'official', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${gateway.tokens.mcpToken}` } };
    const transport = new TransportV1(new URL(`${gateway.baseUrl}/mcp`), { requestInit });
    await session.connect(transport);
    expect(transport.protocolVersion).to.equal('2025-11-25');
    expect((await session.listTools()).tools).to.have.length(6);
    await session.callTool({ name: 'settings_toggle_advanced_tools', arguments: { enabled: true } });
    expect((await session.listTools()).tools).to.have.length(29);
    expect(await subjects()).to.deep.equal(['Second']);
    await transport.terminateSession();
    await session.close();
    expect(await subjects()).to.deep.equal(['Second']);
  });
});
