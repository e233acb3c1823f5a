/** Webhooks in a real browser, before a real gateway and an endpoint on loopback. */
import { expect } from 'chai';
import {
  type BrowserPerson,
  readUntil,
  requireBrowser,
  shownSoon,
  type TestBrowser,
} from '../support/servers/browser.ts';
import { httpSink, type Received, type Sink } from '../support/servers/webhook-sinks.ts';
import { lowContrasts, namelessControls, outline } from '../support/servers/page-checks.ts';
import { systemClock } from '../../infra/platform/system-clock.ts';
import { eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import {
  PERSON_PASSWORD,
  signInNew,
  signInOwner,
  signInWith,
  type SignedInPerson,
} from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const HOSTILE = '<script>document.title="stolen"</script><img src=x onerror="document.title=1">\u202Egpj.exe';

describe('webhooks in the console', function () {
  this.timeout(120_000);
  let aheadMs = 0;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let person: BrowserPerson;
  let sink: Sink;
  let owner: SignedInPerson;
  let id = '';
  let answer = { status: 200, body: HOSTILE };
  const received: Received[] = [];

  before(async function () {
    browser = await requireBrowser(this);
    sink = await httpSink((request, response) => {
      received.push(request);
      response.writeHead(answer.status).end(answer.body);
    });
    const clock = {
      ...systemClock,
      now: () => new Date(Date.now() + aheadMs),
      elapsedMs: () => systemClock.elapsedMs() + aheadMs,
    };
    gateway = await startTestGateway({ clock, env: { EGRESS_ALLOW_WEBHOOKS: '127.0.0.0/8:*' } });
    owner = await signInOwner(gateway);
    person = await browser.newPerson(gateway.baseUrl);
    await signIn(person, owner.email);
  });
  after(async () => {
    await browser.close();
    await gateway.stop();
    await sink[Symbol.asyncDispose]();
  });

  async function signIn({ page }: BrowserPerson, email: string): Promise<void> {
    await page.goto(`${gateway.baseUrl}/console#/approvals`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  }

  const open = async (path: string): Promise<void> => {
    await person.page.goto(`${gateway.baseUrl}/console${path}`);
  };
  const heading = (name: string | RegExp, level = 1): Promise<void> =>
    person.page.getByRole('heading', { name, level }).waitFor();
  const press = (name: string): Promise<void> =>
    person.page.getByRole('button', { name, exact: true }).click();
  /** The endpoint of these tests, which its page's address names. */
  const endpoint = async () => {
    id = /whk_\w+/.exec(person.page.url())?.[0] ?? id;
    return (await owner.rest('GET', `/webhook-endpoints/${id}`)).body;
  };

  it(`shows each person the pages of their role ${verifies('contract:18:console-pages')}`, async () => {
    const pages = (one: BrowserPerson) =>
      one.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts();
    const all = [
      'Getting started',
      'Approvals',
      'Mailboxes',
      'Agents',
      'Tokens',
      'Webhooks',
      'People',
      'Applications',
      'Audit trail',
      'Legal holds',
    ];
    expect(await pages(person)).to.deep.equal(all);
    const { email } = await signInNew(gateway, 'member');
    const member = await browser.newPerson(gateway.baseUrl);
    await signIn(member, email);
    expect(await pages(member)).to.deep.equal(['Approvals', 'Mailboxes', 'Agents', 'Tokens']);
    await member.page.goto(`${gateway.baseUrl}/console#/webhooks`);
    await member.page.getByText('Your role does not include this.').waitFor();
    await member.context.close();
  });

  it(`makes an endpoint and shows its secret once ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await heading('Webhooks');
    await page.getByText('No endpoints yet').waitFor();
    await page.getByRole('link', { name: 'Add endpoint' }).click();
    await heading('Add endpoint');
    await page.getByLabel('Address').fill('http://10.0.0.1/hook');
    await press('Add endpoint');
    await page.getByText('Choose at least one event type.').waitFor();
    await page.getByLabel('Tokens: all').check();
    expect(await page.getByLabel('token.revoked').isChecked()).to.equal(true);
    await press('Add endpoint');
    await page.getByText('Use an https address on the public internet').waitFor();
    await page.getByLabel('Address').fill(sink.url);
    await page.getByLabel('Description').fill(HOSTILE);
    await page.getByLabel('Every mailbox').check();
    await press('Add endpoint');
    await heading('Endpoint added');
    const secret = await page.getByRole('textbox', { name: 'Signing secret' }).inputValue();
    expect(secret).to.match(/^whsec_/);
    await press('Copy Signing secret');
    await page.getByText(/^(Copied|Selected)/).waitFor();
    await page.getByRole('link', { name: 'Open the endpoint' }).click();
    await heading(sink.url);
    expect(await page.content()).not.to.contain(secret);
    expect(await endpoint()).to.deep.include({
      url: sink.url,
      description: HOSTILE,
      event_types: ['token.issued', 'token.revoked'],
      mailbox_ids: ['*'],
      payload: 'thin',
    });
  });

  it(`sends a test, shows request and answer, and lists it ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    await press('Send test');
    await heading('Test', 2);
    const [request] = received;
    const shown = page.locator('.exchange');
    await shown.getByText(`webhook-id: ${String(request?.headers['webhook-id'])}`).waitFor();
    await shown.getByText(`webhook-timestamp: ${String(request?.headers['webhook-timestamp'])}`).waitFor();
    const body = await shown.getByRole('group', { name: 'Body', exact: true }).innerText();
    expect(JSON.parse(body)).to.deep.equal(JSON.parse(request?.body ?? ''));
    await shown.getByText('HTTP 200').waitFor();
    await shown.getByText('webhook-signature, which is made for each attempt and not stored').waitFor();
    const row = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
    await shownSoon(row.getByText('Delivered'));
    await page.getByLabel('Status').selectOption({ label: 'Failed' });
    await page.getByText('No delivery fits').waitFor();
    answer = { status: 500, body: 'down' };
    await press('Send test');
    await shownSoon(row.getByText('Failed'));
    await page.locator('.exchange').getByText('The endpoint answered with an error.').waitFor();
    expect(await row.count()).to.equal(1);
    await row.getByRole('link').click();
    await heading('webhook_endpoint.test');
    await shownSoon(page.getByText('HTTP 500'));
    await page.goBack();
    await heading(sink.url);
    expect(await page.getByLabel('Status').inputValue(), 'the filter after the way back').to.equal('failed');
  });

  it(`shows what others wrote as text ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    answer = { status: 200, body: HOSTILE };
    await press('Send test');
    await page.locator('.exchange').getByText('HTTP 200').waitFor();
    const isText = async (): Promise<void> => {
      const text = await page.locator('main').innerText();
      expect(text)
        .to.contain('<script>document.title')
        .and.to.contain('U+202E')
        .and.not.to.match(/[\u202A-\u202E]/);
      expect(await page.locator('main img, main script').count()).to.equal(0);
      expect(await page.title()).to.contain('Mailbox Gateway');
    };
    await isText();
    await open('#/webhooks');
    await heading('Webhooks');
    await isText();
  });

  it(`changes, pauses, resumes and rotates, and asks for the password where it must ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    await page.getByRole('link', { name: sink.url }).click();
    await heading(sink.url);
    aheadMs += 16 * 60_000;
    await press('Pause');
    await heading('Confirm it is you', 2);
    await page.getByLabel('Password').fill(PERSON_PASSWORD);
    await page.keyboard.press('Enter');
    await shownSoon(page.locator('.webhook-head').getByText('Paused'));
    await press('Resume');
    await shownSoon(page.locator('.webhook-head').getByText('Active'));
    await page.getByRole('link', { name: 'Change', exact: true }).click();
    await heading('Change endpoint');
    expect(await page.getByLabel('Description').inputValue()).to.equal(HOSTILE);
    await page.getByLabel('Description').fill('');
    await page.getByLabel('With a summary of the message').check();
    await press('Save changes');
    await heading(sink.url);
    const changed = await endpoint();
    expect(changed).to.include({ description: null, payload: 'summary' });
    await press('Rotate secret…');
    await page.getByLabel('End the old secret').selectOption({ label: 'In 7 days' });
    await press('Rotate secret');
    await heading('New signing secret', 2);
    const secret = await page.getByRole('textbox', { name: 'Signing secret' }).inputValue();
    const rotated = await endpoint();
    expect(secret.endsWith(rotated.secret_hint), 'the hint').to.equal(true);
    const left = Date.parse(rotated.previous_secret_expires_at) - Date.now() - aheadMs;
    expect(left).to.be.within(6.9 * 86_400_000, 7 * 86_400_000);
    await press('Send test');
    await heading('Test', 2);
    expect(String(received.at(-1)?.headers['webhook-signature']).split(' ')).to.have.length(2);
    expect(await page.getByRole('textbox', { name: 'Signing secret' }).inputValue(), 'it stays').to.equal(
      secret,
    );
  });

  it(`says when someone else changed the endpoint meanwhile ${verifies('contract:18:console-errors')}`, async () => {
    const { page } = person;
    await page.getByRole('link', { name: 'Change', exact: true }).click();
    await heading('Change endpoint');
    const beside = await signInWith(gateway.baseUrl, owner.email);
    const { status } = await beside.rest('PATCH', `/webhook-endpoints/${id}`, {
      description: 'by someone else',
    });
    expect(status).to.equal(200);
    await page.getByLabel('Description').fill('mine');
    await press('Save changes');
    await page.getByText('Someone changed it meanwhile.').waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('by someone else').waitFor();
  });

  /** An event that the endpoint is told of; resolves with the id of the token. */
  async function issueToken(): Promise<string> {
    const { status, body } = await gateway.rest('POST', '/tokens', {
      name: 'told to webhooks',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      preset: 'reader',
      expires_at: new Date(Date.now() + aheadMs + 86_400_000).toISOString(),
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  }

  it(`lists what is queued while the endpoint is paused, and what is told ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    await press('Pause');
    await shownSoon(page.locator('.webhook-head').getByText('Paused'));
    const tokenId = await issueToken();
    const row = page.getByRole('list', { name: 'Deliveries' }).getByRole('listitem');
    await page.getByLabel('Event type').selectOption('token.issued');
    await row.getByText('Queued').waitFor();
    await row.getByRole('link', { name: 'token.issued' }).click();
    await heading('To be sent', 2);
    const body = JSON.parse(await page.getByRole('group', { name: 'Body', exact: true }).innerText());
    expect(body).to.deep.include({ type: 'token.issued', sequence: 1 });
    expect(body.data.token_id).to.equal(tokenId);
    expect(await page.getByRole('button', { name: 'Replay' }).count(), 'it has not ended').to.equal(0);
    await page.getByRole('link', { name: '← Endpoint' }).click();
    await heading(sink.url);
    await press('Resume');
    await shownSoon(page.locator('.webhook-head').getByText('Active'));
  });

  const toldOfTokens = () => received.filter(({ body }) => body.includes('"token.issued"'));

  it(`replays one delivery, and all since a time, under the same id ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    const rows = page.getByRole('listitem').filter({ hasText: 'token.issued' });
    await shownSoon(rows.getByText('Delivered'));
    await rows.getByRole('link').click();
    await heading('token.issued');
    await press('Replay');
    await page.getByText('the first delivery').waitFor();
    await shownSoon(page.getByText('HTTP 200'));
    await page.getByRole('link', { name: '← Endpoint' }).click();
    await heading(sink.url);
    await press('Replay…');
    await heading('Replay deliveries?', 2);
    await page.getByLabel('Events since (UTC)').fill('2020-01-01T00:00');
    await press('Replay');
    expect(
      await page.evaluate('document.querySelector("[name=since]").validity.rangeUnderflow'),
      'longer ago than payloads are kept',
    ).to.equal(true);
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 16);
    await page.getByLabel('Events since (UTC)').fill(anHourAgo);
    await press('Replay');
    await page.getByText('There was nothing to replay.').waitFor();
    await press('Replay…');
    await page.getByLabel('Which').selectOption({ label: 'All, also those that were delivered' });
    await press('Replay');
    await page.getByText('1 event queued again.').waitFor();
    await eventually(async () => {
      expect(toldOfTokens()).to.have.length(3);
    });
    expect(new Set(toldOfTokens().map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
    await readUntil(page, async () => (await rows.getByText('Delivered').count()) === 3);
    expect(await rows.getByText('Delivered').count()).to.equal(3);
  });

  it(`shows failures, the next try, and why an endpoint was disabled ${verifies('contract:18:console-webhooks')}`, async () => {
    const { page } = person;
    const rows = page.getByRole('listitem').filter({ hasText: 'token.issued' });
    answer = { status: 500, body: 'down' };
    await issueToken();
    await shownSoon(page.locator('.webhook-head').getByText('Failing'));
    await rows.filter({ hasText: 'Failed' }).getByRole('link').first().click();
    await page.getByText('The endpoint answered with an error.').waitFor();
    answer = { status: 410, body: 'gone' };
    await shownSoon(page.getByRole('link', { name: 'Attempt 2' }));
    await page.getByRole('link', { name: 'Attempt 2' }).click();
    await page.getByText('Tried again after a failure').waitFor();
    await shownSoon(page.getByText('HTTP 410'));
    await page.getByRole('link', { name: '← Endpoint' }).click();
    await shownSoon(page.getByText('It answered 410 Gone.'));
    expect(await page.getByRole('button', { name: 'Send test' }).count()).to.equal(0);
    answer = { status: 200, body: HOSTILE };
    await press('Enable');
    await shownSoon(page.locator('.webhook-head').getByText('Active'));
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be read by eye and by ear, on a telephone, in ${colorScheme}`, async () => {
      const { page } = person;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const check = async (headings: readonly string[]): Promise<void> => {
        const landmarks = ['banner', 'navigation', 'main', ...headings];
        expect((await outline(page)).filter((each) => each !== 'complementary')).to.deep.equal(landmarks);
        expect(await namelessControls(page)).to.deep.equal([]);
        expect(await lowContrasts(page)).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(360);
        expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1');
      };
      await open('#/webhooks');
      await heading('Webhooks');
      await check(['heading: Webhooks']);
      await open('#/webhooks/new');
      await heading('Add endpoint');
      await check(['heading: Add endpoint']);
      await open(`#/webhooks/${id}`);
      await heading(sink.url);
      await check([`heading: ${sink.url}`, 'heading: Deliveries', 'heading: Health', 'heading: Settings']);
      await page.getByRole('link', { name: 'webhook_endpoint.test' }).first().click();
      await heading('webhook_endpoint.test');
      await check([
        'heading: webhook_endpoint.test', 'heading: Answer', 'heading: Start of the body',
        'heading: Request', 'heading: Headers', 'heading: Body',
      ]); // prettier-ignore
    });
  }

  it(`deletes an endpoint after asking, by keyboard alone ${verifies('contract:18:console-keyboard')}`, async () => {
    const { page } = person;
    await open(`#/webhooks/${id}`);
    await heading(sink.url);
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 30; presses += 1) {
        await page.keyboard.press('Tab');
        if ((await page.evaluate('document.activeElement.textContent')) === name) return;
      }
      throw new Error(`Tab never reached ${name}`);
    };
    await tabTo('Delete…');
    await page.keyboard.press('Enter');
    await heading('Delete this endpoint?', 2);
    await page.keyboard.press('Escape');
    expect(await endpoint()).to.include({ url: sink.url });
    await page.keyboard.press('Enter');
    await heading('Delete this endpoint?', 2);
    await tabTo('Delete endpoint');
    await page.keyboard.press('Enter');
    await page.getByText('No endpoints yet').waitFor();
    expect((await endpoint()).error.code).to.equal('not_found');
    await open(`#/webhooks/${id}`);
    await page.getByText('The link may be wrong, or it was deleted.').waitFor();
    await page.getByRole('link', { name: 'All webhooks' }).click();
    await heading('Webhooks');
  });

  it(`loaded nothing from elsewhere and broke no policy ${verifies('contract:18:console-policy')}`, () => {
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });
});
