/** The count in the title and the notifications of the browser, of approvals that wait for the person. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import {
  type BrowserPerson,
  readUntil,
  requireBrowser,
  type TestBrowser,
} from '../support/servers/browser.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { PERSON_PASSWORD, signInOwner, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

/** Runs before the page: records what it shows as notifications, with the way to press one. */
const RECORD = `
  window.shown = [];
  window.Notification = class extends Notification {
    constructor(title, options) {
      super(title, options);
      window.shown.push({ title, ...options, press: () => this.dispatchEvent(new Event('click')) });
    }
  };`;

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
}

describe('notices of approvals in the console', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let person: BrowserPerson;
  let owner: SignedInPerson;
  let mailboxId: string;
  let agentToken: string;
  let messageIds: string[];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    const mails = ['one secret subject', 'two', 'three', 'four'];
    await appendMessages(
      dovecot.imap(),
      'anna',
      mails.map((subject) => ({ raw: plainMessage({ subject }) })),
    );
    gateway = await startTestGateway();
    mailboxId = await gateway.addMailbox(dovecot.imap(), 'anna');
    owner = await signInOwner(gateway);
    const token = await gateway.rest('POST', '/tokens', {
      name: 'agent over REST',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      preset: 'operator',
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    agentToken = token.body.token;
    const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`);
    messageIds = body.items.map(({ id }: { id: string }) => id);
    person = await browser.newPerson(gateway.baseUrl);
    await person.context.addInitScript(RECORD);
    await person.context.grantPermissions(['notifications'], { origin: gateway.baseUrl });
    await signIn(person.page);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
    await dovecot.dispose();
  });

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${gateway.baseUrl}/console`);
    await page.getByLabel('E-mail').fill(owner.email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.goto(`${gateway.baseUrl}/console#/approvals`);
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  }

  /** The agent asks to delete the next message permanently; resolves with the id of the approval. */
  async function ask(): Promise<string> {
    const { status, body } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/wants_to_expunge`,
      { message_ids: messageIds.splice(0, 1), reason: 'Older than two years.' },
      { token: agentToken, key: randomUUID() },
    );
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.approval.id as string;
  }

  const title = async (wanted: string): Promise<void> => {
    const { page } = person;
    await readUntil(page, async () => (await page.title()) === wanted);
    expect(await page.title()).to.equal(wanted);
  };
  const shownIn = (page: Page): Promise<readonly Shown[]> =>
    page.evaluate<readonly Shown[]>('window.shown.map(({ title, body, tag }) => ({ title, body, tag }))');

  it(`counts what waits for the person in the title of every page ${verifies('contract:18:console-notices')}`, async () => {
    await title('Approvals – Mailbox Gateway');
    const id = await ask();
    await title('(1) Approvals – Mailbox Gateway');
    expect(await shownIn(person.page), 'they are off until the person turns them on').to.deep.equal([]);
    await person.page.goto(`${gateway.baseUrl}/console#/account`);
    await title('(1) Account – Mailbox Gateway');
    const { status } = await owner.rest(
      'POST',
      `/approvals/${id}/cancel_approval`,
      {},
      { key: randomUUID() },
    );
    expect(status).to.equal(200);
    await title('Account – Mailbox Gateway');
  });

  it(`notifies once turned on, with the action and who asks, and leads to the approval ${verifies('contract:18:console-notices')}`, async () => {
    const { page } = person;
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await page.getByText('On in this browser, while the console is open.').waitFor();
    const id = await ask();
    await title('(1) Account – Mailbox Gateway');
    expect(await shownIn(page)).to.deep.equal([
      { title: 'An approval waits for you', body: 'Agent asks to delete messages permanently.', tag: id },
    ]);
    await page.evaluate('window.shown[0].press()');
    await page.waitForURL(`**/console#/approvals/${id}`);
    await page.getByRole('heading', { level: 1, name: /Delete/ }).waitFor();
  });

  it(`is told in a tab in the background too, under one tag in all tabs ${verifies('contract:18:console-notices')}`, async () => {
    const { page, context } = person;
    const other = await context.newPage();
    await signIn(other);
    await other.bringToFront();
    const id = await ask();
    await title('(2) Delete 1 message permanently from “INBOX” – Mailbox Gateway');
    await readUntil(other, async () => (await shownIn(other)).length > 0);
    const [here, there] = [await shownIn(page), await shownIn(other)];
    expect(here.at(-1)?.tag).to.equal(id);
    expect(there.map(({ tag }) => tag)).to.deep.equal([id]);
    await other.goto(`${gateway.baseUrl}/console#/account`);
    await other.getByRole('button', { name: 'Turn off notifications' }).click();
    const before = (await shownIn(page)).length;
    await ask();
    await title('(3) Delete 1 message permanently from “INBOX” – Mailbox Gateway');
    expect(await shownIn(page)).to.have.length(before);
    await other.close();
  });

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
