/** From the bare address of `/mcp` to a mail that is read: the official MCP client, and a person in a real browser who consents. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as v2 from '@modelcontextprotocol/client';
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { expect } from 'chai';
import { type BrowserPerson, requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { rejection } from '../support/suite/rejection.ts';
import { verifies } from '../support/suite/verifies.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { DocumentHost } from '../support/worlds/oauth/document-host.ts';
import { SdkMemory } from '../support/worlds/oauth/sdk-memory.ts';
import { PERSON_PASSWORD, signInOwner } from '../support/worlds/sign-in.ts';

/** A program that the official client is part of; the browser returns to its port. */
class Program implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly state = (): string => 'the-state';
  authorizeUrl = '';
  #information: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = '';

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
  }

  get clientMetadata() {
    return { client_name: 'Desk program', redirect_uris: [this.redirectUrl] };
  }
  clientInformation = () => this.#information;
  saveClientInformation = (information: OAuthClientInformationMixed): void => {
    this.#information = information;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens): void => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (url: URL): void => {
    this.authorizeUrl = url.href;
  };
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  codeVerifier = (): string => this.#verifier;

  /** What a call with the present token is answered. */
  async mcpStatus(baseUrl: string): Promise<number> {
    const headers = { authorization: `Bearer ${this.#tokens?.access_token ?? ''}` };
    return (await fetch(`${baseUrl}/mcp`, { method: 'POST', headers })).status;
  }

  async refresh(baseUrl: string): Promise<unknown> {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: this.#tokens?.refresh_token ?? '',
      client_id: this.#information?.client_id ?? '',
    });
    return await (await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body })).json();
  }
}

interface ToolAnswer {
  readonly isError?: boolean;
  readonly structuredContent: { readonly items?: readonly { readonly subject: string }[] };
}

