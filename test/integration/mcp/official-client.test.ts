import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  ErrorCode,
  McpError,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { PROTOCOL_REVISION_NAMES, supportedRevisions } from '../../../mcp/protocol-revisions.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { type ServedMcp, serveMcp } from '../../support/worlds/mcp/serve-mcp.ts';
import { verifies } from '../../support/suite/verifies.ts';

interface Connected {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** What the transport met outside of a call, such as a GET stream that failed otherwise than by 405. */
  readonly troubles: Error[];
  /** `MCP-Protocol-Version` as sent after the handshake. */
  readonly versionsSent: Set<string | null>;
}

/** The client asks for the newest revision it knows; the wire is where it can be made to ask for an older one. */
function askingFor(revision: string, versionsSent: Set<string | null>): typeof fetch {
  return async (input, init) => {
    const body = init?.body;
    if (typeof body !== 'string' || !body.includes('"initialize"')) {
      versionsSent.add(new Headers(init?.headers).get('mcp-protocol-version'));
      return await fetch(input, init);
    }
    const hello = JSON.parse(body) as { params: { protocolVersion: string } };
    hello.params.protocolVersion = revision;
    return await fetch(input, { ...init, body: JSON.stringify(hello) });
  };
}

async function connect(url: string, revision: string, bearer = 'one'): Promise<Connected> {
  const versionsSent = new Set<string | null>();
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: askingFor(revision, versionsSent),
    requestInit: { headers: { authorization: `Bearer ${bearer}` } },
  });
  const troubles: Error[] = [];
  const client = new Client({ name: 'official', version: '1' });
  client.onerror = (error) => troubles.push(error);
  // The transport declares `sessionId` without `undefined`; exactOptionalPropertyTypes tells them apart.
  await client.connect(transport);
  return { client, transport, troubles, versionsSent };
}

