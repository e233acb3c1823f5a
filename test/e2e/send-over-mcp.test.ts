import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import type { Json } from '../support/worlds/gateway.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { verifies } from '../support/suite/verifies.ts';

const SCOPES = ['drafts:read', 'drafts:write', 'drafts:send', 'approvals:request'];

interface ToolAnswer {
  readonly isError?: boolean;
  readonly structuredContent: Json;
  readonly content: readonly { readonly type: string; readonly text: string }[];
}

describe('send_draft over MCP', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  const clients: Client[] = [];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
  });
  after(async () => {
    for (const client of clients) await client.close();
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  const tokenOf = async (principalId: string, surface: 'rest' | 'mcp'): Promise<string> => {
    const { body } = await world.gateway.rest('POST', '/tokens', {
      name: `${surface} of ${principalId}`,
      principal_id: principalId,
      surface,
      scopes: SCOPES,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    return (body as { token: string }).token;
  };

  /** The official client with a token of this person or agent; it holds answers against the output schemas it was told. */
  const connect = async (principalId: string): Promise<Client> => {
    const authorization = `Bearer ${await tokenOf(principalId, 'mcp')}`;
    const transport = new StreamableHTTPClientTransport(new URL(`${world.gateway.baseUrl}/mcp`), {
      requestInit: { headers: { authorization } },
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    clients.push(client);
    await client.callTool({ name: 'settings_toggle_advanced_tools', arguments: { enabled: true } });
    await client.listTools();
    return client;
  };

  const send = async (client: Client, draftId: string, key: string): Promise<ToolAnswer> =>
    (await client.callTool({
      name: 'send_draft',
      arguments: { draft_id: draftId, idempotency_key: key },
    })) as unknown as ToolAnswer;

  const sent = (subject: string): number => relay.accepted.filter(({ raw }) => raw.includes(subject)).length;

  it(`sends once per key when policy allows it ${verifies('contract:17:route-send-draft', 'contract:14:send-once', 'contract:14:faces-share')}`, async () => {
    const { userId } = world.gateway.tokens;
    const client = await connect(userId);
    const { id, subject } = await world.draft();
    const key = randomUUID();
    const first = await send(client, id, key);
    expect(first.isError, JSON.stringify(first)).not.to.equal(true);
    expect(first.structuredContent).to.deep.include({ status: 'completed', draft_id: id });
    expect(first.structuredContent.draft.status).to.equal('sent');
    await relay.delivered();
    const copies = await world.copies('bob', 'INBOX', subject);
    expect(copies.map(({ messageId }) => messageId)).to.deep.equal([
      first.structuredContent.draft.message_id,
    ]);

    const again = await send(client, id, key);
    const onRest = await world.send(id, key, await tokenOf(userId, 'rest'));
    for (const repeat of [again.structuredContent, onRest.body] as Json[]) {
      const { draft, original_status: originalStatus, ...rest } = repeat;
      const { draft: draftThen, ...restThen } = first.structuredContent;
      expect(rest).to.deep.equal(restThen);
      expect(originalStatus).to.equal('completed');
      // A copy in Sent may have been filed meanwhile.
      expect(draft).to.deep.include({ id, status: 'sent', message_id: draftThen.message_id });
    }
    const other = await send(client, id, randomUUID());
    expect(other.structuredContent.error.code).to.equal('draft_locked');
    expect(sent(subject)).to.equal(1);
  });

  it(`refuses a send that requires an approval, as REST does ${verifies('contract:6:approval-required', 'contract:0:two-surfaces', 'contract:13:tool-channel')}`, async () => {
    const { agentId } = world.gateway.tokens;
    const { id, subject } = await world.draft();
    const answer = await send(await connect(agentId), id, randomUUID());
    expect(answer.isError).to.equal(true);
    const { body } = await world.send(id, randomUUID(), await tokenOf(agentId, 'rest'));
    const { request_id: onMcp, ...error } = answer.structuredContent.error;
    const { request_id: onRest, ...expected } = body.error;
    expect(error).to.deep.equal(expected);
    expect(error).to.include({ code: 'approval_required', status: 403, retryable: false });
    expect(onMcp).not.to.equal(onRest);
    expect(JSON.parse(answer.content[0]?.text ?? '')).to.deep.equal(answer.structuredContent);
    expect(await world.statusOf(id)).to.equal('open');
    expect(sent(subject)).to.equal(0);
  });
});
