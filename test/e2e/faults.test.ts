import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectConnection } from '../../infra/postgres/direct-connection.ts';
import { type CuttingProxy, startCuttingProxy } from '../support/servers/cutting-proxy.ts';
import { PASSWORD, requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { callRest, eventually, startTestGateway, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { readsOfMailbox } from '../support/samples/reads-of-mailbox.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { verifies } from '../support/suite/verifies.ts';

const countIn = (dovecot: TestDovecot, folder: string, subject: string): Promise<number> =>
  withClient(dovecot.imap(), 'anna', async (client) => {
    const lock = await client.getMailboxLock(folder);
    try {
      const found = await client.search({ subject }, { uid: true });
      return found === false || found === undefined ? 0 : found.length;
    } finally {
      lock.release();
    }
  });

/** As if the thirty seconds of the dead process had passed. */
async function expireLeases(database: TestDatabase): Promise<void> {
  const client = await openDirectConnection(database.url, 'test');
  await client.query('update work.lease set until = now()');
  await client.end();
}

describe('a mail server that fails', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let proxy: CuttingProxy;
  let gateway: TestGateway;
  let mailboxId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    proxy = await startCuttingProxy(dovecot.imap());
    gateway = await startTestGateway();
    mailboxId = await gateway.addMailbox({ host: '127.0.0.1', port: proxy.port }, 'anna');
  });

  after(async () => {
    await gateway.stop();
    await proxy.close();
    await dovecot.dispose();
  });

  const arrive = async (subject: string): Promise<string> => {
    await appendMessages(dovecot.imap(), 'anna', [
      { raw: plainMessage({ subject, id: `<${subject.replaceAll(' ', '.')}@example.org>` }) },
    ]);
    // The mail server takes its time to tell of it.
    return await eventually(async () => {
      const { body } = await gateway.rest('POST', `/mailboxes/${mailboxId}/email.query`, {
        select: { folder: 'inbox', filter: { subject_contains: subject } },
      });
      return String(body.items[0].id);
    });
  };

  const archive = (id: string, key: string) =>
    gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      {
        operation: { type: 'message_actions', select: { message_ids: [id] }, actions: [{ type: 'archive' }] },
      },
      { key },
    );

  it(`settles a MOVE as done by reading the folders when the answer was lost ${verifies('contract:10:reconciled', 'contract:14:no-second-effect')}`, async () => {
    const id = await arrive('Lost answer');
    proxy.cutAt(/UID MOVE/, 'after');
    const { status, body } = await archive(id, 'lost-answer');
    expect(status).to.equal(200);
    expect(body.results[0].outcome).to.equal('unknown');
    const settled = await eventually(async () => {
      const again = await archive(id, 'lost-answer');
      if (again.body.results[0].outcome === 'unknown') throw new Error('not settled yet');
      return again;
    });
    expect(settled.headers.get('idempotency-replayed')).to.equal('true');
    expect(settled.body.results[0].outcome).to.equal('done');
    expect(settled.body.results[0].new_message_id).to.match(/^msg_/);
    expect(await countIn(dovecot, 'Archive', 'Lost answer')).to.equal(1);
    expect(await countIn(dovecot, 'INBOX', 'Lost answer')).to.equal(0);
    // The audit shows an event within a second.
    await eventually(async () => {
      const events = await gateway.rest('GET', `/audit?resource=${String(body.operation_id)}&order=asc`);
      expect(events.body.items.map((item: { type: string }) => item.type).at(-1)).to.equal(
        'ActionsReconciled',
      );
    });
  });

  it(`settles a MOVE as failed and repeats nothing when it never reached the server ${verifies('contract:10:reconciled', 'contract:10:outcomes')}`, async () => {
    const id = await arrive('Never sent');
    proxy.cutAt(/UID MOVE/, 'before');
    const { body } = await archive(id, 'never-sent');
    expect(body.results[0].outcome).to.equal('unknown');
    const settled = await eventually(async () => {
      const again = await archive(id, 'never-sent');
      if (again.body.results[0].outcome === 'unknown') throw new Error('not settled yet');
      return again;
    });
    expect(settled.body.results[0].outcome).to.equal('failed');
    expect(await countIn(dovecot, 'INBOX', 'Never sent')).to.equal(1);
    expect(await countIn(dovecot, 'Archive', 'Never sent')).to.equal(0);
  });

  it(`answers 503 and marks the mailbox while the server is down, and recovers automatically ${verifies('contract:4:mailbox-connection-failed', 'contract:13:retry-503')}`, async () => {
    await dovecot.stop('SIGKILL');
    const down = await eventually(async () => {
      const answer = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`);
      expect(answer.status).to.equal(503);
      return answer;
    });
    expect(down.body.error).to.include({ code: 'mailbox_unavailable', retryable: true });
    expect(down.body.error.retry_after_seconds).to.be.greaterThan(0);
    expect(down.headers.get('retry-after')).to.match(/^\d+$/);
    await gateway.waitForState(mailboxId, 'connection_failed');
    await dovecot.start();
    await gateway.waitForState(mailboxId, 'connected', 20_000);
    expect((await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`)).status).to.equal(200);
  });

  it(`answers 424 when the server refuses the credentials, until they are replaced ${verifies('contract:4:mailbox-auth-failed', 'contract:17:credentials', 'contract:17:route-mailbox-credentials')}`, async () => {
    const store = (password: string) =>
      gateway.rest('PUT', `/mailboxes/${mailboxId}/credentials`, { password });
    expect((await store('not the password')).status).to.equal(204);
    await eventually(async () => {
      const refused = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`);
      expect(refused.status).to.equal(424);
      expect(refused.body.error.code).to.equal('mailbox_auth_failed');
    });
    await gateway.waitForState(mailboxId, 'auth_failed');
    expect((await store(PASSWORD)).status).to.equal(204);
    await gateway.waitForState(mailboxId, 'connected', 20_000);
    expect((await gateway.rest('GET', `/mailboxes/${mailboxId}/messages`)).status).to.equal(200);
  });

  const neverConnected = async (port: number, password: string): Promise<string> => {
    const host = { host: '127.0.0.1', port, security: 'none' };
    const { status, body } = await gateway.rest('POST', '/mailboxes', {
      email: 'stranger@example.com',
      imap: host,
      smtp: host,
      auth: { type: 'password', username: 'anna', password },
    });
    expect(status).to.equal(201);
    return String(body.id);
  };

  const answersOf = async (id: string, expected: { status: number; code: string }): Promise<void> => {
    for (const [method, path, body] of readsOfMailbox(id)) {
      const answer = await gateway.rest(method, path, body);
      expect(answer.status, `${path} ${JSON.stringify(body)}`).to.equal(expected.status);
      expect(answer.body.error.code, path).to.equal(expected.code);
      if (expected.status === 503) expect(answer.body.error.retry_after_seconds).to.be.greaterThan(0);
    }
  };

  it(`reports no empty mailbox when it has never connected ${verifies('contract:4:not-connected-yet')}`, async () => {
    const id = await neverConnected(1, PASSWORD);
    await answersOf(id, { status: 503, code: 'mailbox_unavailable' });
    await gateway.waitForState(id, 'connection_failed');
    await answersOf(id, { status: 503, code: 'mailbox_unavailable' });
  });

  it(`answers 424 when the first login of a mailbox was refused ${verifies('contract:4:not-connected-yet')}`, async () => {
    const id = await neverConnected(proxy.port, 'not the password');
    await gateway.waitForState(id, 'auth_failed');
    await answersOf(id, { status: 424, code: 'mailbox_auth_failed' });
  });
});

describe('a gateway killed between intent and outcome', function () {
  this.timeout(180_000);
  let dovecot: TestDovecot;
  let proxy: CuttingProxy;
  let database: TestDatabase;
  let dataDir: string;
  const children: ChildProcess[] = [];

  before(async function () {
    dovecot = await requireTestDovecot(this);
    proxy = await startCuttingProxy(dovecot.imap());
    database = await testDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-kill-'));
  });

  after(async () => {
    for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
    await proxy.close();
    await dovecot.dispose();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const baseUrl = `http://127.0.0.1:${String(port)}`;
  const environment = () => ({
    ...process.env,
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    PORT: String(port),
    EGRESS_ALLOW_MAIL: '127.0.0.1/32:*',
  });

  const run = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, ['infra/process/main.ts'], { env: environment(), stdio: 'ignore' });
    children.push(child);
    await eventually(async () => {
      const ready = await fetch(`${baseUrl}/health/ready`);
      if (!ready.ok) throw new Error('not ready');
    }, 30_000);
    return child;
  };

  it(`finds the outcome of the interrupted operation after the restart without repeating it ${verifies('contract:10:cut-off', 'contract:14:no-second-effect')}`, async () => {
    const first = await run();
    const admin = spawn(
      process.execPath,
      ['infra/admin/admin.ts', 'bootstrap', '--org', 'Kill', '--email', 'k@example.com'],
      {
        env: environment(),
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let printed = '';
    admin.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await once(admin, 'close');
    const { rest_token: token } = JSON.parse(printed) as { rest_token: string };
    const rest = (method: string, path: string, body?: unknown, key?: string) =>
      callRest(baseUrl, [method, path, body], { token, ...(key === undefined ? {} : { key }) });
    const made = await eventually(async () => {
      const answer = await rest('POST', '/mailboxes', {
        email: 'anna@example.com',
        imap: { host: '127.0.0.1', port: proxy.port, security: 'none' },
        smtp: { host: '127.0.0.1', port: 25, security: 'none' },
        auth: { type: 'password', username: 'anna', password: PASSWORD },
      });
      expect(answer.status).to.equal(201);
      return answer;
    });
    const mailbox = `/mailboxes/${String(made.body.id)}`;
    await eventually(async () => {
      expect((await rest('GET', mailbox)).body.state).to.equal('connected');
    });
    await appendMessages(dovecot.imap(), 'anna', [
      { raw: plainMessage({ subject: 'Killed', id: '<killed@example.org>' }) },
    ]);
    const found = await eventually(async () => {
      const answer = await rest('POST', `${mailbox}/email.query`, {
        select: { filter: { subject_contains: 'Killed' } },
      });
      if (answer.body.items.length === 0) throw new Error('it has not arrived');
      return answer;
    });
    const operation = {
      operation: {
        type: 'message_actions',
        select: { message_ids: [found.body.items[0].id] },
        actions: [{ type: 'archive' }],
      },
    };
    proxy.cutAt(/UID MOVE/, 'hang');
    const cut = rest('POST', `${mailbox}/email.act`, operation, 'killed').catch(() => null);
    await eventually(async () => {
      expect(await countIn(dovecot, 'Archive', 'Killed')).to.equal(1);
    });
    first.kill('SIGKILL');
    await once(first, 'close');
    expect(await cut).to.equal(null);
    await run();
    const waiting = await rest('POST', `${mailbox}/email.act`, operation, 'killed');
    if (waiting.status !== 200) {
      expect(waiting.body.error).to.include({ status: 409, code: 'idempotency_in_progress' });
      expect(waiting.body.error.retry_after_seconds).to.be.greaterThan(0);
    }
    await expireLeases(database);
    const settled = await eventually(async () => {
      const answer = await rest('POST', `${mailbox}/email.act`, operation, 'killed');
      expect(answer.status).to.equal(200);
      expect(answer.body.results[0].outcome).not.to.equal('unknown');
      return answer;
    }, 50_000);
    expect(settled.body.results[0].outcome).to.equal('done');
    expect(await countIn(dovecot, 'Archive', 'Killed')).to.equal(1);
    expect(await countIn(dovecot, 'INBOX', 'Killed')).to.equal(0);
  });
});
