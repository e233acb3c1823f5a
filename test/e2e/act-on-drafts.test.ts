import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { readPolicyDocument, setPolicy } from '../../commands/policy/set-policy.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually, type Json } from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { callOf, openSession, rawMcp } from '../support/worlds/mcp/raw-mcp.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { verifies } from '../support/suite/verifies.ts';

const QUESTION = [
  'From: Bob <bob@example.com>',
  'To: anna@example.com',
  'Subject: Lunch?',
  'Message-ID: <lunch@example.com>',
  '',
  'Today?',
  '',
].join('\r\n');

describe('email.act on drafts', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });

  interface How {
    readonly mode?: string;
    readonly key?: string | null;
    readonly token?: string;
    readonly cardinality?: object;
  }
  const act = (
    operation: object,
    { mode, key = randomUUID(), token, cardinality }: How = {},
  ): Promise<Answer> =>
    world.gateway.rest(
      'POST',
      `/mailboxes/${world.mailboxId}/email.act`,
      { operation, ...(mode && { authorization: { mode } }), ...(cardinality && { cardinality }) },
      { ...(key !== null && { key }), ...(token && { token }) },
    );
  const fine = async (operation: object, how?: How): Promise<Json> => {
    const { status, body } = await act(operation, how);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const code = async (operation: object, how?: How): Promise<string> => {
    const { status, body } = await act(operation, how);
    return `${String(status)} ${String(body.error?.code)}`;
  };
  const arrived = (wanted: string): Promise<string> =>
    eventually(async () => {
      const { body } = await world.gateway.rest('GET', `/mailboxes/${world.mailboxId}/messages`);
      const found = (body.items as Json[]).find(({ subject }) => subject === wanted);
      if (!found) throw new Error('it has not arrived');
      return String(found.id);
    });
  const newDraft = (subject = 'Hello') => ({
    type: 'draft_create',
    draft: { to: ['bob@example.com'], subject, text: 'Hello Bob.' },
  });
  const agentToken = async (): Promise<string> => {
    const { body } = await world.gateway.rest('POST', '/tokens', {
      name: 'of the agent',
      principal_id: world.gateway.tokens.agentId,
      surface: 'rest',
      scopes: ['drafts:read', 'drafts:write', 'drafts:send', 'drafts:discard'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    return String(body.token);
  };

  it(`creates, edits and sends a draft and reports an operation ${verifies('contract:6:draft-operations', 'contract:6:operation-read')}`, async () => {
    const subject = `Act ${randomUUID()}`;
    const created = await fine(newDraft(subject));
    expect(created).to.deep.include({ status: 'completed', results: [] });
    expect(created.draft).to.deep.include({ id: created.draft_id, subject, version: 1, status: 'open' });
    const on = { draft_id: created.draft_id, expected_version: 1 };
    const edited = await fine({ type: 'draft_edit', ...on, patch: { text: 'Hello again, Bob.' } });
    expect(edited.draft).to.deep.include({ version: 2, subject });
    expect(await code({ type: 'draft_edit', ...on, patch: { text: 'Late.' } })).to.equal(
      '412 version_conflict',
    );
    expect(await code({ type: 'draft_send', ...on })).to.equal('412 version_conflict');
    const sent = await fine({ type: 'draft_send', draft_id: created.draft_id, expected_version: 2 });
    expect(sent).to.deep.include({ status: 'completed', draft_id: created.draft_id });
    expect(sent.draft.status).to.equal('sent');
    await relay.delivered();
    expect(await world.copies('bob', 'INBOX', subject)).to.have.length(1);
    const operation = await world.gateway.rest('GET', `/operations/${String(sent.operation_id)}`);
    expect(operation.body).to.deep.include({
      state: 'completed',
      capability: 'email_act',
      draft_id: created.draft_id,
      summary: { done: 1, failed: 0, unknown: 0 },
    });
  });

  it(`answers a message and discards the answer ${verifies('contract:6:draft-operations')}`, async () => {
    await appendMessages(dovecot.imap(), 'anna', [{ raw: QUESTION }]);
    const message_id = await arrived('Lunch?');
    const reply = await fine({ type: 'draft_reply', message_id, text: 'Gladly.' });
    expect(reply.draft).to.deep.include({
      kind: 'reply',
      in_reply_to: '<lunch@example.com>',
      subject: 'Re: Lunch?',
    });
    const discarded = await fine({ type: 'draft_discard', draft_id: reply.draft_id });
    expect(discarded.draft.status).to.equal('discarded');
    expect(await code({ type: 'draft_send', draft_id: reply.draft_id })).to.equal('409 draft_locked');
  });

  it(`reports the recipients that an answer cannot reach ${verifies('contract:7:skipped-recipients')}`, async () => {
    const head = 'From: <"john doe"@example.org>\r\nTo: anna@example.com\r\nCc: john..doe@docomo.ne.jp';
    await appendMessages(dovecot.imap(), 'anna', [{ raw: `${head}\r\nSubject: Odd\r\n\r\nHi` }]);
    const message_id = await arrived('Odd');
    const { status, body } = await act({ type: 'draft_reply', message_id, text: 'Yes' });
    expect([status, body.error.code]).to.deep.equal([400, 'invalid_request']);
    expect(body.error.details.skipped_recipients).to.have.length(1);
    const all = {
      type: 'draft_reply',
      message_id,
      text: 'Yes',
      reply_all: true,
      to_add: ['bob@example.com'],
    };
    const { draft } = await fine(all);
    expect(draft.to).to.deep.equal([{ name: null, email: 'bob@example.com' }]);
    expect((draft.skipped_recipients as Json[]).map(({ address }) => address)).to.deep.equal([
      'john doe@example.org',
      'john..doe@docomo.ne.jp',
    ]);
    const path = `/drafts/${String(draft.id)}`;
    const patched = await world.gateway.rest('POST', `${path}/patch_draft`, { subject: 'Re: odd' });
    expect(patched.body.skipped_recipients).to.deep.equal(draft.skipped_recipients);
  });

  it(`creates one draft per key over REST and MCP ${verifies('contract:6:draft-operations')}`, async () => {
    const key = randomUUID();
    const operation = newDraft('Once');
    expect(await code(operation, { key: null })).to.equal('400 idempotency_key_required');
    const [first, again] = [await act(operation, { key }), await act(operation, { key })];
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.body).to.deep.include({ draft_id: first.body.draft_id, original_status: 'completed' });
    expect(await code(newDraft('Other'), { key })).to.equal('422 idempotency_key_reused');
    const url = `${world.gateway.baseUrl}/mcp`;
    const bearer = world.gateway.tokens.mcpToken;
    const headers = await openSession(url, '2025-06-18', bearer);
    const tool = async (args: object): Promise<Json> => {
      const { body } = await rawMcp(url, { bearer, headers, body: callOf('email_act', args) });
      return (body as Json).result;
    };
    const args = { mailbox_id: world.mailboxId, operation, idempotency_key: randomUUID() };
    const made = await tool(args);
    expect(made.structuredContent.draft).to.deep.include({ subject: 'Once', version: 1 });
    expect(made.structuredContent.draft_id).to.not.equal(first.body.draft_id);
    expect((await tool(args)).structuredContent.draft_id).to.equal(made.structuredContent.draft_id);
    // The owner's only mailbox need not be named; an agent's send wants an approval on this face as well.
    const send = { type: 'draft_send', draft_id: made.structuredContent.draft_id };
    const preview = await tool({ operation: send, authorization: { mode: 'preview' } });
    expect(preview.structuredContent.preview.policy.decision).to.equal('require');
    const asked = await tool({ operation: send, idempotency_key: randomUUID() });
    expect(asked.structuredContent).to.deep.include({ status: 'awaiting_approval' });
    expect(asked.structuredContent.approval.status).to.equal('awaiting_approval');
  });

  it(`accepts three modes for writing a draft and writes none when it previews ${verifies('contract:6:draft-modes')}`, async () => {
    for (const mode of ['request_approval', 'prepare']) {
      expect(await code(newDraft(), { mode })).to.equal('422 operation_unsupported');
    }
    const { draft_id: made } = await fine(newDraft(), { mode: 'execute' });
    const listedWith = (id: string): Promise<readonly string[]> =>
      eventually(async () => {
        const { body } = await world.gateway.rest('GET', '/drafts?limit=200');
        const ids = (body.items as { id: string }[]).map((item) => item.id);
        if (!ids.includes(id)) throw new Error('the list of drafts lags');
        return ids;
      });
    const before = await listedWith(made as string);
    const preview = await fine(newDraft(), { mode: 'preview', key: null });
    expect(preview).to.deep.include({ status: 'preview', results: [] });
    expect(preview.preview.policy).to.deep.include({ decision: 'allow', rule_id: 'default.reversible' });
    expect(preview).to.not.have.property('draft_id');
    const { draft_id } = await fine(newDraft());
    // The next one that is made follows upon those from before.
    const after = await listedWith(draft_id as string);
    expect(after).to.deep.equal([draft_id, ...before]);
    const edit = { type: 'draft_edit', draft_id, patch: { subject: 'New' } };
    expect((await fine(edit, { mode: 'preview', key: null })).draft).to.deep.include({
      subject: 'Hello',
      version: 1,
    });
    const discard = { type: 'draft_discard', draft_id };
    expect((await fine(discard, { mode: 'preview', key: null })).draft.status).to.equal('open');
    expect(await world.statusOf(draft_id as string)).to.equal('open');
    // What would be refused is refused in the preview as well.
    const stale = { ...edit, expected_version: 9 };
    expect(await code({ ...discard, expected_version: 9 }, { mode: 'preview' })).to.equal(
      '412 version_conflict',
    );
    expect(await code({ type: 'draft_reply', message_id: 'msg_0', text: 'x' }, { mode: 'preview' })).to.equal(
      '404 not_found',
    );
    expect(await code(stale)).to.equal('412 version_conflict');
  });

  it(`never sends when policy requires an approval ${verifies('contract:6:draft-send-modes')}`, async () => {
    const { draft_id } = await fine(newDraft());
    const send = { type: 'draft_send', draft_id };
    const token = await agentToken();
    expect(await code(send, { mode: 'execute', token })).to.equal('403 approval_required');
    for (const mode of ['execute_or_request_approval', 'request_approval', 'prepare']) {
      expect(await code(send, { mode, token }), mode).to.equal('403 insufficient_scope');
    }
    const preview = await fine(send, { mode: 'preview', token, key: null });
    expect(preview.preview.policy).to.deep.equal({
      decision: 'require',
      rule_id: 'default.irreversible',
      version: 1,
    });
    expect(preview.preview.content_hash).to.equal(preview.draft.content_hash);
    const approvals = async (bearer?: string): Promise<unknown> => {
      const { body } = await world.gateway.rest(
        'GET',
        '/identity',
        undefined,
        bearer === undefined ? {} : { token: bearer },
      );
      return (body.mailboxes as Json[]).find(({ id }) => id === world.mailboxId)?.requires_approval;
    };
    expect([await approvals(token), await approvals()]).to.deep.equal([['send', 'expunge'], ['expunge']]);
    // The owner's own tools may send.
    expect(await world.statusOf(draft_id as string)).to.equal('open');
    expect((await fine(send, { mode: 'execute' })).draft.status).to.equal('sent');
  });

  it('requires the scope of each operation and finds a draft only in its own mailbox', async () => {
    const { draft_id } = await fine(newDraft());
    const token = await world.gateway.rest('POST', '/tokens', {
      name: 'Writer',
      surface: 'rest',
      scopes: ['drafts:write'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const writer = { token: String(token.body.token) };
    for (const type of ['draft_send', 'draft_discard']) {
      expect(await code({ type, draft_id }, writer)).to.equal('403 insufficient_scope');
    }
    const archive = {
      type: 'message_actions',
      select: { message_ids: ['msg_0'] },
      actions: [{ type: 'archive' }],
    };
    expect(await code(archive, writer)).to.equal('403 insufficient_scope');
    expect(
      (await fine({ type: 'draft_edit', draft_id, patch: { subject: 'Mine' } }, writer)).draft.version,
    ).to.equal(2);
    expect(await code({ type: 'draft_discard', draft_id: 'drf_0' })).to.equal('404 not_found');
    expect(await code({ type: 'draft_discard', draft_id }, { cardinality: { max: 1 } })).to.equal(
      '400 invalid_request',
    );
    const second = await world.gateway.addMailbox(dovecot.imap(), 'carol');
    const elsewhere = await world.gateway.rest(
      'POST',
      `/mailboxes/${second}/email.act`,
      { operation: { type: 'draft_discard', draft_id } },
      { key: randomUUID() },
    );
    expect(elsewhere.status).to.equal(404);
  });

  it(`obeys a policy about drafts on every route ${verifies('contract:8:drafts')}`, async () => {
    const { draft_id } = await fine(newDraft());
    const { ports } = world.gateway.gateway;
    const { orgId, agentId } = world.gateway.tokens;
    const before = ports.directory.state.policies.get(orgId)?.rules ?? [];
    const when = { actions: ['draft_create', 'draft_edit', 'draft_discard'], principal_ids: [agentId] };
    const rules = [...before, { id: 'no-drafts', when, then: { decision: 'deny' } }];
    const document = readPolicyDocument(ports.directory.state, orgId, { rules });
    await setPolicy(ports, systemAuthor(ports, orgId), orgId, document);
    const token = await agentToken();
    expect(await code(newDraft(), { token })).to.equal('403 policy_denied');
    const mailbox = `/mailboxes/${world.mailboxId}`;
    for (const [path, body] of [
      [`${mailbox}/start_draft`, { to: ['bob@example.com'] }],
      [`/drafts/${String(draft_id)}/patch_draft`, { subject: 'New' }],
      [`/drafts/${String(draft_id)}/discard_draft`, {}],
    ] as const) {
      const answer = await world.gateway.rest('POST', path, body, { token, key: randomUUID() });
      expect(answer.body.error).to.deep.include({ code: 'policy_denied' });
      expect(answer.body.error.details.policy).to.deep.equal({
        decision: 'deny',
        rule_id: 'no-drafts',
        version: 2,
      });
    }
    const preview = await fine(newDraft(), { token, mode: 'preview', key: null });
    expect(preview.preview.policy).to.deep.equal({ decision: 'deny', rule_id: 'no-drafts', version: 2 });
    expect((await fine(newDraft())).status).to.equal('completed');
  });
});
