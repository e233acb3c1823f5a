import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { loadAggregate, systemAuthor } from '../../commands/kernel/decide-and-append.ts';
import { draft } from '../../commands/drafts/draft.ts';
import { freezeDraft, freezeForApproval } from '../../commands/sending/freeze-draft.ts';
import { approvalIdOf } from '../../commands/operations/operation.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually, type Json } from '../support/worlds/gateway.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';
import { DraftCalls } from './draft-calls.ts';

const RULES = [
  { id: 'held', when: { actions: ['send'], recipient_domains: ['held.example'] }, then: { decision: 'allow', undo_seconds: 2 } },
  { id: 'undo', when: { actions: ['send'], recipient_domains: ['undo.example'] }, then: { decision: 'require', undo_seconds: 60 } },
]; // prettier-ignore
const AGENT_SCOPES = [
  'drafts:read',
  'drafts:send',
  'approvals:request',
  'approvals:commit',
  'approvals:cancel',
];

/** Who asks is an agent; who decides is the owner, signed in. */
describe('sends that wait for an approval', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let server: ScriptedSmtp;
  let world: SendingWorld;
  let owner: SignedInPerson;
  let agentToken: string;
  let scriptedId: string;
  let calls: DraftCalls;
  let leftId: string;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    [relay, server] = [await MailRelay.start(dovecot), await ScriptedSmtp.start()];
    world = await SendingWorld.open(dovecot, relay.port);
    const { gateway } = world;
    [owner, scriptedId] = await Promise.all([
      signInOwner(gateway),
      gateway.addMailbox(dovecot.imap(), 'carol', server.port),
    ]);
    const put = await owner.rest('PUT', '/org/policy', { rules: RULES });
    expect(put.status, JSON.stringify(put.body)).to.equal(200);
    const { body } = await gateway.rest('POST', '/tokens', {
      name: 'of the agent',
      principal_id: gateway.tokens.agentId,
      surface: 'rest',
      scopes: AGENT_SCOPES,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    agentToken = (body as { token: string }).token;
    calls = new DraftCalls(gateway, world.mailboxId);
    leftId = await frozenForNobody();
  });
  after(async () => {
    await world.stop();
    await Promise.all([relay.stop(), server.stop()]);
    await dovecot.dispose();
  });
  beforeEach(() => {
    server.script = {};
  });

  /** A draft that a process froze before it died. */
  const frozenForNobody = async (): Promise<string> => {
    const { ports } = world.gateway.gateway;
    const { id: draftId } = await world.draft();
    const { state, revision } = await loadAggregate(ports.events, draft, draftId);
    const mailbox = ports.directory.state.mailboxes.get(world.mailboxId);
    if (!mailbox) throw new Error('no mailbox');
    const operationId = ports.ids.newId('opn');
    const frozen = await freezeDraft(ports, { draftId, operationId, mailbox, state });
    const loaded = { id: draftId, mailboxId: mailbox.id, state, revision };
    const author = systemAuthor(ports, mailbox.orgId);
    const held = { loaded, lease: { assertHeld: () => undefined, release: () => Promise.resolve() } };
    await freezeForApproval(ports, author, held, { ...frozen, approval_id: approvalIdOf(operationId) });
    return draftId;
  };
  const agent = (path: string, body: object = {}, key: string = randomUUID()): Promise<Answer> =>
    world.gateway.rest('POST', path, body, { key, token: agentToken });
  const get = async (path: string): Promise<Json> => (await owner.rest('GET', path)).body;
  /** A draft in the mailbox whose submission server answers by a script. */
  const scripted = async (to: readonly string[] = ['bob@example.com']): Promise<{ id: string; subject: string }> => {
    const subject = `Mail ${randomUUID()}`;
    const path = `/mailboxes/${scriptedId}/start_draft`;
    const { body } = await world.gateway.rest('POST', path, { to, subject, text: 'Hello.' }, { key: randomUUID() });
    return { id: String(body.id), subject };
  }; // prettier-ignore
  const acceptedOf = (subject: string): number =>
    [...relay.accepted, ...server.accepted].filter(({ raw }) => raw.includes(subject)).length;
  /** In the default mode: committed with the vote. */
  const askByAct = async (id: string, mailboxId: string): Promise<Json> => {
    const operation = { type: 'draft_send', draft_id: id };
    const { status, body } = await agent(`/mailboxes/${mailboxId}/email.act`, { operation });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status).to.equal('awaiting_approval');
    return body;
  };
  const wants = async (id: string, key?: string): Promise<Json> => {
    const { status, body } = await agent(`/drafts/${id}/wants_to_send_draft`, { reason: 'A greeting.' }, key);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const decide = ({ approval }: Json, decision = 'approve', more: object = {}): Promise<Answer> =>
    owner.rest('POST', `/approvals/${String(approval.id)}/decision`, {
      decision,
      content_hash: approval.content_hash,
      ...more,
    });
  const commit = ({ approval }: Json, key?: string): Promise<Answer> =>
    agent(`/approvals/${String(approval.id)}/approval_commit`, {}, key);

  it(`return an attachment exactly as it would be sent to those who see the approval, and record it ${verifies('contract:9:attachments')}`, async () => {
    const file = Buffer.from('PDF? No: plain words.\n'.repeat(400));
    const { gateway, mailboxId } = world;
    const { body: drafted } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/start_draft`,
      {
        to: ['bob@example.com'],
        subject: 'With a file',
        text: 'Hello.',
        attachments: [
          { filename: 'a.txt', content_type: 'text/plain', content_base64: file.toString('base64') },
          { filename: 'b.pdf', content_type: 'application/pdf', content_base64: 'JVBERi0=' },
        ],
      },
      { key: randomUUID() },
    );
    const { approval } = await wants(String(drafted.id));
    const id = String(approval.id);
    const fetched = (index: number | string, headers: object = {}, token = gateway.tokens.restToken) =>
      fetch(`${gateway.baseUrl}/api/v1/approvals/${id}/attachments/${String(index)}`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    const whole = await fetched(0);
    expect(whole.status).to.equal(200);
    expect(Buffer.from(await whole.arrayBuffer()).equals(file)).to.equal(true);
    expect(whole.headers.get('content-disposition')).to.equal('attachment; filename="a.txt"');
    expect(whole.headers.get('content-security-policy')).to.include('sandbox');
    expect(whole.headers.get('x-content-type-options')).to.equal('nosniff');
    expect(whole.headers.get('content-length')).to.equal(String(file.length));
    const part = await fetched(0, { range: 'bytes=10-19' });
    expect([part.status, await part.text()]).to.deep.equal([206, file.subarray(10, 20).toString()]);
    const shown = await fetched('0?disposition=inline');
    expect(shown.headers.get('content-disposition')).to.equal('inline; filename="a.txt"');
    expect(shown.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    await shown.body?.cancel();
    const pdf = await fetched('1?disposition=inline');
    expect(pdf.headers.get('content-disposition')).to.equal('attachment; filename="b.pdf"');
    expect(await pdf.text()).to.equal('%PDF-');
    for (const [index, status] of [
      [2, 404],
      ['x', 400],
      ['-1', 400],
    ] as const)
      expect((await fetched(index)).status).to.equal(status);
    const { ports } = gateway.gateway;
    await ports.readModels.waitFor(await ports.events.headPosition(), 5_000);
    const { items } = await get(`/audit?type=BodiesRead&mailbox_id=${mailboxId}&limit=20`);
    const reads = (items as Json[]).filter(({ data }) => JSON.stringify(data).includes(id));
    expect(reads.length).to.be.greaterThan(0);
  });

  it(`reach the reader when a person has approved ${verifies('contract:17:route-wants-to-send-draft', 'contract:7:commit-of-send', 'contract:7:frozen-first', 'contract:7:sent-by')}`, async () => {
    const { id, subject } = await world.draft(['bob@example.com']);
    const asked = await askByAct(id, world.mailboxId);
    expect(asked.draft).to.include({ status: 'in_review', approval_id: asked.approval.id });
    expect(acceptedOf(subject)).to.equal(0);
    expect((await world.send(id, randomUUID())).body.error).to.include({ code: 'approval_pending' });
    const { body: decided } = await decide(asked);
    expect(decided.status).to.equal('committed');
    await relay.delivered();
    const draft = await get(`/drafts/${id}`);
    expect(draft).to.include({ status: 'sent', approval_id: asked.approval.id });
    const arrived = await world.copies('bob', 'INBOX', subject);
    expect(arrived.map(({ messageId }) => messageId)).to.deep.equal([draft.message_id]);
    await eventually(async () => {
      expect(await world.copies('anna', 'Sent', subject)).to.have.length(1);
    });
  });

  it('run once when the agent commits the approval', async () => {
    const { id, subject } = await world.draft();
    const asked = await wants(id);
    expect((await commit(asked)).body.error).to.include({ code: 'approval_pending' });
    expect((await decide(asked)).body.status).to.equal('pending_commit');
    const key = randomUUID();
    const done = await commit(asked, key);
    expect(done.status, JSON.stringify(done.body)).to.equal(200);
    expect(done.body).to.deep.include({ status: 'completed', summary: { done: 1, failed: 0, unknown: 0 } });
    expect(done.body.draft.status).to.equal('sent');
    expect((await commit(asked, key)).headers.get('idempotency-replayed')).to.equal('true');
    expect((await commit(asked)).body.error).to.include({ code: 'approval_not_pending' });
    expect(acceptedOf(subject)).to.equal(1);
  });

  it(`change the ETag of their draft at every step, and refuse a stale one ${verifies('contract:7:draft-etag')}`, async () => {
    const { id } = await world.draft();
    const { gateway } = world;
    const etagOf = async (): Promise<string> =>
      (await owner.rest('GET', `/drafts/${id}`)).headers.get('etag') ?? '';
    const written = await etagOf();
    expect(written).to.equal('"1.0"');
    const asked = await wants(id);
    const inReview = await etagOf();
    expect(inReview).to.equal('"1.1"');
    const stale = { headers: { 'if-match': written } };
    const refusals = [
      await gateway.rest('POST', `/drafts/${id}/patch_draft`, { text: 'Sneaked in.' }, stale),
      await gateway.rest('POST', `/drafts/${id}/discard_draft`, {}, stale),
      await gateway.rest('DELETE', `/drafts/${id}`, undefined, stale),
      await gateway.rest('POST', `/drafts/${id}/send_draft`, {}, { ...stale, key: randomUUID() }),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.error.code, body.error.details]).to.deep.equal([
        412,
        'version_conflict',
        { version: 1, revision: 1 },
      ]);
    }
    expect(await get(`/approvals/${String(asked.approval.id)}`)).to.include({ status: 'awaiting_approval' });
    await decide(asked);
    await commit(asked);
    expect([written, inReview]).not.to.include(await etagOf());
  });

  it('are requested by the tool as well', async () => {
    const { id } = await world.draft();
    const call = { draft_id: id, reason: 'A greeting.', idempotency_key: randomUUID() };
    const { structuredContent } = await calls.tool('wants_to_send_draft', call);
    expect(structuredContent).to.include({ status: 'awaiting_approval', draft_id: id });
    const { body } = await decide(structuredContent, 'reject', { reason: 'Not like that.' });
    expect(body.status).to.equal('rejected');
    expect(await get(`/drafts/${id}`)).to.include({ status: 'open', approval_id: null });
  });

  it(`are requested again after an edit, which supersedes the earlier approval ${verifies('contract:10:edit-supersedes')}`, async () => {
    const { id, subject } = await world.draft();
    const first = await wants(id);
    await decide(first);
    const edited = await world.gateway.rest('POST', `/drafts/${id}/patch_draft`, { text: 'Better.' });
    expect(edited.body).to.include({ status: 'open', approval_id: null });
    expect((await commit(first)).body.error).to.include({ code: 'approval_invalidated' });
    const second = await wants(id);
    await eventually(async () => {
      const before = await get(`/approvals/${String(first.approval.id)}`);
      expect(before).to.include({ status: 'superseded', superseded_by: second.approval.id });
    });
    expect(acceptedOf(subject)).to.equal(0);
  });

  it(`retry automatically under the same approval ${verifies('contract:7:retry-under-check')}`, async () => {
    const { id, subject } = await scripted();
    server.script.rcpt = () => '450 4.2.0 greylisted';
    const asked = await askByAct(id, scriptedId);
    const { body } = await decide(asked);
    expect(body.status).to.equal('pending_commit');
    const waiting = await get(`/drafts/${id}`);
    expect(waiting).to.include({ status: 'in_review', approval_id: asked.approval.id });
    expect(waiting.retry_at).to.equal(body.commit_at);
    server.script = {};
    await world.waitForStatus(id, 'sent');
    await eventually(async () => {
      expect(await get(`/approvals/${String(asked.approval.id)}`)).to.include({ status: 'committed' });
    });
    expect(acceptedOf(subject)).to.equal(1);
  });

  it('report the refused recipients', async () => {
    const { id } = await scripted(['bob@example.com', 'nobody@example.com']);
    server.script.rcpt = (line) => (line.includes('nobody') ? '550 5.1.1 no such user' : undefined);
    const asked = await wants(id);
    await decide(asked);
    const { body } = await commit(asked);
    expect(body.draft.rejected).to.deep.equal([
      { address: 'nobody@example.com', smtp_status: 550, response: '550 5.1.1 no such user' },
    ]);
    expect(body.approval.status).to.equal('committed');
  });

  it('are cancelled during the undo time', async () => {
    const { id, subject } = await world.draft(['bob@undo.example']);
    const asked = await askByAct(id, world.mailboxId);
    const { body } = await decide(asked);
    expect(body).to.include({ status: 'pending_commit' });
    expect(Date.parse(body.commit_at)).to.be.greaterThan(Date.now());
    const taken = await agent(`/approvals/${String(asked.approval.id)}/cancel_approval`);
    expect(taken.body).to.include({ status: 'cancelled' });
    expect(await get(`/drafts/${id}`)).to.include({ status: 'open' });
    expect(acceptedOf(subject)).to.equal(0);
  });

  it('leave no draft in review when the approval was never requested', async () => {
    await world.waitForStatus(leftId, 'open');
    const stored = await world.gateway.gateway.ports.events.readStream(`draft-${leftId}`);
    expect(stored.at(-1)?.data).to.include({ why: 'never_requested' });
  });

  it(`run without approval after the undo time when policy says so ${verifies('contract:8:send-undo')}`, async () => {
    const [sent, stopped] = [await world.draft(['bob@held.example']), await world.draft(['bob@held.example'])];
    for (const { id } of [sent, stopped]) {
      const { body } = await world.send(id, randomUUID());
      expect(body).to.include({ status: 'pending_commit' });
      expect(body.draft.status).to.equal('sending');
      expect(Date.parse(body.draft.commit_at)).to.be.greaterThan(Date.now());
    }
    const discarded = await world.gateway.rest('POST', `/drafts/${stopped.id}/discard_draft`, {});
    expect(discarded.body.status).to.equal('discarded');
    await world.waitForStatus(sent.id, 'sent');
    expect([acceptedOf(sent.subject), acceptedOf(stopped.subject)]).to.deep.equal([1, 0]);
  }); // prettier-ignore
});
