/** The first owner and organisation by the link of a fresh start, and people by the admin command beside it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { callRest, eventually } from '../support/worlds/gateway.ts';
import { GatewayProcess } from '../support/worlds/gateway-process.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { PERSON_PASSWORD, signInWith } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('the first start', function () {
  this.timeout(120_000);
  let folder: string;
  let database: TestDatabase;
  let env: Record<string, string>;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-setup-'));
    database = await testDatabase();
    env = { DATA_DIR: folder, DATABASE_URL: database.url, PORT: '0', LIMIT_SIGN_INS_PER_MINUTE: '1000' };
    gateway = await GatewayProcess.start({ env });
  });
  after(async () => {
    await gateway.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const post = (path: string, body: object) => callRest(gateway.address, ['POST', path, body], {});
  const setUp = (token: string) =>
    post('/auth/setup', {
      token,
      email: 'first@example.com',
      password: PERSON_PASSWORD,
      name: 'Fanny First',
      org_name: 'First Ltd',
    });
  const admin = (...args: string[]) => runCommand('infra/admin/admin.ts', args, env);
  const tokenIn = (text: string, kind: 'setup' | 'reset'): string =>
    new RegExp(`${gateway.address}/console#${kind}=([\\w-]{43,47})$`, 'm').exec(text)?.[1] ?? '';

  it(`prints a link that creates the first owner and organisation once ${verifies('contract:18:setup-link')}`, async () => {
    const token = await eventually(() => {
      const found = tokenIn(gateway.output, 'setup');
      return found === '' ? Promise.reject(new Error(gateway.output)) : Promise.resolve(found);
    });
    expect((await setUp('x'.repeat(43))).status).to.equal(401);
    const made = await setUp(token);
    expect(made.status).to.equal(201);
    expect(made.body).to.have.all.keys('org_id', 'user_id');
    expect((await setUp(token)).status).to.equal(401);
    const owner = await signInWith(gateway.address, 'first@example.com');
    const { body } = await owner.rest('GET', '/auth/session');
    expect(body).to.deep.include({
      role: 'owner',
      org: { id: made.body.org_id as string, name: 'First Ltd' },
    });
  });

  it(`lets the admin command add more people ${verifies('contract:18:admin-person')}`, async () => {
    const added = await admin('person', 'add', 'ann@example.com', '--role', 'approver', '--name', 'Ann');
    expect(added.stdout).to.match(/^ann@example.com is an approver now\.\n/);
    const reset = { token: tokenIn(added.stdout, 'reset'), password: PERSON_PASSWORD };
    expect((await post('/auth/password/reset', reset)).status).to.equal(204);
    const ann = await signInWith(gateway.address, 'ann@example.com');
    expect((await ann.rest('GET', '/auth/session')).body).to.deep.include({ role: 'approver' });
    const again = await admin('person', 'reset', 'Ann@example.com');
    const body = { token: tokenIn(again.stdout, 'reset'), password: 'another long passphrase' };
    expect((await post('/auth/password/reset', body)).status).to.equal(204);
    expect((await ann.rest('GET', '/auth/session')).status).to.equal(401);
    expect((await signInWith(gateway.address, ann.email, body.password)).userId).to.equal(ann.userId);
  });

  it(`lets the owner of a bootstrap in by its link ${verifies('contract:20:bootstrap-link')}`, async () => {
    const other = await testDatabase();
    const own = { ...env, DATABASE_URL: other.url, DATA_DIR: join(folder, 'bootstrapped') };
    let started: GatewayProcess | null = null;
    try {
      const args = ['bootstrap', '--org', 'Second Ltd', '--email', 'second@example.com'];
      const base = { ...own, BASE_URL: 'https://gw.example.com' };
      const made = await runCommand('infra/admin/admin.ts', args, base);
      const { password_link: link, user_id: userId } = JSON.parse(made.stdout) as Record<string, string>;
      expect(link).to.match(/^https:\/\/gw\.example\.com\/console#reset=[\w-]{4,}$/);
      started = await GatewayProcess.start({ env: own });
      const token = link?.split('#reset=')[1] ?? '';
      const reset = ['POST', '/auth/password/reset', { token, password: PERSON_PASSWORD }] as const;
      expect((await callRest(started.address, reset, {})).status).to.equal(204);
      expect((await signInWith(started.address, 'second@example.com')).userId).to.equal(userId);
    } finally {
      await started?.stop();
      await other.drop();
    }
  });
});
