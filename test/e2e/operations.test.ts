import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AnyEvent } from '../../commands/event-catalogue.ts';
import type { Fact } from '../../commands/values/event.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { happened, sampleAuthor } from '../support/samples/event-author.ts';
import { eventually, type Json, startWithMailbox, type TestGateway } from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { runCommand } from '../support/servers/run-command.ts';
import { SAMPLE_EVENTS } from '../support/samples/sample-events.ts';
import { signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

const RAW = 'From: berta@example.org\r\nSubject: Read me\r\nMessage-ID: <r@example.org>\r\n\r\nHello.\r\n';

describe('operations over REST', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let folder: string;
  before(async function () {
    dovecot = await requireTestDovecot(this);
    folder = await mkdtemp(join(tmpdir(), 'gateway-test-operations-'));
    ({ gateway, mailboxId } = await startWithMailbox(dovecot, { env: { KEY_FILE: join(folder, 'key') } }));
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const get = async (path: string, token?: string): Promise<{ status: number; body: Json }> => {
    const { status, body } = await gateway.rest('GET', path, undefined, token === undefined ? {} : { token });
    return { status, body };
  };
  const lines = (id: string, wanted: number): Promise<Json> =>
    eventually(async () => {
      const { body } = await get(`/operations/${id}`);
      if (body.events.length < wanted) throw new Error('the audit lags');
      return body;
    });

  const archived = async (): Promise<string> => {
    await appendMessages(dovecot.imap(), 'anna', [{ raw: RAW }]);
    const id = await eventually(async () => {
      const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages?folder=inbox`);
      const [message] = body.items as { id: string }[];
      if (!message) throw new Error('it has not arrived');
      return message.id;
    });
    const { body } = await gateway.rest('POST', `/mailboxes/${mailboxId}/archive`, { message_ids: [id] });
    expect(body.summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
    return String(body.operation_id);
  };

  /** By the agent, on anna's mailbox; nobody can tell what became of its one move. */
  const unknownMove = async (id: string): Promise<string> => {
    const { orgId, agentId } = gateway.tokens;
    const actor = { type: 'agent' as const, id: agentId, token_id: null, session_id: null };
    const result = { message_id: 'msg_gone', step: 0, action: 'move' as const, outcome: 'unknown' as const };
    const facts: readonly Fact<AnyEvent>[] = [
      { type: 'OperationSubmitted', data: { ...SAMPLE_EVENTS.OperationSubmitted, mailbox_id: mailboxId } },
      { type: 'ActionOutcomesRecorded', data: { results: [result] } },
      { type: 'OperationCompleted', data: { summary: { done: 0, failed: 0, unknown: 1 } } },
    ];
    await happened(gateway.gateway.ports.events, `operation-${id}`, facts, sampleAuthor(orgId, { actor }));
    return id;
  };

  /** A token of the owner with these scopes. */
  const tokenWith = async (...scopes: readonly string[]): Promise<string> => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const request = { name: 'Some', surface: 'rest', scopes, expires_at };
    return String((await gateway.rest('POST', '/tokens', request)).body.token);
  };

  it(`return results, state and audit lines ${verifies('contract:6:operation-read')}`, async () => {
    const id = await archived();
    const operation = await lines(id, 5);
    expect(operation).to.deep.include({
      operation_id: id,
      status: 'completed',
      state: 'completed',
      mailbox_id: mailboxId,
      capability: 'archive',
      requester: { id: gateway.tokens.userId, kind: 'delegated' },
      summary: { done: 1, failed: 0, unknown: 0 },
    });
    expect(operation.results).to.have.length(1);
    expect(operation.results[0]).to.include({ action: 'archive', outcome: 'done' });
    const types = (operation.events as { type: string }[]).map(({ type }) => type);
    expect(types).to.deep.equal([
      'OperationSubmitted',
      'OperationDecided',
      'ActionsIntended',
      'ActionOutcomesRecorded',
      'OperationCompleted',
    ]);
    expect(operation.events[0].actor).to.have.property('ip');
    const listed = await get(`/operations?status=completed&mailbox_id=${mailboxId}&limit=1`);
    expect(listed.body.items[0]).to.include({ operation_id: id, state: 'completed' });
    expect((await get('/operations?status=late')).status).to.equal(400);
  });

  it(`are hidden from callers who neither requested them nor read the mailbox ${verifies('contract:3:operation-visibility')}`, async () => {
    const id = await unknownMove('opn_hidden');
    const { body } = await gateway.rest('POST', '/agents', { name: 'Other' });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const request = { principal_id: body.id, name: 'Other', surface: 'rest', expires_at };
    const other = await gateway.rest('POST', '/tokens', {
      ...request,
      scopes: ['messages:read', 'approvals:read'],
    });
    expect((await get(`/operations/${id}`, other.body.token)).status).to.equal(404);
    expect((await get('/operations', other.body.token)).body.items).to.deep.equal([]);
    // The person behind the agent sees it, without where the agent came from unless he may read the trail.
    const mine = await get(`/operations/${id}`, await tokenWith('messages:read'));
    expect(mine.status).to.equal(200);
    expect(mine.body.state).to.equal('unknown');
    const own = await archived();
    await lines(own, 5);
    const plain = await get(`/operations/${own}`, await tokenWith('messages:read'));
    expect(plain.body.events[0].actor).to.not.have.property('ip');
    expect((await get('/operations/opn_none')).status).to.equal(404);
  });

  it(`are resolved by the word of a person, and record it ${verifies('contract:10:resolve', 'contract:10:operation-state')}`, async () => {
    const id = await unknownMove('opn_doubtful');
    const admin = (...args: string[]) =>
      runCommand('infra/admin/admin.ts', ['resolve', ...args], {
        DATA_DIR: join(folder, 'data'),
        KEY_FILE: join(folder, 'key'),
        DATABASE_URL: gateway.gateway.databaseUrl,
        EVENTSTORE_URL: gateway.gateway.eventStoreUrl,
      });
    const done = await admin(id, 'done', '--reason', 'It lies in Archive.');
    expect([done.stdout, done.stderr]).to.deep.equal([`${id} is completed now.\n`, '']);
    const operation = await lines(id, 5);
    expect(operation).to.deep.include({ state: 'completed', summary: { done: 1, failed: 0, unknown: 0 } });
    const [line] = (operation.events as Json[]).filter(({ type }) => type === 'OperationResolved');
    expect(line).to.deep.include({
      action: 'operation.resolve',
      data: { outcome: 'done', reason: 'It lies in Archive.' },
    });
    expect(line.actor).to.include({ type: 'system', id: 'admin-command' });
  });

  it(`are resolved by signed-in people, and by no token ${verifies('contract:17:resolve', 'contract:10:resolve-session')}`, async () => {
    const id = await unknownMove('opn_undecided');
    const path = `/operations/${id}/resolve`;
    const word = { outcome: 'not_done', reason: 'It still lies in the inbox.' };
    const byToken = await gateway.rest('POST', path, word);
    expect([byToken.status, byToken.body.error.code]).to.deep.equal([403, 'insufficient_scope']);
    const owner = await signInOwner(gateway);
    const answer = await owner.rest('POST', path, word);
    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.include({ operation_id: id, status: 'completed', state: 'failed' });
    const [line] = (answer.body.events as Json[]).filter(({ type }) => type === 'OperationResolved');
    expect(line).to.deep.include({ data: word });
    expect(line.actor).to.include({ type: 'person', id: owner.userId });
    const { body } = await get(`/operations/${id}`);
    expect(body).to.deep.include({ state: 'failed', results: answer.body.results });
    const again = await owner.rest('POST', path, word);
    expect([again.status, again.body.error.code]).to.deep.equal([409, 'conflict']);
  });
});
