/** The official SDK 2, which asks for the revision without sessions where it may; it holds every result against the schemas of its revision. */
import {
  Client,
  InsufficientScopeError,
  StreamableHTTPClientTransport,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { supportedRevisions } from '../../../mcp/protocol-revisions.ts';
import { rejection } from '../../support/suite/rejection.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { sampleCaller } from '../../support/worlds/mcp/sample-caller.ts';
import { type ServedMcp, serveMcp } from '../../support/worlds/mcp/serve-mcp.ts';

/** A request on the wire, and the status that answered it. */
interface Wire {
  readonly method: string;
  readonly version: string | null;
  readonly session: string | null;
  readonly status: number;
}

interface Connected {
  readonly client: Client;
  readonly wire: Wire[];
}

async function connect(
  url: string,
  mode: VersionNegotiationOptions['mode'],
  bearer = 'one',
): Promise<Connected> {
  const wire: Wire[] = [];
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${bearer}` } },
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      const answer = await fetch(input, init);
      const { method = '' } = JSON.parse(typeof init?.body === 'string' ? init.body : '{}') as {
        method?: string;
      };
      wire.push({
        method,
        version: headers.get('mcp-protocol-version'),
        session: headers.get('mcp-session-id'),
        status: answer.status,
      });
      return answer;
    },
  });
  const client = new Client({ name: 'official', version: '1' }, mode && { versionNegotiation: { mode } });
  await client.connect(transport);
  return { client, wire };
}

const ALL = ['get_identity', 'note_query', 'note_act', 'note_copy', 'note_fail'];

const serve = async (sessionless: boolean): Promise<ServedMcp> => {
  const served = await serveMcp({ mcpRevisions: supportedRevisions({ sessionless }) });
  served.gate.callers.set('one', sampleCaller());
  served.gate.callers.set('narrow', sampleCaller({ tokenId: 'tok_2', scopes: [] }));
  served.notes.push({ id: 'n1', text: 'first' });
  return served;
};

for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
  describe(`the official client 2 in mode ${JSON.stringify(mode)}`, () => {
    let served: ServedMcp;
    let connected: Connected;

    before(async () => {
      served = await serve(true);
      connected = await connect(served.url, mode);
    });
    after(async () => {
      await connected.client.close();
      await served.close();
    });

    it(`has no session: it discovers the server and lists every tool ${verifies('contract:16:sessionless-results', 'contract:16:sessionless-tools')}`, async () => {
      const { client, wire } = connected;
      expect(client.getNegotiatedProtocolVersion()).to.equal('2026-07-28');
      expect(client.getServerVersion()).to.deep.equal({ name: 'mailbox-gateway', version: '0.0.0' });
      expect(client.getServerCapabilities()).to.deep.equal({ tools: {} });
      expect(client.getInstructions()?.split(/\s+/).length).to.be.within(40, 120);
      expect((await client.listTools()).tools.map(({ name }) => name)).to.deep.equal(ALL);
      expect(wire.map(({ method }) => method)).to.deep.equal(['server/discover', 'tools/list']);
      for (const { version, session, status } of wire)
        expect([version, session, status]).to.deep.equal(['2026-07-28', null, 200]);
      expect(served.sessions.rows.size).to.equal(0);
    });

    it('keeps the list for as long as it may', async () => {
      const { client, wire } = connected;
      await client.listTools();
      const asked = wire.length;
      expect((await client.listTools()).tools).to.have.length(ALL.length);
      expect(wire).to.have.length(asked);
    });

    it('calls tools and receives their errors as results', async () => {
      const { client } = connected;
      const found = await client.callTool({ name: 'note_query', arguments: { select: {} } });
      expect(found.isError).to.equal(false);
      expect(found.structuredContent).to.have.property('items').with.length(1);
      const operation = { type: 'note_actions', select: { message_ids: ['n1'] } };
      const acted = await client.callTool({
        name: 'note_act',
        arguments: { operation, idempotency_key: 'k' },
      });
      expect(acted.structuredContent).to.have.nested.property('results[0].outcome', 'done');
      const failed = await client.callTool({ name: 'note_act', arguments: { operation } });
      expect(failed.isError).to.equal(true);
      expect(failed.structuredContent).to.have.nested.property('error.code', 'idempotency_key_required');
      const malformed = await client.callTool({ name: 'note_query', arguments: { nonsense: 1 } });
      expect(malformed.structuredContent).to.have.nested.property('error.code', 'invalid_request');
    });

    it('receives protocol errors and missing scopes as errors', async () => {
      const unknown = await rejection(connected.client.callTool({ name: 'nothing', arguments: {} }));
      expect(unknown).to.have.property('code', -32602);
      const narrow = await connect(served.url, mode, 'narrow');
      expect((await narrow.client.listTools()).tools.map(({ name }) => name)).to.deep.equal([
        'get_identity',
        'note_fail',
      ]);
      const refused = await rejection(
        narrow.client.callTool({ name: 'note_query', arguments: { select: {} } }),
      );
      expect(refused, String(refused)).to.be.instanceOf(InsufficientScopeError);
      expect(refused).to.have.property('requiredScope', 'messages:read');
      await narrow.client.close();
    });
  });
}

describe('the official client 2 and sessions', () => {
  const inSession = async (served: ServedMcp, mode: VersionNegotiationOptions['mode']): Promise<Wire[]> => {
    const { client, wire } = await connect(served.url, mode);
    expect(client.getNegotiatedProtocolVersion()).to.equal('2025-11-25');
    expect((await client.listTools()).tools.map(({ name }) => name)).to.deep.equal([
      'get_identity', 'settings_toggle_advanced_tools', 'note_query', 'note_act',
    ]); // prettier-ignore
    const { structuredContent } = await client.callTool({ name: 'get_identity', arguments: {} });
    expect(structuredContent).to.deep.equal({ tools: ['get_identity'] });
    await client.close();
    return wire;
  };

  it(`falls back to a session where the revision is off ${verifies('contract:16:sessionless-off')}`, async () => {
    const served = await serve(false);
    const wire = await inSession(served, 'auto');
    expect(wire.slice(0, 2).map(({ method, status }) => [method, status])).to.deep.equal([
      ['server/discover', 400],
      ['initialize', 200],
    ]);
    expect(await rejection(connect(served.url, { pin: '2026-07-28' }))).to.be.instanceOf(Error);
    await served.close();
  });

  it(`opens a session in its usual mode, on and off, beside a client without one ${verifies('contract:16:sessionless-off')}`, async () => {
    for (const sessionless of [true, false]) {
      const served = await serve(sessionless);
      const beside = sessionless ? await connect(served.url, 'auto') : null;
      const wire = await inSession(served, 'legacy');
      expect(wire[0]).to.include({ method: 'initialize', status: 200 });
      expect(wire.map(({ version }) => version)).to.not.include('2026-07-28');
      expect((await beside?.client.listTools())?.tools.map(({ name }) => name) ?? ALL).to.deep.equal(ALL);
      await beside?.client.close();
      await served.close();
    }
  });
});
