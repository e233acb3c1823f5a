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
  eventually,
  type Json,
  startTestGateway,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { appendMessages, plainMessage } from '../support/servers/mail-append.ts';
import { openSession, rawMcp, rpc } from '../support/worlds/mcp/raw-mcp.ts';
import { testDatabase, type TestDatabase } from '../support/servers/postgres.ts';
import { askedFor, type SampleApproval, wentOn } from '../support/samples/sample-approvals.ts';
import { type SignedInPerson, signInNew, signInOwner } from '../support/worlds/sign-in.ts';
import { silentLog } from '../support/fakes/silent-log.ts';
import { verifies } from '../support/suite/verifies.ts';

const TOLD_WITHIN_MS = 8_000;
const LATER = '2100-01-01T00:00:00.000Z';

describe('following approvals', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let database: TestDatabase;
  let folder: string;
  let first: TestGateway;
  /** Another process on the same stores: people decide there. */
  let second: Gateway;
  let mailboxId: string;
  let owner: SignedInPerson;
  let mcpHeaders: Readonly<Record<string, string | undefined>>;
  let letters = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    folder = await mkdtemp(join(tmpdir(), 'gateway-following-'));
    database = await testDatabase();
    const env = { KEY_FILE: join(folder, 'key') };
    first = await startTestGateway({ database, env });
    mailboxId = await first.addMailbox(dovecot.imap(), 'anna');
    owner = await signInOwner(first);
    second = await startGateway({
      config: loadConfig({
        DATA_DIR: join(folder, 'second'),
        ...env,
        DATABASE_URL: database.url,
        EVENTSTORE_URL: first.gateway.eventStoreUrl,
        PORT: '0',
        EGRESS_ALLOW_MAIL: '127.0.0.0/8:*',
      }),
      log: silentLog,
      strictOutput: true,
    });
    // Right after a start rights may lag for a moment, which is told as 503.
    mcpHeaders = await eventually(() =>
      openSession(`${first.baseUrl}/mcp`, '2025-11-25', first.tokens.mcpToken),
    );
  });
  after(async () => {
    await second[Symbol.asyncDispose]();
    await first.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
    await dovecot.dispose();
  });

  const mcp = async (method: string, params: object): Promise<Json> => {
    const request = { headers: mcpHeaders, bearer: first.tokens.mcpToken, body: rpc(method, params) };
    return (await rawMcp(`${first.baseUrl}/mcp`, request)).body;
  };
  const tool = async (name: string, args: object): Promise<Json> =>
    (await mcp('tools/call', { name, arguments: args })).result.structuredContent;
  /** The agent asks to archive a message that arrived; the reply. */
  const asked = async (): Promise<Json> => {
    letters += 1;
    const subject = `Letter ${String(letters)}`;
    await appendMessages(dovecot.imap(), 'anna', [{ raw: plainMessage({ subject }) }]);
    const id = await eventually(async () => {
      const { body } = await first.rest('GET', `/mailboxes/${mailboxId}/messages?folder=inbox`);
      const found = (body.items as Json[]).find((message) => message.subject === subject);
      if (!found) throw new Error('it has not arrived');
      return String(found.id);
    });
    const actions = [{ type: 'archive' }];
    return await tool('email_act', {
      operation: { type: 'message_actions', select: { message_ids: [id] }, actions },
      authorization: { mode: 'request_approval', reason: 'Done with it.' },
      idempotency_key: `ask-${String(letters)}`,
    });
  };
  /** The owner decides on the second process. */
  const decide = (approval: Json, decision: 'approve' | 'reject'): Promise<Answer> => {
    const sent = { decision, content_hash: approval.content_hash, reason: 'So be it.' };
    const path = `/approvals/${String(approval.id)}/decision`;
    return callRest(second.baseUrl, ['POST', path, sent], { token: owner.bearer });
  };
  /** Against which limit each face counts a request, by what its answer tells of it. */
  const countedAs = async (body: object): Promise<readonly (string | undefined)[]> => {
    const params = { name: 'email_requests', arguments: body };
    const call = { headers: mcpHeaders, bearer: first.tokens.mcpToken, body: rpc('tools/call', params) };
    const answers = [await requests(body), await rawMcp(`${first.baseUrl}/mcp`, call)];
    return answers.map(({ headers }) => headers.get('ratelimit-policy')?.split('"')[1]);
  };
  const requests = (body: object): Promise<Answer> => first.rest('POST', '/approvals/email.requests', body);

  it(`reports a vote to every way of waiting long before its time is over, on any process ${verifies('contract:17:route-monitor-approval', 'contract:17:monitor-approval', 'contract:17:route-email-requests')}`, async () => {
    const { status, approval, operation_id } = await asked();
    expect(status).to.equal('awaiting_approval');
    const approval_ids = [approval.id];
    const made = await mcp('tools/call', { name: 'monitor_approval', arguments: { approval_ids }, task: {} });
    const { taskId } = made.result.task as { readonly taskId: string };
    const byTask = mcp('tasks/result', { taskId });
    const byAwait = tool('email_await', { for: 'approval', approval_ids, timeout_seconds: 20 });
    const { restToken: token } = first.tokens;
    const byRest = callRest(second.baseUrl, ['POST', '/approvals/monitor_approval', { approval_ids }], {
      token,
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await mcp('tasks/get', { taskId })).result.status, 'it waits for a person').to.equal('working');
    const { body: granted } = await decide(approval, 'approve');
    const at = performance.now();
    const replies = [(await byTask).result.structuredContent, await byAwait, (await byRest).body];
    expect(performance.now() - at).to.be.below(TOLD_WITHIN_MS);
    for (const reply of replies) {
      expect(reply.status, JSON.stringify(reply)).to.equal('matched');
      // What it is to the viewer is left out where several are told at once.
      const { manifest: _, own_request: __, warnings: ___, confirmation: ____, ...told } = granted;
      expect(reply.items[0]).to.deep.include(told);
      expect(reply.items[0]).not.to.have.any.keys('manifest', 'own_request');
    }
    expect(granted).to.include({ status: 'pending_commit', reason: 'Done with it.' });

    const commit = { action: 'commit', approval_id: approval.id, idempotency_key: 'commit-1' };
    const done = await tool('email_requests', commit);
    expect(done).to.deep.include({
      status: 'completed',
      operation_id,
      summary: { done: 1, failed: 0, unknown: 0 },
    });
    expect(await tool('email_requests', commit), 'a repeat').to.deep.include({
      operation_id,
      status: 'completed',
    });
    const after = await tool('monitor_approval', { approval_ids, cursor: replies[1].cursor });
    expect(after.items[0]).to.deep.include({ status: 'committed' });
    expect(after.items[0].execution).to.deep.include({ status: 'completed', attempts: 1 });
  });

  it(`list, show, preview and cancel through email.requests with a scope each ${verifies('contract:17:email-requests', 'contract:15:rates', 'contract:9:listed')}`, async () => {
    const { approval } = await asked();
    const { id } = approval as { readonly id: string };
    const list = await eventually(async () => {
      const { body } = await requests({ role: 'requester', status: ['awaiting_approval'] });
      if (!body.items.some((item: Json) => item.id === id)) throw new Error('not listed yet');
      return body;
    });
    const { body: got } = await requests({ action: 'get', approval_id: id });
    const { manifest, ...listed } = got;
    expect(list.items[0]).to.deep.equal(listed);
    expect(manifest.items).to.have.length(1);
    expect(listed.confirmation).to.be.an('object');
    expect((await first.rest('GET', `/approvals/${id}`)).body).to.deep.equal(got);
    const looks = [{}, { action: 'get', approval_id: id }, { action: 'preview', approval_id: id }];
    expect(await Promise.all(looks.map(countedAs)), 'looking is no write').to.deep.equal(
      looks.map(() => ['reads', 'reads']),
    );
    const changes = [{ action: 'cancel' }, { action: 'commit', approval_id: 'chk_none' }];
    expect(await Promise.all(changes.map(countedAs))).to.deep.equal(changes.map(() => ['writes', 'writes']));
    const { body: preview } = await requests({ action: 'preview', approval_id: id });
    expect(preview.content_hash).to.equal(got.content_hash);
    expect(preview.manifest).to.deep.equal(got.manifest);
    for (const [body, path] of [
      [{ action: 'get' }, 'approval_id'],
      [{ action: 'get', approval_id: id, reason: 'x' }, 'reason'],
      [{ action: 'decide', approval_id: id }, 'action'],
      [{ action: 'cancel', approval_id: id, idempotency_key: 7 }, 'idempotency_key'],
    ] as const) {
      const { status, body: refused } = await requests(body);
      expect([status, refused.error.details.issues[0].path]).to.deep.equal([400, path]);
    }
    const keyless = await requests({ action: 'commit', approval_id: id });
    expect(keyless.body.error).to.include({ code: 'idempotency_key_required' });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const reader = { name: 'r', surface: 'rest', scopes: ['approvals:read', 'messages:read'], expires_at };
    const { token } = (await first.rest('POST', '/tokens', reader)).body as { readonly token: string };
    const cancel = { action: 'cancel', approval_id: id, reason: 'Not needed.', idempotency_key: 'cancel-1' };
    const refused = await first.rest('POST', '/approvals/email.requests', cancel, { token });
    expect(refused.body.error).to.deep.include({ code: 'insufficient_scope' });
    expect((await requests(cancel)).body).to.include({ status: 'cancelled', cancel_reason: 'Not needed.' });
    const again = await requests(cancel);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    const { body: operation } = await first.rest('GET', `/operations/${id.replace('chk', 'opn')}`);
    expect(operation).to.include({ state: 'not_run' }).and.not.have.property('status');
  });

  it(`show an approval to callers whom it concerns, and to no other ${verifies('contract:17:route-approvals', 'contract:3:approval-visibility', 'contract:17:approvals')}`, async () => {
    const { orgId, agentId } = first.tokens;
    const { events, readModels } = first.gateway.ports;
    const colleagues = await Promise.all(
      (['approver', 'admin', 'member'] as const).map((role) => signInNew(first, role)),
    );
    const [approver, admin, member] = colleagues.map(({ bearer }) => bearer);
    const withGrant = async (scope: string): Promise<string> => {
      const agent = await owner.rest('POST', '/agents', { name: scope });
      const grant = { principal_id: agent.body.id as string, scopes: [scope] };
      await first.rest('POST', `/mailboxes/${mailboxId}/grants`, grant);
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const scopes = [scope, 'approvals:read'];
      const token = {
        name: scope,
        principal_id: agent.body.id as string,
        surface: 'rest',
        scopes,
        expires_at,
      };
      return String((await owner.rest('POST', '/tokens', token)).body.token);
    };
    const [mails, drafts, other] = [
      await withGrant('messages:read'),
      await withGrant('drafts:read'),
      await withGrant('folders:read'),
    ];
    const approval: SampleApproval = { orgId, requester: agentId, mailboxId };
    await askedFor(events, 'seen_actions', approval);
    await askedFor(events, 'seen_send', { ...approval, draftId: 'drf_1' });
    await askedFor(events, 'seen_owners', { ...approval, terms: { approver_role: 'owner' } });
    await askedFor(events, 'seen_nobodys', { ...approval, terms: { quorum: 0 } });
    await askedFor(events, 'seen_elsewhere', { ...approval, orgId: 'org_other' });
    await readModels.waitFor(await events.headPosition(), 5_000);
    const all = ['actions', 'send', 'owners', 'nobodys'];
    const rows: readonly (readonly [who: string, token: string | undefined, sees: readonly string[]])[] = [
      ['the person behind, signed in', owner.bearer, all],
      ['a token of the person behind', first.tokens.restToken, all],
      ['an approver', approver, ['actions', 'send']],
      ['an admin', admin, ['actions', 'send']],
      ['a member', member, []],
      ['who may read messages there', mails, ['actions', 'owners', 'nobodys']],
      ['who may read drafts there', drafts, ['send']],
      ['who may do something else there', other, []],
    ];
    for (const [who, token = '', sees] of rows) {
      const listed = (await first.rest('GET', '/approvals?limit=200', undefined, { token })).body
        .items as Json[];
      const names = listed.map(({ id }) => String(id)).filter((id) => id.startsWith('chk_seen_'));
      expect(names, who).to.have.members(sees.map((name) => `chk_seen_${name}`));
      const routes = [...all, 'elsewhere'].flatMap((name) =>
        [`/approvals/chk_seen_${name}`, `/operations/opn_seen_${name}`].map((route) => ({ name, route })),
      );
      const statuses = await Promise.all(
        routes.map(async ({ route }) => (await first.rest('GET', route, undefined, { token })).status),
      );
      for (const [index, { name, route }] of routes.entries()) {
        expect(statuses[index], `${who}: ${route}`).to.equal(sees.includes(name) ? 200 : 404);
      }
    }
    const waiting = await first.rest('GET', '/approvals?role=approver', undefined, { token: admin ?? '' });
    expect(waiting.body.items.map(({ id }: Json) => id as string))
      .to.include('chk_seen_actions')
      .and.not.include('chk_seen_owners');
    const mine = await first.rest('GET', `/approvals?role=requester&mailbox_id=${mailboxId}&limit=2`);
    expect(mine.body.items.map(({ id }: Json) => id as string)).to.deep.equal([
      'chk_seen_nobodys',
      'chk_seen_owners',
    ]);
    const { next_cursor: cursor } = mine.body.page as { readonly next_cursor: string };
    const next = await first.rest(
      'GET',
      `/approvals?role=requester&mailbox_id=${mailboxId}&limit=2&cursor=${cursor}`,
    );
    expect(next.body.items.map(({ id }: Json) => id as string)).to.deep.equal([
      'chk_seen_send',
      'chk_seen_actions',
    ]);
    const { body: operations } = await first.rest('GET', '/operations?status=waiting', undefined, {
      token: admin ?? '',
    });
    const waits = operations.items.map((item: Json) => item.operation_id as string) as readonly string[];
    expect(waits).to.include('opn_seen_actions').and.not.include('opn_seen_nobodys');
    const reads = await eventually(async () => {
      const { body } = await first.rest('GET', `/audit?type=BodiesRead&actor=${colleagues[0]?.userId ?? ''}`);
      if (body.items.length === 0) throw new Error('not in the audit yet');
      return body.items as Json[];
    });
    expect(reads[0].data).to.deep.include({ what: 'approval', mailbox_id: mailboxId });
  });

  it(`show an approval at an earlier time and name the one that replaced it ${verifies('contract:17:as-of', 'contract:10:operation-waits')}`, async () => {
    const { orgId, agentId } = first.tokens;
    const { events, readModels } = first.gateway.ports;
    const approval: SampleApproval = { orgId, requester: agentId, mailboxId, draftId: 'drf_2' };
    await askedFor(events, 'then_old', approval);
    const before = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await wentOn(events, 'then_old', 'ApprovalSuperseded');
    await askedFor(events, 'then_new', { ...approval, supersedes: 'chk_then_old' });
    await wentOn(events, 'then_new', 'ApprovalGranted', { commit_by: LATER });
    await readModels.waitFor(await events.headPosition(), 5_000);
    const get = async (path: string): Promise<Json> => (await first.rest('GET', path)).body;
    expect(await get('/approvals/chk_then_old')).to.include({
      status: 'superseded',
      superseded_by: 'chk_then_new',
    });
    const then = await get(`/approvals/chk_then_old?as_of=${before}`);
    expect(then).to.include({ status: 'awaiting_approval' }).and.not.have.property('superseded_by');
    const [newest, oldest] = (await get('/approvals?limit=2')).items as Json[];
    expect([newest.id, oldest.superseded_by]).to.deep.equal(['chk_then_new', 'chk_then_new']);
    expect(newest).to.include({ status: 'pending_commit', commit_by: LATER });
    expect(await get('/operations/opn_then_new')).to.deep.include({
      state: 'waiting',
      status: 'pending_commit',
    });
    expect(await get('/operations/opn_then_old')).to.deep.include({ state: 'not_run' });
    const wait = { approval_ids: ['chk_then_old'], timeout_seconds: 0 };
    const { body: waited } = await first.rest('POST', '/approvals/monitor_approval', wait);
    expect(waited.items[0]).to.include({ status: 'superseded', superseded_by: 'chk_then_new' });
    const early = await first.rest('GET', '/approvals/chk_then_old?as_of=2020-01-01T00:00:00Z');
    expect(early.status).to.equal(404);
  });
});