const call = async (
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<CallToolResult> => (await client.callTool({ name, arguments: args })) as CallToolResult;

const ADVERTISED = ['get_identity', 'settings_toggle_advanced_tools', 'note_query', 'note_act'];
const GRANULAR = ['note_copy', 'note_fail'];

const SETTINGS = PROTOCOL_REVISION_NAMES.flatMap((revision) => [
  { revision, sessionless: false },
  { revision, sessionless: true },
]);

for (const { revision, sessionless } of SETTINGS) {
  describe(`the official client at ${revision}, ${sessionless ? 'beside' : 'without'} 2026-07-28`, () => {
    let served: ServedMcp;
    let connected: Connected;
    const names = async (): Promise<string[]> =>
      (await connected.client.listTools()).tools.map(({ name }) => name);

    before(async () => {
      served = await serveMcp({ mcpRevisions: supportedRevisions({ sessionless }) });
      served.gate.callers.set('one', sampleCaller());
      served.gate.callers.set('narrow', sampleCaller({ tokenId: 'tok_2', scopes: [] }));
      served.notes.push({ id: 'n1', text: 'first' });
      connected = await connect(served.url, revision);
    });
    after(async () => {
      await connected.client.close();
      await served.close();
    });

    it("negotiates the revision, reads the server's facts, and reports no error", async () => {
      const { client, transport, troubles, versionsSent } = connected;
      await client.ping();
      expect(transport.protocolVersion).to.equal(revision);
      expect([...versionsSent]).to.deep.equal([revision]);
      expect(client.getServerCapabilities()).to.deep.include({ tools: { listChanged: true } });
      expect(client.getServerVersion()).to.deep.equal({ name: 'mailbox-gateway', version: '0.0.0' });
      expect(client.getInstructions()?.split(/\s+/).length).to.be.within(40, 120);
      expect(troubles).to.deep.equal([]);
    });

    it('lists the tools with the fields of the revision', async () => {
      const { tools } = await connected.client.listTools();
      expect(tools.map(({ name }) => name)).to.deep.equal(ADVERTISED);
      const withOutput = tools.filter(({ outputSchema }) => outputSchema !== undefined);
      expect(withOutput).to.have.length(revision === '2025-03-26' ? 0 : tools.length);
      for (const tool of tools) expect(tool).to.not.have.property('execution');
    });

    it('calls a tool and validates its answer against the output schema', async () => {
      const { structuredContent, content, isError } = await call(connected.client, 'note_query', {
        select: {},
      });
      expect(isError).to.equal(false);
      expect(structuredContent).to.have.property('items').with.length(1);
      expect(content).to.deep.equal([{ type: 'text', text: JSON.stringify(structuredContent) }]);
    });

    it('receives a domain error as a result that the output schema allows', async () => {
      const { structuredContent, isError } = await call(connected.client, 'note_act', {
        operation: { type: 'note_actions', select: { message_ids: ['m'] } },
      });
      expect(isError).to.equal(true);
      expect(structuredContent).to.have.nested.property('error.code', 'idempotency_key_required');
    });

    it(`receives unknown tools as protocol errors, and malformed arguments as its revision says ${verifies('contract:16:unknown-tool', 'contract:16:argument-errors')}`, async () => {
      const outcome = (name: string, args: Record<string, unknown>): Promise<unknown> =>
        call(connected.client, name, args).catch((thrown: unknown) => thrown);
      const isInvalidParams = (error: unknown): boolean =>
        error instanceof McpError && error.code === (ErrorCode.InvalidParams as number);
      expect(isInvalidParams(await outcome('no_such_tool', {}))).to.equal(true);
      const malformed = await outcome('note_query', { nonsense: 1 });
      if (revision === '2025-11-25') {
        expect(malformed).to.have.nested.property('structuredContent.error.code', 'invalid_request');
      } else expect(isInvalidParams(malformed)).to.equal(true);
    });

    it('receives the list change on the call that caused it, and only then', async () => {
      const lists: Promise<string[]>[] = [];
      connected.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        lists.push(names());
      });
      const toggle = (enabled: boolean) =>
        call(connected.client, 'settings_toggle_advanced_tools', { enabled });
      expect((await toggle(true)).structuredContent).to.deep.equal({ enabled: true, tools: GRANULAR });
      await toggle(true);
      // Each list is awaited before the next switch, so that it shows this one.
      expect(await Promise.all(lists)).to.deep.equal([[...ADVERTISED, ...GRANULAR]]);
      await toggle(false);
      await toggle(false);
      expect(lists).to.have.length(2);
      expect(await lists[1]).to.deep.equal(ADVERTISED);
    });

    it('calls a hidden tool by name', async () => {
      const { isError } = await call(connected.client, 'note_copy', {
        message_ids: ['m'],
        idempotency_key: 'k',
      });
      expect(isError).to.equal(false);
    });

    it('lists fewer tools with a narrow token', async () => {
      const narrow = await connect(served.url, revision, 'narrow');
      const { tools } = await narrow.client.listTools();
      expect(tools.map(({ name }) => name)).to.deep.equal(['get_identity', 'settings_toggle_advanced_tools']);
      await narrow.client.close();
    });

    it('ends its session', async () => {
      const ending = await connect(served.url, revision);
      const before = served.sessions.rows.size;
      await ending.transport.terminateSession();
      expect(served.sessions.rows.size).to.equal(before - 1);
      await ending.client.close();
    });
  });
}

describe('the official client with the text block off', () => {
  it(`accepts an empty content beside the structured one ${verifies('contract:16:text-block-off')}`, async () => {
    const served = await serveMcp({ mcpTextBlock: false });
    served.gate.callers.set('one', sampleCaller());
    const { client } = await connect(served.url, '2025-11-25');
    await client.listTools();
    const { content, structuredContent } = await call(client, 'get_identity');
    await client.close();
    await served.close();
    expect(content).to.deep.equal([]);
    expect(structuredContent).to.deep.equal({ tools: ['get_identity'] });
  });
});
