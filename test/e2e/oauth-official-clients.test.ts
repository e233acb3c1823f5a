/** The official SDKs from the bare address of `/mcp` to mail, for every kind of client. */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError as UnauthorizedErrorV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { rejection } from '../support/suite/rejection.ts';
import { verifies } from '../support/suite/verifies.ts';
import { startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { DocumentHost } from '../support/worlds/oauth/document-host.ts';
import { ask, type Begun, OAuthClient, REDIRECT } from '../support/worlds/oauth/oauth-client.ts';
import { codeOf, type Deciding } from '../support/worlds/oauth/person-deciding.ts';
import { type KeptClient, SdkMemory } from '../support/worlds/oauth/sdk-memory.ts';
import { signInOwner } from '../support/worlds/sign-in.ts';

interface Caller {
  tool(name: string, args: object): Promise<unknown>;
  close(): Promise<void>;
}

/** The answer of a tool. */
interface Told<Content> {
  readonly structuredContent: Content;
}

interface Sdk {
  readonly name: string;
  /** Throws where the person must decide first. */
  connect(url: string, memory: SdkMemory): Promise<Caller>;
  /** With what the browser brought back. */
  finish(url: string, memory: SdkMemory, answer: URL): Promise<void>;
  readonly unauthorized: new () => Error;
}

const SDKS: readonly Sdk[] = [
  {
    name: 'SDK 1',
    connect: async (url, memory) => {
      const client = new ClientV1({ name: 'official', version: '1' });
      await client.connect(new TransportV1(new URL(url), { authProvider: memory }));
      return {
        tool: (name, args) => client.callTool({ name, arguments: { ...args } }),
        close: () => client.close(),
      };
    },
    finish: (url, memory, answer) =>
      new TransportV1(new URL(url), { authProvider: memory }).finishAuth(
        answer.searchParams.get('code') ?? '',
      ),
    unauthorized: UnauthorizedErrorV1,
  },
  {
    name: 'SDK 2',
    connect: async (url, memory) => {
      const client = new Client({ name: 'official', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: memory }));
      return {
        tool: (name, args) => client.callTool({ name, arguments: { ...args } }),
        close: () => client.close(),
      };
    },
    finish: (url, memory, answer) =>
      new StreamableHTTPClientTransport(new URL(url), { authProvider: memory }).finishAuth(
        answer.searchParams,
      ),
    unauthorized: UnauthorizedError,
  },
];

describe('an application on an official SDK', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let documents: DocumentHost;
  let owner: Deciding;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    await appendMessages(dovecot.imap(), 'anna', [
      { raw: plainMessage({ subject: 'For the application', id: '<for-application@example.org>' }) },
    ]);
    documents = await DocumentHost.open();
    const env = { OAUTH_DCR: 'on', EGRESS_ALLOW_OAUTH: '127.0.0.0/8:*' };
    ({ gateway } = await startWithMailbox(dovecot, { env }));
    owner = { ...(await signInOwner(gateway)), orgId: gateway.tokens.orgId };
  });
  after(async () => {
    await gateway.stop();
    await documents[Symbol.asyncDispose]();
    await dovecot.dispose();
  });

  const url = () => `${gateway.baseUrl}/mcp`;

  const registered = async (confidential: boolean): Promise<KeptClient> => {
    const sent = { name: 'Own tool', redirect_uris: [REDIRECT], confidential };
    const { status, body } = await gateway.rest('POST', '/org/oauth-clients', sent, { token: owner.bearer });
    expect(status, JSON.stringify(body)).to.equal(201);
    return {
      client_id: body.client_id as string,
      ...(confidential && { client_secret: body.client_secret as string }),
    };
  };

  const kinds: Readonly<Record<string, () => Promise<SdkMemory>>> = {
    'that registers itself': () => Promise.resolve(new SdkMemory()),
    'that publishes its metadata': () =>
      Promise.resolve(new SdkMemory({ metadataUrl: documents.publish('/client.json') })),
    'that the organisation registered': async () => new SdkMemory({ client: await registered(false) }),
    'with a secret': async () => new SdkMemory({ client: await registered(true) }),
  };

  /** The browser follows the SDK's address, and the person allows it. */
  const allowed = async (memory: SdkMemory): Promise<URL> => {
    const { location, headers, text } = await ask(memory.sentTo?.href ?? '');
    const [, uid] = /#\/connect\/([\w-]+)$/.exec(location ?? '') ?? [];
    if (uid === undefined) throw new Error(`no redirect to the console: ${text}`);
    const [cookie = ''] = headers.getSetCookie().map((each) => each.split(';', 1)[0] ?? '');
    const begun: Begun = { uid, cookie };
    return (await codeOf(new OAuthClient(gateway.baseUrl), owner, begun)).answer;
  };

  const connected = async (sdk: Sdk, memory: SdkMemory): Promise<Caller> => {
    const error = await rejection(sdk.connect(url(), memory));
    expect(error, String(error)).to.be.instanceOf(sdk.unauthorized);
    await sdk.finish(url(), memory, await allowed(memory));
    return await sdk.connect(url(), memory);
  };

  const subjects = async (caller: Caller): Promise<string[]> => {
    const identity = (await caller.tool('get_identity', {})) as Told<{ mailboxes: { id: string }[] }>;
    const select = { mailbox_id: identity.structuredContent.mailboxes[0]?.id, folder: 'inbox' };
    const found = (await caller.tool('email_query', { select })) as Told<{ items: { subject: string }[] }>;
    return found.structuredContent.items.map(({ subject }) => subject);
  };

  for (const sdk of SDKS)
    for (const [kind, prepare] of Object.entries(kinds))
      it(`reads mail: ${sdk.name}, a client ${kind}, and goes on when its access token is over ${verifies('contract:18:oauth-discovery')}`, async () => {
        const memory = await prepare();
        const caller = await connected(sdk, memory);
        expect(await subjects(caller)).to.deep.equal(['For the application']);
        await caller.close();
        const first = memory.kept;
        memory.spoilAccessToken();
        memory.sentTo = null;
        const again = await sdk.connect(url(), memory);
        expect(await subjects(again)).to.deep.equal(['For the application']);
        await again.close();
        // It refreshed by itself: nobody was asked, and both tokens are new.
        expect(memory.sentTo).to.equal(null);
        expect(memory.saves).to.equal(2);
        expect(memory.kept?.refresh_token).to.be.a('string').and.not.equal(first?.refresh_token);
      });

  it('refuses an answer of another authorization server', async () => {
    const [, sdk] = SDKS;
    if (!sdk) throw new Error('there is no SDK 2');
    const memory = new SdkMemory();
    await rejection(sdk.connect(url(), memory));
    const answer = await allowed(memory);
    answer.searchParams.set('iss', 'https://elsewhere.example');
    const error = await rejection(sdk.finish(url(), memory, answer));
    expect(error.name).to.equal('IssuerMismatchError');
    expect(memory.kept).to.equal(undefined);
  });
});
