/** The approver's page in a real browser, before a real gateway: what a person sees, does and is kept from. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { addPerson, passwordLink } from '../../commands/organisation/add-person.ts';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { type BrowserPerson, requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { lowContrasts, namelessControls, outline } from '../support/servers/page-checks.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';

import { PERSON_PASSWORD, signInOwner, signInWith, type SignedInPerson } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const APPROVER = 'approver@example.com';
const HOSTILE = 'Invoice \u202Egpj.exe\u202C <img src=x onerror="document.title=1"><b>now</b>';

describe('the console', function () {
  this.timeout(120_000);
  let aheadMs = 0;
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let mailboxId: string;
  let agentToken: string;
  let messageIds: string[];
  let person: BrowserPerson;
  let beside: SignedInPerson | undefined;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    browser = await requireBrowser(this);
    const mails = [HOSTILE, 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
    const raw = mails.map((subject) => ({ raw: plainMessage({ subject }) }));
    await appendMessages(dovecot.imap(), 'anna', raw);
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() + aheadMs),
      elapsedMs: () => systemClock.elapsedMs() + aheadMs,
    };
    gateway = await startTestGateway({ clock, env: { LIMIT_SIGN_INS_PER_MINUTE: '1000' } });
    mailboxId = await gateway.addMailbox(dovecot.imap(), 'anna');
    agentToken = await tokenOfAgent();
    const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`);
    messageIds = body.items.map(({ id }: { id: string }) => id);
    person = await browser.newPerson(gateway.baseUrl);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
    await dovecot.dispose();
  });

  async function tokenOfAgent(): Promise<string> {
    const { status, body } = await gateway.rest('POST', '/tokens', {
      name: 'agent over REST',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      preset: 'operator',
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.token as string;
  }

  /** The agent asks to delete the next message permanently; resolves with the id of the approval. */
  async function ask(fields: object = {}): Promise<string> {
    const { status, body } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/wants_to_expunge`,
      { message_ids: messageIds.splice(0, 1), reason: 'Older than two years.', ...fields },
      { token: agentToken, key: randomUUID() },
    );
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status).to.equal('awaiting_approval');
    return body.approval.id as string;
  }

  const open = async (path: string): Promise<void> => {
    await person.page.goto(`${gateway.baseUrl}/console${path}`);
  };
  const heading = (name: string | RegExp, level = 1): Promise<void> =>
    person.page.getByRole('heading', { name, level }).waitFor();
  const badge = (label: string): Promise<void> =>
    person.page.locator('.approval-head').getByText(label, { exact: true }).waitFor();
  /** As the approver sees it, in another session. */
  const approvalOf = async (id: string) => {
    beside ??= await signInWith(gateway.baseUrl, APPROVER);
    return (await beside.rest('GET', `/approvals/${id}`)).body;
  };

  it(`lets a person set a password by link and sign in at the page they wanted ${verifies('contract:18:console-walk')}`, async () => {
    const { page } = person;
    const { orgId } = gateway.tokens;
    const { ports } = gateway.gateway;
    const who = { orgId, email: APPROVER, name: 'Paula Approver', role: 'approver' as const };
    const link = await passwordLink(ports, await addPerson(ports, systemAuthor(ports, orgId), who));
    await page.goto(link);
    await heading('Choose a password');
    expect(page.url()).to.equal(`${gateway.baseUrl}/console#/`);
    await page.getByLabel('New password').fill(PERSON_PASSWORD);
    await page.getByLabel('The same again').fill(`${PERSON_PASSWORD}x`);
    await page.getByRole('button', { name: 'Show new password' }).click();
    expect(await page.getByLabel('New password').getAttribute('type')).to.equal('text');
    await page.getByRole('button', { name: 'Set the password' }).click();
    expect(await page.evaluate('document.querySelector("[name=password_again]").validationMessage')).to.equal(
      'The two passwords are not the same.',
    );
    await page.getByLabel('The same again').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await heading('Sign in');
    await page.getByText('Password set.').waitFor();
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText('Your administrator can make you a new link.').waitFor();
    expect(await page.getByText('Check the address').count()).to.equal(0);
    await page.goto('about:blank');

    const id = await ask();
    await open(`#/approvals/${id}`);
    await heading('Sign in');
    await page.getByLabel('E-mail').fill(APPROVER);
    await page.getByLabel('Password').fill('not the right password');
    await page.keyboard.press('Enter');
    await page.getByText('Check the address and the password').waitFor();
    expect(await page.evaluate('document.activeElement.name')).to.equal('password');
    await page.keyboard.type(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await heading('Delete 1 message permanently');
    expect(await page.locator('.approval-meta').innerText()).to.contain(
      'requested by Agent on behalf of Olga Owner',
    );
    expect(await page.title()).to.match(
      /^(\(1\) )?Delete 1 message permanently from “INBOX” – Mailbox Gateway$/,
    );
    expect(await page.evaluate('document.cookie')).to.equal('');
    expect(await page.evaluate('localStorage.length')).to.equal(0);
  });

  it('shows the preview and rejects with a reason by keyboard alone', async () => {
    const { page } = person;
    const id = await ask();
    await open(`#/approvals/${id}`);
    await heading('Delete 1 message permanently');
    const frame = page.frameLocator('iframe');
    await frame.getByText(id).waitFor();
    expect(await page.locator('iframe').getAttribute('sandbox')).to.equal('');
    await tabTo('Reject…');
    await page.keyboard.press('Enter');
    await heading('Reject this?', 2);
    await page.keyboard.press('Control+Enter');
    expect((await approvalOf(id)).status, 'without a reason').to.equal('awaiting_approval');
    await page.keyboard.type('Still needed.');
    await tabTo('Reject');
    await page.keyboard.press('Enter');
    await badge('Rejected');
    expect(await page.evaluate('document.activeElement.tagName')).to.equal('H2');
    await page.getByText('Voted to reject').waitFor();
    const approval = await approvalOf(id);
    expect(approval.votes[0]).to.include({ decision: 'reject', reason: 'Still needed.' });
    expect(approval.votes[0].content_hash).to.equal(approval.content_hash);
  });

  it(`is the surface of the calls that people make in it, and of no other call ${verifies('contract:12:console-surface')}`, async () => {
    const surfacesOf = async (type: string): Promise<unknown[]> => {
      const { body } = await gateway.rest('GET', `/audit?type=${type}`);
      return [...new Set(body.items.map(({ surface }: { surface: unknown }) => surface))];
    };
    await eventually(async () => {
      expect(await surfacesOf('ApprovalRejected')).to.deep.equal(['console']);
    });
    expect(await surfacesOf('SessionStarted'), 'the sign-in').to.include('console');
    expect(await surfacesOf('ApprovalRequested'), 'of an agent').to.deep.equal(['rest']);
  });

  async function approveDeletion(): Promise<void> {
    const { page } = person;
    await page.getByRole('button', { name: 'Approve…' }).click();
    await page.getByLabel('I have looked at the serious warning').check();
    await page.getByRole('button', { name: 'Delete 1 message permanently' }).click();
  }

  /** Presses Tab until the control with this name has the focus. */
  async function tabTo(name: string): Promise<void> {
    const { page } = person;
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.textContent')) === name) return;
    }
    throw new Error(`Tab never reached ${name}`);
  }

  it(`approves the shown content and shows the outcome without another request by the person ${verifies('contract:18:console-walk')}`, async () => {
    const { page } = person;
    const id = await ask();
    await open(`#/approvals/${id}`);
    await page.getByRole('button', { name: 'Approve…' }).click();
    const { content_hash: hash } = await approvalOf(id);
    const dialog = page.getByRole('dialog');
    await dialog.getByText(hash).waitFor();
    await dialog.getByText('After your approval Agent has one hour to run exactly this').waitFor();
    await dialog.getByText('Serious: 1 message deleted permanently').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Delete 1 message permanently' });
    await confirm.click();
    expect((await approvalOf(id)).status, 'without a second look').to.equal('awaiting_approval');
    await dialog.getByLabel('I have looked at the serious warning').check();
    await confirm.click();
    await badge('Approved, not run yet');
    await page
      .locator('.approval-decision')
      .getByText(/^Agent to run it · 59 min/)
      .waitFor();
    const run = await gateway.rest(
      'POST',
      `/approvals/${id}/approval_commit`,
      {},
      { token: agentToken, key: randomUUID() },
    );
    expect(run.status, JSON.stringify(run.body)).to.equal(200);
    await badge('Done');
    await page.getByText('1 done').waitFor();
    expect(await page.locator('#news').innerText()).to.equal('Done');
  });

  it('shows the outcome as it arrives when policy commits at once', async () => {
    const { page } = person;
    const owner = await signInOwner(gateway);
    const policy = await owner.rest('GET', '/org/policy');
    const rules = [{ id: 'trash', when: { actions: ['trash'] }, then: { decision: 'require' } }];
    const etag = policy.headers.get('etag') ?? '';
    const set = await owner.rest(
      'PUT',
      '/org/policy',
      { rules, default: null },
      { headers: { 'if-match': etag } },
    );
    expect(set.status, JSON.stringify(set.body)).to.equal(200);
    const { body } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      {
        operation: {
          type: 'message_actions',
          select: { message_ids: messageIds.splice(0, 1) },
          actions: [{ type: 'trash' }],
        },
      },
      { token: agentToken, key: randomUUID() },
    );
    await open(`#/approvals/${String(body.approval.id)}`);
    await heading('Move 1 message from “INBOX” to the trash');
    await page.getByRole('button', { name: 'Approve…' }).click();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await badge('Done');
    await page.getByText('Done exactly as approved').waitFor();
  });

  it('asks for the password again when a call requires it, and then makes the call', async () => {
    const { page } = person;
    const id = await ask();
    aheadMs += 16 * 60_000;
    await open(`#/approvals/${id}`);
    await approveDeletion();
    await heading('Confirm it is you', 2);
    await page.getByLabel('Password').fill('not the right password');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Type it again.').waitFor();
    expect(await page.evaluate('document.activeElement.name')).to.equal('password');
    expect(await page.evaluate('getSelection().toString().length')).to.be.greaterThan(0);
    expect((await approvalOf(id)).status).to.equal('awaiting_approval');
    await page.keyboard.type(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await badge('Approved, not run yet');
  });

  it('shows and announces new approvals as they arrive', async () => {
    const { page } = person;
    await open('#/approvals');
    await heading('Approvals');
    const rows = page.getByRole('list', { name: 'Approvals' }).getByRole('listitem');
    const before = await rows.count();
    await ask();
    await page.locator('#news').getByText('1 new in the list').waitFor();
    expect(await rows.count()).to.equal(before + 1);
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await page.getByLabel('State').selectOption({ label: 'Expired' });
    await page.getByText('No approval is in the state “Expired”').waitFor();
    await page.getByRole('link', { name: 'Show every state' }).click();
    await rows.first().waitFor();
  });

  it('never changes the page when a subject is hostile', async () => {
    const { page } = person;
    // The oldest: the page of messages is newest first.
    const id = await ask({ message_ids: messageIds.slice(-1) });
    await open(`#/approvals/${id}`);
    await page.frameLocator('iframe').getByText('gpj.exe').waitFor();
    expect(await page.title()).to.contain('Delete 1 message');
    await page.getByRole('tab', { name: 'Plain text' }).click();
    const text = await page.getByRole('tabpanel').innerText();
    expect(text)
      .to.contain('<img src=x')
      .and.not.to.match(/[\u202A-\u202E]/);
  });

  it('never changes the page when a draft is hostile', async () => {
    const { page } = person;
    const { body: draft } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/start_draft`,
      {
        to: [{ name: 'The boss\u200B', email: 'mallory@xn--80ak6aa92e.com' }],
        subject: HOSTILE,
        text: 'Hello',
      },
      { token: agentToken, key: randomUUID() },
    );
    const { status, body } = await gateway.rest(
      'POST',
      `/drafts/${String(draft.id)}/wants_to_send_draft`,
      { reason: HOSTILE },
      { token: agentToken, key: randomUUID() },
    );
    expect(status, JSON.stringify(body)).to.equal(200);
    await open(`#/approvals/${String(body.approval.id)}`);
    await heading(/^Send “Invoice/);
    const shown = await page.locator('main').innerText();
    expect(shown)
      .to.contain('U+202E')
      .and.to.contain('<img src=x')
      .and.not.to.match(/[\u202A-\u202E]/);
    expect(await page.title()).to.match(/^(\(\d\) )?Send “Invoice ⟦U\+202E⟧gpj\.exe⟦U\+202C⟧ <img/);
    expect(await page.locator('main img, main b').count()).to.equal(0);
    await open('#/approvals');
    await page.getByRole('link', { name: /Invoice/ }).waitFor();
    expect(await page.locator('main img, main b').count()).to.equal(0);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`is readable by eye and by screen reader on a telephone in ${colorScheme}`, async () => {
      const { page } = person;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme });
      const id = await ask();
      const check = async (landmarks: readonly string[]): Promise<void> => {
        expect(await outline(page)).to.deep.equal(landmarks);
        expect(await namelessControls(page)).to.deep.equal([]);
        expect(await lowContrasts(page)).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
        expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1');
        expect(await page.locator('.who').innerText()).to.match(/Paula Approver\s+First/);
      };
      await open('#/approvals?show=all');
      await heading('Approvals');
      await check(['banner', 'navigation', 'main', 'heading: Approvals', 'navigation']);
      await open(`#/approvals/${id}`);
      await heading(/^Delete/);
      await check([
        'banner', 'navigation', 'main', 'heading: Delete 1 message permanently from “INBOX”', 'heading: 1 warning', 'heading: Why', 'heading: Preview', 'complementary',
        'heading: Decision', 'heading: Trail', 'heading: Evidence',
      ]); // prettier-ignore
    });
  }

  it(`returns to the sign-in when the session ends, and to the same page afterwards ${verifies('contract:18:console-session')}`, async () => {
    const { page } = person;
    await open('#/approvals?show=all');
    await heading('Approvals');
    const bearer = String(await page.evaluate('sessionStorage.getItem("mailbox-gateway.session")'));
    await gateway.rest('POST', '/auth/logout', undefined, { token: bearer });
    await page.getByRole('link', { name: 'Requested by me' }).click();
    await page.getByText('Your session has ended').waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).to.equal(APPROVER);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await heading('Approvals');
    expect(page.url()).to.contain('show=mine');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in');
    expect(await page.evaluate('sessionStorage.length')).to.equal(0);
  });

  it(`loads nothing from other hosts and breaks no content policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