describe('an application that a person connects', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let person: BrowserPerson;
  let callback: http.Server;
  let program: Program;
  let documents: DocumentHost;
  let annas: string;
  let bobs: string;
  /** Where the browser arrived. */
  const arrived: URL[] = [];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    const raw = plainMessage({ subject: 'For the program', id: '<program@example.org>' });
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    documents = await DocumentHost.open();
    const env = { OAUTH_DCR: 'on', EGRESS_ALLOW_OAUTH: `127.0.0.1/32:${String(documents.port)}` };
    gateway = await startTestGateway({ env });
    annas = await gateway.addMailbox(dovecot.imap(), 'anna');
    bobs = await gateway.addMailbox(dovecot.imap(), 'bob');
    await signInOwner(gateway);
    person = await browser.newPerson(gateway.baseUrl);
    callback = http.createServer((request, response) => {
      const url = new URL(request.url ?? '', program.redirectUrl);
      if (url.pathname === '/callback') arrived.push(url);
      response
        .setHeader('Content-Type', 'text/html')
        .end('<title>program</title><h1>Back in the program</h1>');
    });
    callback.listen(0, '127.0.0.1');
    await once(callback, 'listening');
    program = new Program(`http://127.0.0.1:${String((callback.address() as AddressInfo).port)}/callback`);
  });
  after(async () => {
    await browser.close();
    callback.closeAllConnections();
    callback.close();
    await gateway.stop();
    await documents[Symbol.asyncDispose]();
    await dovecot.dispose();
  });

  const transportOf = () =>
    new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), { authProvider: program });
  const connected = async (): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transportOf());
    return client;
  };
  const query = async (client: Client, mailbox_id: string): Promise<ToolAnswer> =>
    (await client.callTool({
      name: 'email_query',
      arguments: { select: { mailbox_id, folder: 'inbox' } },
    })) as unknown as ToolAnswer;

  async function begins(): Promise<void> {
    let problem: unknown;
    try {
      await connected();
    } catch (error) {
      problem = error;
    }
    expect(problem).to.be.instanceOf(UnauthorizedError);
    await person.page.goto(program.authorizeUrl);
  }
  const back = (): Promise<void> =>
    person.page.getByRole('heading', { name: 'Back in the program' }).waitFor();

  it(`reads mail within what the person allowed, and is refused once it is disconnected ${verifies('contract:18:console-applications', 'contract:18:oauth-consent')}`, async () => {
    const { page } = person;
    await begins();
    await page.getByText('An application asks for access.').waitFor();
    await page.getByLabel('E-mail').fill('owner@example.com');
    await page.getByLabel('Password', { exact: true }).fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Connect “Desk program”?' }).waitFor();
    await page.getByText('any program there can claim to be it').waitFor();
    await page.getByText('It registered itself, and nobody vouches for it.').waitFor();
    for (const group of ['Sort', 'Write drafts', 'Ask for approval'])
      await page.getByRole('checkbox', { name: `${group}: all` }).uncheck();
    await page.getByRole('checkbox', { name: 'anna@example.com' }).check();
    await page.getByRole('button', { name: 'Allow' }).click();
    await back();
    const answer = Object.fromEntries(arrived[0]?.searchParams ?? []);
    expect(answer).to.include({ state: 'the-state', iss: gateway.baseUrl });
    await transportOf().finishAuth(answer['code'] ?? '');

    const client = await connected();
    const { structuredContent: found } = await query(client, annas);
    expect(found.items?.map(({ subject }) => subject)).to.deep.equal(['For the program']);
    expect((await query(client, bobs)).isError, 'the other mailbox').to.equal(true);
    expect(program.tokens()?.scope?.split(' ')).to.include('messages:read').and.not.include('drafts:send');

    expect(await program.mcpStatus(gateway.baseUrl)).not.to.equal(401);
    await page.goto(`${gateway.baseUrl}/console#/account`);
    await page.getByRole('button', { name: 'Disconnect… Desk program' }).click();
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await page.getByRole('button', { name: 'Disconnect… Desk program' }).waitFor({ state: 'detached' });
    await eventually(async () => {
      expect(await program.mcpStatus(gateway.baseUrl)).to.equal(401);
    });
    expect(await program.refresh(gateway.baseUrl)).to.include({ error: 'invalid_grant' });
  });

  it(`shows the host of an application that publishes its metadata, and connects it on version 2 of the SDK ${verifies('contract:18:console-applications')}`, async () => {
    const { page } = person;
    const metadataUrl = documents.publish('/client.json', { client_name: 'Published program' });
    const memory = new SdkMemory({ metadataUrl, redirectUrl: program.redirectUrl });
    const transport = () =>
      new v2.StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), { authProvider: memory });
    const client = new v2.Client({ name: 'published', version: '1' });
    expect(await rejection(client.connect(transport()))).to.be.instanceOf(v2.UnauthorizedError);
    await page.goto(memory.sentTo?.href ?? '');
    await page.getByRole('heading', { name: 'Connect “Published program”?' }).waitFor();
    await page.getByText(`localhost:${String(documents.port)} (verified)`).waitFor();
    expect(await page.getByText('It registered itself').count()).to.equal(0);
    await page.getByRole('checkbox', { name: 'anna@example.com' }).check();
    await page.getByRole('button', { name: 'Allow' }).click();
    await back();
    await transport().finishAuth(arrived.at(-1)?.searchParams ?? new URLSearchParams());
    const connectedClient = new v2.Client({ name: 'published', version: '1' });
    await connectedClient.connect(transport());
    const found = await connectedClient.callTool({
      name: 'email_query',
      arguments: { select: { mailbox_id: annas, folder: 'inbox' } },
    });
    expect(JSON.stringify(found.structuredContent)).to.include('For the program');
    await connectedClient.close();
    expect(memory.client?.client_id).to.equal(metadataUrl);
  });

  it(`tells the application of a refusal, and shows a stranger's request to nobody ${verifies('contract:18:console-applications', 'contract:18:oauth-consent')}`, async () => {
    const { page } = person;
    const again = new URL(program.authorizeUrl);
    await page.goto(again.href);
    await page.getByRole('heading', { name: 'Connect “Desk program”?' }).waitFor();
    const address = page.url();
    const stranger = await browser.newPerson(gateway.baseUrl);
    await stranger.page.goto(address);
    await stranger.page.getByLabel('E-mail').fill('owner@example.com');
    await stranger.page.getByLabel('Password', { exact: true }).fill(PERSON_PASSWORD);
    await stranger.page.keyboard.press('Enter');
    await stranger.page.getByRole('heading', { name: 'Nothing waits here' }).waitFor();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await back();
    expect(arrived.at(-1)?.searchParams.get('error')).to.equal('access_denied');
    expect(arrived.at(-1)?.searchParams.get('state')).to.equal('the-state');
    await page.goto(address);
    await page.getByRole('heading', { name: 'Nothing waits here' }).waitFor();
    expect(person.errors).to.deep.equal([]);
  });
});
