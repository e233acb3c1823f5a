/** The console before anybody is there: the first owner comes by a link. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { newSetUpLink } from '../../commands/organisation/found-organisation.ts';
import { loadConfig } from '../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../infra/process/gateway.ts';
import { requireBrowser, type TestBrowser } from '../support/servers/browser.ts';
import { callRest } from '../support/worlds/gateway.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { PERSON_PASSWORD } from '../support/worlds/sign-in.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('the console of a gateway without an owner', function () {
  this.timeout(120_000);
  let browser: TestBrowser;
  let database: TestDatabase;
  let gateway: Gateway;
  let folder: string;

  before(async function () {
    browser = await requireBrowser(this);
    database = await testDatabase();
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    const config = loadConfig({ DATA_DIR: folder, DATABASE_URL: database.url, PORT: '0' });
    gateway = await startGateway({ config, log: silentLog, strictOutput: true });
  });
  after(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it(`creates the first owner by the link and signs out when the page was left alone ${verifies('contract:18:console-walk')}`, async () => {
    const person = await browser.newPerson(gateway.baseUrl);
    const { page } = person;
    await page.clock.install();
    await page.goto(await newSetUpLink(gateway.ports));
    expect(page.url()).to.equal(`${gateway.baseUrl}/console#/`);
    await page.getByLabel('Organisation').fill('First Ltd');
    await page.getByLabel('Your name').fill('Fanny First');
    await page.getByLabel('E-mail').fill('first@example.com');
    for (const password of ['too short', PERSON_PASSWORD]) {
      await page.getByLabel('Password').fill(password);
      await page.getByLabel('The same again').fill(password);
      await page.keyboard.press('Enter');
    }
    await page.getByRole('heading', { name: 'Getting started' }).waitFor();
    await page.getByText('Fanny First').waitFor();
    const bearer = String(await page.evaluate('sessionStorage.getItem("mailbox-gateway.session")'));

    await page.clock.fastForward('31:00');
    await page.getByText('Your session has ended').waitFor();
    const answer = await callRest(gateway.baseUrl, ['GET', '/auth/session'], { token: bearer });
    expect(answer.status).to.equal(401);
    expect(person.errors).to.deep.equal([]);
    expect(person.foreignRequests).to.deep.equal([]);
  });

  it(`names the person of a password link, and shows no form when the link is invalid ${verifies('contract:18:link-names')}`, async () => {
    const { ports } = gateway;
    const [person] = [...ports.directory.state.people.values()];
    const [org] = [...ports.directory.state.organisations.values()];
    if (person === undefined || org === undefined) throw new Error('nobody set the gateway up');
    const token = await ports.links.make('password', person.id, org.id);
    const { page, errors } = await browser.newPerson(gateway.baseUrl);
    await page.goto(`${gateway.baseUrl}/console#reset=${token}`);
    await page.getByText('For Fanny First (first@example.com) at First Ltd.').waitFor();
    await page.getByLabel('New password').fill('another long passphrase');
    await page.getByLabel('The same again').fill('another long passphrase');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('Password set. Sign in with it.').waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).to.equal('first@example.com');
    await page.goto('about:blank');
    await page.goto(`${gateway.baseUrl}/console#reset=${token}`);
    await page.getByText('Your administrator can make you a new link.').waitFor();
    expect(await page.getByLabel('New password').count()).to.equal(0);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(errors.filter((text) => !text.includes('401'))).to.deep.equal([]);
  });
});
