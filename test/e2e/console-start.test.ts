/** From the set-up link to an agent's first archived mail, in a real browser and by keyboard, with a mail server on loopback. */
import dns from 'node:dns';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { newSetUpLink } from '../../commands/organisation/found-organisation.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../infra/process/gateway.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { type BrowserPerson, requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { Keyboard } from '../support/servers/keyboard.ts';
import { dnsServer, type DnsServer } from '../support/servers/dns-server.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { checkNarrow, WIDE } from '../support/servers/narrow-page.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { eventually, type Json } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('getting started in the console', function () {
  this.timeout(180_000);
  let browser: TestBrowser;
  let database: TestDatabase;
  let gateway: Gateway;
  let folder: string;
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let names: DnsServer;
  let person: BrowserPerson;
  let keys: Keyboard;
  let client: Client | undefined;
  const servers = dns.getServers();

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    relay = await MailRelay.start(dovecot);
    names = await dnsServer({
      '_imaps._tcp.example.com': [{ type: 'SRV', priority: 0, weight: 1, port: 993, host: 'imap.example.com' }],
      '_submissions._tcp.example.com': [
        { type: 'SRV', priority: 0, weight: 1, port: 465, host: 'smtp.example.com' },
      ],
    }); // prettier-ignore
    dns.setServers([names.address]);
    await appendMessages(dovecot.imap(), 'anna', [{ raw: plainMessage({ subject: 'The first mail' }) }]);
    database = await testDatabase();
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    const config = loadConfig({
      DATA_DIR: folder,
      DATABASE_URL: database.url,
      PORT: '0',
      EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
    });
    gateway = await startGateway({ config, log: silentLog, strictOutput: true });
    person = await browser.newPerson(gateway.baseUrl, { viewport: WIDE });
    keys = new Keyboard(person.page);
  });
  after(async () => {
    dns.setServers(servers);
    await client?.close();
    await browser.close();
    await gateway[Symbol.asyncDispose]();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
    await relay.stop();
    await names[Symbol.asyncDispose]();
    await dovecot.dispose();
  });

  const heading = (name: string | RegExp, level = 1): Promise<void> =>
    person.page.getByRole('heading', { name, level }).waitFor();
  const open = async (path: string): Promise<void> => {
    await person.page.goto(`${gateway.baseUrl}/console${path}`);
  };
  const check = () => checkNarrow(person.page);

  it(`leads a new owner from the set-up link to the first step ${verifies('contract:18:console-start')}`, async () => {
    await person.page.goto(await newSetUpLink(gateway.ports));
    await keys.fill('Organisation', 'First Ltd');
    await keys.fill('Your name', 'Fanny First');
    await keys.fill('E-mail', 'first@example.com');
    await keys.fill('Password', PERSON_PASSWORD);
    await keys.fill('The same again', PERSON_PASSWORD);
    await person.page.keyboard.press('Enter');
    await heading('Getting started');
    await check();
  });

  it(`finds the servers of an address, and says stage by stage where a test ends ${verifies('contract:18:console-start', 'contract:18:console-mailboxes')}`, async () => {
    const { page } = person;
    await keys.fill('Address of the mailbox', 'anna@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('names these servers.').waitFor();
    expect(await page.getByLabel('IMAP server').inputValue()).to.equal('imap.example.com');
    expect(await page.getByLabel('SMTP port').inputValue()).to.equal('465');
    await check();
    await keys.press('Another address');
    await page.keyboard.press('Enter');
    await page.getByText('names these servers.').waitFor();
    const imap = dovecot.imap();
    for (const [protocol, { host, port }] of [
      ['IMAP', imap],
      ['SMTP', { host: '127.0.0.1', port: relay.port }],
    ] as const) {
      await page.getByLabel(`${protocol} server`).focus();
      await keys.fill(`${protocol} server`, host);
      await keys.fill(`${protocol} port`, String(port));
      await keys.choose(`${protocol} security`, 'None');
    }
    await keys.fill('User name', 'anna');
    await keys.fill('Password of the mailbox', 'not the password');
    await page.keyboard.press('Enter');
    const incoming = page.getByRole('list', { name: 'Incoming mail (IMAP)' });
    await incoming.getByText('It accepts the sign-in: failed').waitFor();
    expect(await incoming.getByRole('listitem').allTextContents()).to.deep.equal([
      'The gateway may connect to this server: done',
      'The server answers: done',
      'It is a mail server: done',
      'It accepts the sign-in: failed',
      'Ready: not tried',
    ]);
    await page.getByText('Check the user name and the password.').first().waitFor();
    await check();
    await keys.press('Correct the settings');
    await heading('Reconnect the mailbox');
    await check();
    await keys.fill('Password of the mailbox', PASSWORD);
    await page.keyboard.press('Enter');
    await heading('Getting started');
    await page.getByRole('list', { name: 'Outgoing mail (SMTP)' }).getByText('Ready: done').waitFor();
    await incoming.getByText('Ready: done').waitFor();
    await check();
    await keys.press('Continue');
  });

  let token = '';

  it(`makes an agent with a grant and a token, which is shown once ${verifies('contract:18:console-start', 'contract:18:console-tokens')}`, async () => {
    const { page } = person;
    await keys.fill('Name of the agent', 'Helper');
    await page.keyboard.press('Enter');
    await heading('Give it a grant', 2);
    await check();
    expect(await page.getByLabel('Read and sort').isChecked()).to.equal(true);
    await keys.press('Give the grant');
    await heading('Issue its token', 2);
    await check();
    await keys.press('Issue the token');
    await heading('Token', 2);
    await check();
    token = await page.getByRole('textbox', { name: 'token', exact: true }).inputValue();
    const settings = await page.getByRole('group', { name: 'MCP settings' }).innerText();
    expect(settings).to.contain(token);
    await keys.press('Copy MCP settings');
    await page.getByText(/^(Copied|Selected)/).waitFor();
    const { mcpServers } = JSON.parse(settings);
    const { url, headers } = mcpServers.mailbox;
    expect(url).to.equal(`${gateway.baseUrl}/mcp`);
    client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  });

  const tool = async (name: string, input: Json): Promise<Json> => {
    const answer = await client?.callTool({ name, arguments: input });
    expect(answer?.isError, JSON.stringify(answer)).not.to.equal(true);
    return answer?.structuredContent;
  };

  it(`shows the agent's first read and first archive as they happen ${verifies('contract:18:console-start')}`, async () => {
    const { page } = person;
    const done = page.getByRole('list', { name: 'What the agent has done' });
    await done.getByText('Its first read of a mail: waiting…').waitFor();
    const { mailboxes } = await tool('get_identity', {});
    const mailbox_id = mailboxes[0].id as string;
    const { items } = await eventually(
      () => tool('email_query', { select: { mailbox_id, folder: 'inbox' }, include_body: 'text' }),
      20_000,
    );
    await done.getByText(/Its first read of a mail, 20\d\d/).waitFor();
    await done.getByText('Its first archived mail: waiting…').waitFor();
    await tool('email_act', {
      mailbox_id,
      idempotency_key: 'first',
      operation: {
        type: 'message_actions',
        select: { message_ids: [items[0].id] },
        actions: [{ type: 'archive' }],
      },
    });
    await done.getByText(/Its first archived mail, 20\d\d/).waitFor();
    await page.getByText('Your agent works.').waitFor();
    await check();
  });

  it(`forgets the token when the page is left, and goes on where it was ${verifies('contract:18:console-start')}`, async () => {
    const { page } = person;
    await page.reload();
    await heading('Getting started');
    await page.getByText('It was shown once.').waitFor();
    expect(await page.content()).not.to.contain(token);
    await open('');
    await heading('Approvals');
    const pages = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await eventually(async () => {
      expect(await pages.allInnerTexts()).not.to.include('Getting started');
    });
  });

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
