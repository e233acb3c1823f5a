import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../infra/process/config.ts';
import { type Gateway, startGateway } from '../../infra/process/gateway.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import {
  type Answer,
  callRest,
  type Json,
  startTestGateway,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { eventually } from '../support/suite/eventually.ts';
import { appendMessages, plainMessage, withClient } from '../support/servers/mail-append.ts';
import { openSession, rawMcp, rpc } from '../support/worlds/mcp/raw-mcp.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
function subjects({ status, body }: Answer): readonly string[] {
  expect(status, JSON.stringify(body)).to.equal(200);
  return (body.items as readonly { subject: string }[]).map(({ subject }) => subject);
}

describe('waiting over REST and MCP', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let database: TestDatabase;
  let folder: string;
  let first: TestGateway;
  /** Another process on the same stores, which lets a token wait three times at once. */
  let second: Gateway;
  let mailboxId: string;
  let sent = 0;

  const startSecond = (): Promise<Gateway> =>
    startGateway({
      config: loadConfig({
        DATA_DIR: join(folder, 'second'),
        KEY_FILE: join(folder, 'key'),
        DATABASE_URL: database.url,
        EVENTSTORE_URL: first.gateway.eventStoreUrl,
        PORT: '0',
        ROLES: 'api,projector',
        EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
        LIMIT_CONCURRENT_WAITS: '3',
      }),
      log: silentLog,
      strictOutput: true,
    });

  before(async function () {
    dovecot = await requireTestDovecot(this);
    folder = await mkdtemp(join(tmpdir(), 'gateway-waiting-'));
    database = await testDatabase();
    const env = { KEY_FILE: join(folder, 'key') };
    first = await startTestGateway({ database, env });
    mailboxId = await first.addMailbox(dovecot.imap(), 'anna');
    second = await startSecond();
  });
  after(async () => {
    await second[Symbol.asyncDispose]();
    await first.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
    await dovecot.dispose();
  });

  const arrive = async (folder = 'INBOX'): Promise<string> => {
    sent += 1;
    const subject = `Letter ${String(sent)}`;
    const raw = plainMessage({ subject, id: `<letter-${String(sent)}@example.org>` });
    await appendMessages(dovecot.imap(), 'anna', [{ raw, folder }]);
    return subject;
  };
  const post = (path: string, body: object, base = first.baseUrl): Promise<Answer> =>
    callRest(base, ['POST', `/mailboxes/${mailboxId}/${path}`, body], { token: first.tokens.restToken });
  /** As a client does it: what may pass is asked again, from where the wait stood. */
  const monitor = async (body: object, base?: string): Promise<Answer> => {
    for (let asked = body; ;) {
      const answer = await post('monitor_inbox', asked, base);
      if (answer.status !== 503) return answer;
      const { retry_after_seconds: seconds, details } = answer.body.error;
      await pause(Number(seconds) * 1_000);
      asked = { ...asked, ...(details.cursor && { cursor: details.cursor }) };
    }
  };
  const now = async (body: object = {}): Promise<string> =>
    (await monitor({ timeout_seconds: 0, ...body })).body.cursor as string;
  /** A cursor behind everything that arrived before. */
  const quiet = async (): Promise<string> => {
    for (let cursor = await now(); ;) {
      const { body } = await monitor({ cursor, timeout_seconds: 0.5 });
      cursor = body.cursor as string;
      if (body.status === 'timed_out') return cursor;
    }
  };
  /** A letter that was told of; its summary. */
  const arriveAndHear = async (): Promise<{ id: string; subject: string }> => {
    const waiting = monitor({ cursor: await quiet() });
    await arrive();
    return (await waiting).body.items[0] as { id: string; subject: string };
  };
  const mcp = async (method: string, params: object): Promise<Json> => {
    const bearer = first.tokens.mcpToken;
    const headers = await openSession(`${first.baseUrl}/mcp`, '2025-11-25', bearer);
    const { body } = await rawMcp(`${first.baseUrl}/mcp`, { headers, bearer, body: rpc(method, params) });
    return body;
  };

  it(`reports new mail in INBOX within 2 seconds ${verifies('contract:17:route-monitor-inbox', 'contract:17:monitor-inbox', 'contract:5:inbox-within-two-seconds')}`, async () => {
    const took: number[] = [];
    for (let letters = 0; letters < 5; letters += 1) {
      const waiting = monitor({ cursor: await now() });
      const subject = await arrive();
      const at = performance.now();
      const reply = await waiting;
      took.push(performance.now() - at);
      expect(reply.status).to.equal(200);
      expect(reply.body).to.have.all.keys('status', 'items', 'cursor');
      expect(reply.body.status).to.equal('matched');
      expect(subjects(reply)).to.deep.equal([subject]);
      expect(reply.body.items[0].folder).to.include({ path: 'INBOX', role: 'inbox' });
    }
    // A busy machine may hold up one or another.
    expect(Math.min(...took)).to.be.below(2_000);
  });

  it(`continues where a query ended ${verifies('contract:17:route-email-await', 'contract:17:email-await', 'contract:5:query-cursor')}`, async () => {
    const { subject: known } = await arriveAndHear();
    const newest = () => post('email.query', { select: { folder: 'inbox', limit: 1 } });
    // The feed is told before the index: a query may still be of a moment ago, and then says so.
    const stale = await newest();
    const since = await post('email.await', {
      for: 'message',
      cursor: stale.body.page.as_of as string,
      timeout_seconds: 0.5,
    });
    expect([...subjects(stale), ...subjects(since)]).to.include(known);
    await eventually(async () => subjects(await newest()).includes(known));
    const query = await newest();
    const subject = await arrive();
    const reply = await post('email.await', { for: 'message', cursor: query.body.page.as_of as string });
    expect(subjects(reply)).to.deep.equal([subject]);
  });

  it(`reports an answer in the thread under any of its ids ${verifies('contract:4:thread-components')}`, async () => {
    const heard = await arriveAndHear();
    const path = `/mailboxes/${mailboxId}/messages/${heard.id}`;
    let thread_id: unknown;
    await eventually(async () => {
      const { body } = await callRest(first.baseUrl, ['GET', path], { token: first.tokens.restToken });
      thread_id = body.thread_id;
      return thread_id !== undefined;
    });
    const cursor = await quiet();
    const select = { folder: 'inbox', filter: { thread_id } };
    const waiting = post('email.await', { for: 'message', select, cursor, timeout_seconds: 10 });
    await arrive();
    const headers = [`In-Reply-To: <letter-${String(sent - 1)}@example.org>`];
    const raw = plainMessage({ subject: 'An answer', id: '<answer@example.org>', headers });
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    const reply = await waiting;
    expect(subjects(reply)).to.deep.equal(['An answer']);
    expect(reply.body.items[0]).to.include({ thread_id });
  });

  it(`answers a model over MCP as a plain call and as a task ${verifies('contract:16:tasks', 'contract:16:tasks-result')}`, async () => {
    const cursor = await quiet();
    const args = { for: 'message', select: { folder: 'inbox' }, cursor, timeout_seconds: 10 };
    const plain = mcp('tools/call', { name: 'email_await', arguments: args });
    const made = await mcp('tools/call', {
      name: 'monitor_inbox',
      arguments: { cursor },
      task: { ttl: 60_000 },
    });
    const { taskId } = made.result.task as { taskId: string };
    expect(made.result.task.status).to.equal('working');
    const subject = await arrive();
    const { result } = await plain;
    expect(result.structuredContent.items[0]).to.include({ subject });
    const outcome = await mcp('tasks/result', { taskId });
    expect(outcome.result.structuredContent.items[0]).to.include({ subject });
    expect((await mcp('tasks/get', { taskId })).result.status).to.equal('completed');
    const operation = {
      type: 'message_actions',
      select: { message_ids: [outcome.result.structuredContent.items[0].id as string] },
      actions: [{ type: 'set_flags', seen: true }],
    };
    const acting = { operation, idempotency_key: 'as-a-task' };
    const acted = await mcp('tools/call', { name: 'email_act', arguments: acting, task: {} });
    expect(acted.error).to.equal(undefined);
    const ended = await mcp('tasks/result', { taskId: acted.result.task.taskId as string });
    expect(ended.result.structuredContent).to.deep.include({
      status: 'completed',
      summary: { done: 1, failed: 0, unknown: 0 },
    });
    const misspelt = await mcp('tools/call', { name: 'email_await', arguments: { ...args, fore: 1 } });
    expect(misspelt.result.structuredContent.error.code).to.equal('invalid_request');
  });

  it('reports flags set by another client, and no move of the gateway itself', async () => {
    const { id, subject } = await arriveAndHear();
    const cursor = await now();
    const flagged = monitor({ cursor, filter: { flagged: true } });
    await withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageFlagsAdd({ header: { subject } }, ['\\Flagged']);
    });
    expect(subjects(await flagged)).to.deep.equal([subject]);
    const key = 'archive-one';
    const done = await first.rest('POST', `/mailboxes/${mailboxId}/archive`, { message_ids: [id] }, { key });
    expect(done.body.summary.done).to.equal(1);
    const elsewhere = await monitor({ cursor, folder: 'archive', timeout_seconds: 1 });
    expect(elsewhere.body).to.deep.include({ status: 'timed_out', items: [] });
  });

  it(`reports a finished operation to callers who may see it ${verifies('contract:5:operation')}`, async () => {
    const { id } = await arriveAndHear();
    const select = { message_ids: [id] };
    const cursor = await now();
    const acting = first.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      {
        operation: { type: 'message_actions', select, actions: [{ type: 'set_flags', seen: true }] },
      },
      { key: 'flag-one' },
    );
    const operationId = (await acting).body.operation_id as string;
    const finished = { for: 'operation', operation_ids: [operationId] };
    const reply = await post('email.await', finished);
    expect(reply.body.items).to.have.length(1);
    expect(reply.body.items[0]).to.deep.include({
      status: 'completed',
      state: 'completed',
      operation_id: operationId,
      results: (await acting).body.results,
      summary: { done: 1, failed: 0, unknown: 0 },
    });
    expect(reply.body.items[0]).not.to.have.property('events');
    const since = await post('email.await', { ...finished, cursor });
    expect(since.body.items).to.have.length(1);
    const none = { ...finished, cursor: since.body.cursor as string, timeout_seconds: 0.2 };
    expect((await post('email.await', none)).body).to.include({ status: 'timed_out' });
    const args = { ...finished, mailbox_id: mailboxId };
    const { result } = await mcp('tools/call', { name: 'email_await', arguments: args });
    expect(result.structuredContent.items).to.have.length(1);
    const unknown = await post('email.await', { for: 'operation', operation_ids: ['opn_nobody'] });
    expect(unknown.body.error.code).to.equal('not_found');
    const noApproval = await post('email.await', { for: 'approval', approval_ids: ['chk_nobody'] });
    expect(noApproval.body.error.code).to.equal('not_found');
  });

  it('refuses contradictory conditions', async () => {
    for (const body of [
      {},
      { for: 'approval' },
      { for: 'approval', approval_ids: ['chk_1'], select: { folder: 'inbox' } },
      { for: 'operation' },
      { for: 'message', operation_ids: ['opn_1'] },
      { for: 'operation', operation_ids: ['opn_1'], select: { folder: 'inbox' } },
      { for: 'message', select: { mailbox_id: 'mbx_other' } },
      { for: 'message', select: { limit: 5 } },
    ]) {
      expect((await post('email.await', body)).body.error?.code, JSON.stringify(body)).to.equal(
        'invalid_request',
      );
    }
  });

  it(`omits and repeats nothing with two processes in turn, one of them restarted ${verifies('contract:5:no-gap-no-repeat')}`, async () => {
    const heard: string[] = [];
    const expected: string[] = [];
    let cursor = await quiet();
    for (let round = 0; round < 5; round += 1) {
      if (round === 3) {
        await second[Symbol.asyncDispose]();
        second = await startSecond();
      }
      const arriving = (async () => {
        for (let letter = 0; letter <= round % 3; letter += 1) expected.push(await arrive());
      })();
      const reply = await monitor(
        { cursor, timeout_seconds: 5 },
        round % 2 === 0 ? second.baseUrl : first.baseUrl,
      );
      heard.push(...subjects(reply));
      cursor = reply.body.cursor as string;
      await arriving;
    }
    while (heard.length < expected.length) {
      const reply = await monitor({ cursor, timeout_seconds: 3 }, second.baseUrl);
      if (reply.body.status === 'timed_out') break;
      heard.push(...subjects(reply));
      cursor = reply.body.cursor as string;
    }
    expect(heard).to.deep.equal(expected);
  });

  it(`limits the concurrent waits of a token, beside its other requests ${verifies('contract:15:waits')}`, async () => {
    const base = second.baseUrl;
    const waiting = [1, 2, 3].map(() => monitor({ timeout_seconds: 2 }, base));
    await pause(300);
    const fourth = await monitor({ timeout_seconds: 2 }, base);
    expect([fourth.status, fourth.body.error.details.limit]).to.deep.equal([429, 'concurrent_waits']);
    const { body } = await callRest(base, ['GET', '/identity'], { token: first.tokens.restToken });
    expect(body.limits.concurrent_waits).to.equal(3);
    for (const reply of await Promise.all(waiting)) expect(reply.body.status).to.equal('timed_out');
    expect((await monitor({ timeout_seconds: 0 }, base)).status).to.equal(200);
  });

  it('answers open waits when the process ends', async () => {
    const waiting = monitor({ timeout_seconds: 30 }, second.baseUrl);
    await pause(300);
    const at = performance.now();
    await second[Symbol.asyncDispose]();
    const reply = await waiting;
    expect(performance.now() - at).to.be.below(12_000);
    expect(reply.body).to.deep.include({ status: 'timed_out', items: [] });
    const subject = await arrive();
    expect(subjects(await monitor({ cursor: reply.body.cursor as string }))).to.deep.equal([subject]);
    second = await startSecond();
  });
});
