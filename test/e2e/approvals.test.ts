import { expect } from 'chai';
import type { AnyEvent } from '../../commands/event-catalogue.ts';
import { feedStream } from '../../commands/feed/feed-events.ts';
import type { Fact } from '../../commands/values/event.ts';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { happened, sampleAuthor } from '../support/samples/event-author.ts';
import {
  type Answer,
  eventually,
  type Json,
  startWithMailbox,
  type TestGateway,
} from '../support/worlds/gateway.ts';
import { appendMessages, withClient } from '../support/servers/mail-append.ts';
import { SAMPLE_EVENTS } from '../support/samples/sample-events.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';
import { verifies } from '../support/suite/verifies.ts';

/** Who asks is a token of the owner; who decides is the owner, signed in. */
describe('approvals of message actions', function () {
  this.timeout(120_000);
  let dovecot: TestDovecot;
  let gateway: TestGateway;
  let mailboxId: string;
  let owner: SignedInPerson;
  let count = 0;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    ({ gateway, mailboxId } = await startWithMailbox(dovecot));
    owner = await signInOwner(gateway);
    await rules(
      { id: 'spam', when: { actions: ['spam'] }, then: { decision: 'require' } },
      { id: 'trash', when: { actions: ['trash'] }, then: { decision: 'require', undo_seconds: 2 } },
    );
  });
  after(async () => {
    await gateway.stop();
    await dovecot.dispose();
  });

  const rules = async (...all: readonly object[]): Promise<void> => {
    const { status, body } = await owner.rest('PUT', '/org/policy', { rules: all });
    expect(status, JSON.stringify(body)).to.equal(200);
  };
  /** A message in INBOX: its id, and its Message-ID. */
  const arrive = async (): Promise<{ id: string; messageId: string }> => {
    count += 1;
    const name = `approval-${String(count)}`;
    const raw = `From: b@example.org\r\nSubject: ${name}\r\nMessage-ID: <${name}@example.org>\r\n\r\nHello.\r\n`;
    await appendMessages(dovecot.imap(), 'anna', [{ raw }]);
    const id = await eventually(async () => {
      const { body } = await gateway.rest('GET', `/mailboxes/${mailboxId}/messages?folder=inbox`);
      const found = (body.items as Json[]).find(({ subject }) => subject === name);
      if (!found) throw new Error('it has not arrived');
      return String(found.id);
    });
    return { id, messageId: `<${name}@example.org>` };
  };
  const uidsIn = (folder: string, messageId: string): Promise<readonly number[]> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen(folder);
      const found = await client.search({ header: { 'Message-ID': messageId } }, { uid: true });
      return Array.isArray(found) ? found : [];
    });
  const ask = async (id: string, type: string, mode?: string): Promise<Json> => {
    count += 1;
    const { status, body } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/email.act`,
      {
        operation: { type: 'message_actions', select: { message_ids: [id] }, actions: [{ type }] },
        ...(mode === undefined ? {} : { authorization: { mode, reason: 'Because.' } }),
      },
      { key: `ask-${String(count)}` },
    );
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const decide = ({ approval }: Json, decision = 'approve', more: object = {}): Promise<Answer> =>
    owner.rest('POST', `/approvals/${String(approval.id)}/decision`, {
      decision,
      content_hash: approval.content_hash,
      ...more,
    });
  const commit = ({ approval }: Json, key = `commit-${String(approval.id)}`): Promise<Answer> =>
    gateway.rest('POST', `/approvals/${String(approval.id)}/approval_commit`, {}, { key });
  const cancel = ({ approval }: Json): Promise<Answer> =>
    gateway.rest('POST', `/approvals/${String(approval.id)}/cancel_approval`, { reason: 'No.' });

  it(`archive the approved message when the approval is committed ${verifies('contract:17:route-approval-commit', 'contract:9:sensitive', 'contract:6:status-awaiting-approval', 'contract:6:status-pending-commit')}`, async () => {
    const { id, messageId } = await arrive();
    const asked = await ask(id, 'archive', 'request_approval');
    expect(asked.status).to.equal('awaiting_approval');
    const early = await commit(asked);
    expect(early.body.error).to.include({ code: 'approval_pending' });
    const { body: approval } = await decide(asked);
    expect(approval).to.deep.include({ status: 'pending_commit', reason: 'Because.' });
    expect(await uidsIn('INBOX', messageId)).to.have.length(1);
    const { status, body } = await commit(asked);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.approval.status).to.equal('committed');
    expect(await uidsIn('INBOX', messageId)).to.deep.equal([]);
    expect(await uidsIn('Archive', messageId)).to.have.length(1);
    const again = await commit(asked);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.body).to.deep.equal(body);
  });

  it('expunge exactly the approved message, and none that other clients marked', async () => {
    const [kept, gone] = [await arrive(), await arrive()];
    await withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageFlagsAdd({ header: { 'Message-ID': kept.messageId } }, ['\\Deleted']);
    });
    const { status, body: asked } = await gateway.rest(
      'POST',
      `/mailboxes/${mailboxId}/wants_to_expunge`,
      { message_ids: [gone.id], reason: 'A secret.' },
      { key: 'expunge' },
    );
    expect(status, JSON.stringify(asked)).to.equal(200);
    expect(asked.status).to.equal('awaiting_approval');
    await decide(asked);
    const { body } = await commit(asked);
    expect(body.results).to.deep.equal([{ message_id: gone.id, action: 'expunge', outcome: 'done' }]);
    expect(await uidsIn('INBOX', gone.messageId)).to.deep.equal([]);
    expect(await uidsIn('INBOX', kept.messageId)).to.have.length(1);
    // The gateway's own change is told as such, not as somebody else's.
    const change = await eventually(async () => {
      const stream = feedStream(mailboxId, new Date());
      const told = (await gateway.gateway.ports.events.readStream(stream)).flatMap(
        ({ data }) => (data['changes'] as Json[] | undefined) ?? [],
      );
      const found = told.find(({ kind, locator }) => kind === 'deleted' && locator === gone.id);
      if (!found) throw new Error('the feed lags');
      return found;
    });
    expect(change.operation_id).to.equal(asked.operation_id);
  });

  it('commit with the vote when policy allows it', async () => {
    const { id, messageId } = await arrive();
    const { body } = await decide(await ask(id, 'spam'));
    expect(body.status).to.equal('committed');
    expect(await uidsIn('Junk', messageId)).to.have.length(1);
  });

  it(`run automatically when the undo time is over, and not when they were cancelled ${verifies('contract:17:route-cancel-approval')}`, async () => {
    const [run, stopped] = [await arrive(), await arrive()];
    const [first, second] = [await ask(run.id, 'trash'), await ask(stopped.id, 'trash')];
    for (const asked of [first, second]) {
      const { body } = await decide(asked);
      expect(body.status).to.equal('pending_commit');
      expect(Date.parse(body.commit_at)).to.be.greaterThan(Date.now());
    }
    expect((await cancel(second)).body).to.include({ status: 'cancelled', cancel_reason: 'No.' });
    await eventually(async () => {
      const { body } = await owner.rest('GET', `/approvals/${String(first.approval.id)}`);
      expect(body.status).to.equal('committed');
    });
    expect(await uidsIn('INBOX', run.messageId)).to.deep.equal([]);
    expect(await uidsIn('INBOX', stopped.messageId)).to.have.length(1);
    expect((await commit(second)).body.error).to.include({ code: 'approval_not_pending' });
  });

  it('run nothing when a person rejects with a reason', async () => {
    const { id, messageId } = await arrive();
    const asked = await ask(id, 'archive', 'request_approval');
    expect((await decide(asked, 'reject')).body.error).to.include({ code: 'invalid_request' });
    const { body } = await decide(asked, 'reject', { reason: 'Keep it.' });
    expect(body.status).to.equal('rejected');
    expect((await commit(asked)).body.error).to.include({ code: 'approval_not_pending' });
    expect(await uidsIn('INBOX', messageId)).to.have.length(1);
  });

  it(`are invalidated by the gateway itself when another client or the gateway moves the message ${verifies('contract:10:ground-gone')}`, async () => {
    const [taken, archived] = [await arrive(), await arrive()];
    const requests = [await ask(taken.id, 'spam'), await ask(archived.id, 'spam')] as const;
    await withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageMove({ header: { 'Message-ID': taken.messageId } }, 'Archive');
    });
    const moved = { message_ids: [archived.id] };
    expect((await gateway.rest('POST', `/mailboxes/${mailboxId}/archive`, moved)).status).to.equal(200);
    for (const request of requests) {
      await eventually(async () => {
        const { body } = await gateway.rest('GET', `/approvals/${String(request.approval.id)}`);
        expect(body).to.deep.include({ status: 'invalidated', invalidated: { reason: 'targets_gone' } });
      });
      expect((await decide(request)).body.error).to.include({ code: 'approval_invalidated' });
    }
  });

  it(`answer approval_expired at once when the time is over, and record it soon ${verifies('contract:10:expiry')}`, async () => {
    const { orgId, userId } = gateway.tokens;
    const { events, personal } = gateway.gateway.ports;
    const id = `opn_${'0'.repeat(25)}1`;
    const actor = { type: 'delegated' as const, id: userId, token_id: null, session_id: null };
    const expires_at = new Date(Date.now() - 1_000).toISOString();
    const manifest = await personal.seal(mailboxId, '{}');
    const { ApprovalRequested, OperationDecided, OperationSubmitted } = SAMPLE_EVENTS;
    const facts: readonly Fact<AnyEvent>[] = [
      { type: 'OperationSubmitted', data: { ...OperationSubmitted, mailbox_id: mailboxId, reason: null } },
      { type: 'OperationDecided', data: OperationDecided },
      { type: 'ApprovalRequested', data: { ...ApprovalRequested, draft_id: null, manifest, expires_at } },
    ];
    await happened(events, `operation-${id}`, facts, sampleAuthor(orgId, { actor }));
    const asked = {
      approval: { id: id.replace('opn_', 'chk_'), content_hash: ApprovalRequested.content_hash },
    };
    expect((await commit(asked)).body.error).to.include({ code: 'approval_expired' });
    await eventually(async () => {
      const last = await events.readLast(`operation-${id}`);
      expect(last?.type).to.equal('ApprovalExpired');
    });
  });
});
