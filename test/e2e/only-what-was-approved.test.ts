import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { type Answer, eventually, type Json } from '../support/worlds/gateway.ts';
import { appendMessages, withClient } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { type SignedInPerson, signInOwner } from '../support/worlds/sign-in.ts';
import { storedBytes, tracesOf } from '../support/models/traces.ts';
import { verifies } from '../support/suite/verifies.ts';

const MODES = ['execute_or_request_approval', 'execute', 'request_approval', 'prepare', 'preview'] as const;
const rule = (decision: string, more: object = {}): object => ({
  id: `rule-${decision}`,
  when: { actions: ['archive', 'send'] },
  then: { decision, ...more },
});
const REQUIRE = rule('require', { auto_commit: false });

/** A status of the reply, or the code of the refusal (`contract.md` 6); a sample of what the unit test runs in whole. */
const TABLE: Readonly<Record<string, Readonly<Record<(typeof MODES)[number], string>>>> = {
  allow: {
    execute_or_request_approval: 'completed',
    execute: 'completed',
    request_approval: 'awaiting_approval',
    prepare: 'pending_commit',
    preview: 'preview',
  },
  require: {
    execute_or_request_approval: 'awaiting_approval',
    execute: 'approval_required',
    request_approval: 'awaiting_approval',
    prepare: 'awaiting_approval',
    preview: 'preview',
  },
  deny: {
    execute_or_request_approval: 'policy_denied',
    execute: 'policy_denied',
    request_approval: 'policy_denied',
    prepare: 'policy_denied',
    preview: 'preview',
  },
};

const INVALIDATED = 'approval_invalidated';
/** The commit finds what is gone, or comes after the gateway that ends such approvals by itself (`contract.md` 10). */
const BY_EITHER = ['selection_changed', INVALIDATED];

interface Refusal {
  readonly codes?: readonly string[];
  readonly policy?: object | null;
}

/** Who asks is a token of the owner; who decides is the owner, signed in. */
describe('an approved operation', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;
  let relay: MailRelay;
  let world: SendingWorld;
  let owner: SignedInPerson;

  before(async function () {
    dovecot = await requireTestDovecot(this);
    relay = await MailRelay.start(dovecot);
    world = await SendingWorld.open(dovecot, relay.port);
    owner = await signInOwner(world.gateway);
  });
  after(async () => {
    await world.stop();
    await relay.stop();
    await dovecot.dispose();
  });
  beforeEach(() => rules(REQUIRE));

  const rules = async (...all: readonly object[]): Promise<void> => {
    const { status, body } = await owner.rest('PUT', '/org/policy', { rules: all });
    expect(status, JSON.stringify(body)).to.equal(200);
  };
  /** Messages in INBOX: their ids and Message-IDs. */
  const arrive = async (count: number): Promise<readonly { id: string; messageId: string }[]> => {
    const word = randomUUID();
    const messages = Array.from({ length: count }, (_, at) => {
      const [subject, messageId] = [`${word} ${String(at)}`, `<${word}-${String(at)}@example.org>`];
      const raw = `From: b@example.org\r\nSubject: ${subject}\r\nMessage-ID: ${messageId}\r\n\r\nHello.\r\n`;
      return { subject, messageId, raw };
    });
    await appendMessages(dovecot.imap(), 'anna', messages);
    return await eventually(async () => {
      const path = `/mailboxes/${world.mailboxId}/messages?folder=inbox&limit=100`;
      const { body } = await world.gateway.rest('GET', path);
      return messages.map(({ subject, messageId }) => {
        const found = (body.items as Json[]).find((item) => item.subject === subject);
        if (!found) throw new Error('it has not arrived');
        return { id: String(found.id), messageId };
      });
    });
  };
  const act = (operation: object, mode: string, more: object = {}): Promise<Answer> =>
    world.gateway.rest(
      'POST',
      `/mailboxes/${world.mailboxId}/email.act`,
      { operation, authorization: { mode, ...more } },
      mode === 'preview' ? {} : { key: randomUUID() },
    );
  const archive = (id: string) => ({
    type: 'message_actions',
    select: { message_ids: [id] },
    actions: [{ type: 'archive' }],
  });
  /** Asked for and approved. */
  const approved = async (operation: object, why: { readonly reason?: string } = {}): Promise<Json> => {
    const { body: asked } = await act(operation, 'request_approval', why);
    expect(asked.status, JSON.stringify(asked)).to.equal('awaiting_approval');
    const { id, content_hash } = asked.approval;
    const path = `/approvals/${String(id)}/decision`;
    const { body } = await owner.rest('POST', path, { decision: 'approve', content_hash, ...why });
    expect(body.status, JSON.stringify(body)).to.equal('pending_commit');
    return asked;
  };
  const commit = ({ approval }: Json): Promise<Answer> =>
    world.gateway.rest(
      'POST',
      `/approvals/${String(approval.id)}/approval_commit`,
      {},
      { key: randomUUID() },
    );
  const lastEvent = async ({ operation_id }: Json) =>
    await world.gateway.gateway.ports.events.readLast(`operation-${String(operation_id)}`);
  const inInbox = (messageId: string): Promise<boolean> =>
    withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX', { readOnly: true });
      const found = await client.search({ header: { 'Message-ID': messageId } }, { uid: true });
      return Array.isArray(found) && found.length === 1;
    });
  /** Refused for good: the answer and the event say why. */
  const refusedFor = async (asked: Json, reason: string, { codes = [INVALIDATED], policy = null }: Refusal = {}): Promise<void> => {
    const { body } = await commit(asked);
    expect(body.error?.code, JSON.stringify(body)).to.be.oneOf(codes);
    expect(body.error.details).to.include({ reason });
    const event = await lastEvent(asked);
    expect(event?.type).to.equal('ApprovalInvalidated');
    expect(event?.data).to.deep.equal({ reason, policy });
    const { body: again } = await commit(asked);
    expect(again.error.code).to.equal(INVALIDATED);
    expect(again.error.details).to.deep.equal({ status: 'invalidated', reason });
  }; // prettier-ignore

  for (const [decision, statuses] of Object.entries(TABLE)) {
    it(`depends on mode and policy alike when policy says ${decision} ${verifies('contract:6:modes', 'contract:6:check-modes')}`, async () => {
      await rules(decision === 'require' ? REQUIRE : rule(decision));
      const messages = await arrive(MODES.length);
      for (const [at, mode] of MODES.entries()) {
        const { id, messageId } = messages[at] ?? { id: '', messageId: '' };
        const { body } = await act(archive(id), mode);
        expect(body.status ?? body.error.code, `archive, ${mode}`).to.equal(statuses[mode]);
        expect(await inInbox(messageId), mode).to.equal(statuses[mode] !== 'completed');
        const draft = await world.draft();
        const before = relay.accepted.length;
        const sent = await act({ type: 'draft_send', draft_id: draft.id }, mode);
        expect(sent.body.status ?? sent.body.error.code, `send, ${mode}`).to.equal(statuses[mode]);
        expect(relay.accepted.length - before, mode).to.equal(statuses[mode] === 'completed' ? 1 : 0);
      }
    });
  }

  it(`is the content of the preview and of the sent mail ${verifies('contract:9:preview', 'contract:9:has-preview')}`, async () => {
    const { id, subject } = await world.draft(['bob@example.com']);
    const asked = await approved({ type: 'draft_send', draft_id: id });
    const { status, body } = await owner.rest('GET', `/approvals/${String(asked.approval.id)}/preview`);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(asked.approval.id).to.match(/^chk_/);
    expect(body.content_hash).to.equal(asked.approval.content_hash);
    expect(body.manifest.envelope).to.deep.equal({ from: 'anna@example.com', to: ['bob@example.com'] });
    expect(body.text).to.include(`Subject: ${subject}`).and.to.include('| Hello.');
    expect(body.text).not.to.include('The stored');
    await commit(asked);
    const sent = relay.accepted.find(({ raw }) => raw.includes(subject));
    expect(sent?.raw.toString()).to.include(`Message-ID: ${String(body.manifest.headers.message_id)}`);
  });

  it(`fails when a byte of the stored message changed ${verifies('contract:9:commit-checks')}`, async () => {
    const { id, subject } = await world.draft();
    const asked = await approved({ type: 'draft_send', draft_id: id });
    const { sql } = world.gateway.gateway.ports;
    const altered = await sql.query(
      `update vault.content_chunk set sealed = set_byte(sealed, length(sealed) / 2, get_byte(sealed, length(sealed) / 2) # 1)
        where content_id in (select id from vault.content where draft_id = $1 and kind = 'mime') returning content_id`,
      [id],
    );
    expect(altered).to.have.length(1);
    const { body } = await owner.rest('GET', `/approvals/${String(asked.approval.id)}/preview`);
    expect(body.text).to.include('WARNING: The stored message is not the one that the approval is for');
    await refusedFor(asked, 'manifest_mismatch');
    expect(relay.accepted.filter(({ raw }) => raw.includes(subject))).to.deep.equal([]);
  });

  it(`fails when policy has forbidden it since ${verifies('contract:10:invalidated')}`, async () => {
    const [message] = await arrive(1);
    const { id, subject } = await world.draft();
    const moved = await approved(archive(message?.id ?? ''));
    const sent = await approved({ type: 'draft_send', draft_id: id });
    await rules(rule('deny'));
    const { body } = await world.gateway.rest('GET', '/org/policy');
    const policy = { decision: 'deny', rule_id: 'rule-deny', policy_version: Number(body.version) };
    await refusedFor(moved, 'policy_stricter', { policy });
    await refusedFor(sent, 'policy_stricter', { policy });
    expect(await inInbox(message?.messageId ?? '')).to.equal(true);
    expect(relay.accepted.filter(({ raw }) => raw.includes(subject))).to.deep.equal([]);
  });

  it(`fails when the selection lost a message since ${verifies('contract:9:commit-checks')}`, async () => {
    const [kept, gone] = await arrive(2);
    const ids = [kept?.id, gone?.id];
    const asked = await approved({ ...archive(''), select: { message_ids: ids } });
    await withClient(dovecot.imap(), 'anna', async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageDelete({ header: { 'Message-ID': gone?.messageId ?? '' } });
    });
    await refusedFor(asked, 'targets_gone', { codes: BY_EITHER });
    expect(await inInbox(kept?.messageId ?? '')).to.equal(true);
  });

  it(`fails when the folder was renamed since ${verifies('contract:9:commit-checks')}`, async () => {
    const [message] = await arrive(1);
    await withClient(dovecot.imap(), 'anna', (client) => client.mailboxCreate('Plans'));
    const folders = `/mailboxes/${world.mailboxId}/folders/list`;
    const known = async (path: string): Promise<void> => {
      const { body } = await world.gateway.rest('GET', folders);
      expect((body.items as Json[]).map((folder) => folder.path)).to.include(path);
    };
    await eventually(() => known('Plans'));
    await rules({ ...REQUIRE, when: { actions: ['move'] } });
    const asked = await approved({
      ...archive(message?.id ?? ''),
      actions: [{ type: 'move', folder: 'Plans' }],
    });
    await withClient(dovecot.imap(), 'anna', (client) => client.mailboxRename('Plans', 'Bin of Eve'));
    await eventually(() => known('Bin of Eve'));
    await refusedFor(asked, 'targets_gone', { codes: BY_EITHER });
    expect(await inInbox(message?.messageId ?? '')).to.equal(true);
  });

  it(`leaves no text of a mail in the log ${verifies('contract:12:nothing-of-mail', 'contract:12:clear-text')}`, async () => {
    const secret = (kind: string): string => `${kind}-${randomUUID()}`;
    const [text, reason, refusal] = [secret('text'), secret('reason'), secret('refusal')];
    const reader = `${secret('reader')}@example.com`;
    const [message] = await arrive(1);
    const { id = '', messageId = '' } = message ?? {};
    const path = `/mailboxes/${world.mailboxId}`;
    const call = world.gateway.rest.bind(world.gateway);
    // Read, looked for, and asked for by what is no id.
    const select = { folder: 'inbox', filter: { message_id_header: messageId, body_contains: 'Hello' } };
    const found = await call('POST', `${path}/email.query`, { select, include_body: 'text' });
    expect(found.body.items, JSON.stringify(found.body)).to.have.length(1);
    const named = await call('GET', `/mailboxes/${encodeURIComponent(messageId)}/folders/list`);
    expect(named.status).to.equal(404);
    // Answered with approval; and a mail that the server refuses in words of its own.
    const answer = { message_id: id, to_add: [reader], text };
    const reply = await call('POST', `${path}/reply_to_thread`, answer, { key: randomUUID() });
    expect(reply.status, JSON.stringify(reply.body)).to.equal(201);
    await commit(await approved({ type: 'draft_send', draft_id: reply.body.id }, { reason }));
    const draft = await world.draft([reader]);
    relay.refusal = (raw) => `${refusal}: ${/^Message-ID: .*$/m.exec(raw.toString())?.[0] ?? ''}`;
    const refused = await commit(await approved({ type: 'draft_send', draft_id: draft.id }, { reason }));
    relay.refusal = () => null;
    expect(refused.body.error.code, JSON.stringify(refused.body)).to.equal('provider_rejected');
    expect(refused.body.error.details.server_response).to.include(refusal);
    const archived = await commit(await approved(archive(id), { reason }));
    expect(archived.body.status, JSON.stringify(archived.body)).to.equal('completed');
    const { sql } = world.gateway.gateway.ports;
    const log = await eventually(async () => {
      const stored = await storedBytes(sql);
      expect(typesAbout(stored, reply.body.id)).to.include.members([
        'DraftFrozen',
        'DraftSent',
        'SentCopyFiled',
      ]);
      expect(typesAbout(stored, draft.id)).to.include('DraftSendFailed');
      return stored;
    });
    const own = await Promise.all(
      [reply.body.id, draft.id].map(async (each) => (await call('GET', `/drafts/${String(each)}`)).body.message_id),
    ) as string[]; // prettier-ignore
    expect(own[0]).to.equal(relay.accepted.find(({ raw }) => raw.includes(text))?.messageId);
    const ids = [messageId, ...own].flatMap((each) => [each, each.slice(1, -1), each.slice(1, 37)]);
    const words = [text, reason, refusal, reader, 'b@example.org', draft.subject];
    expect(tracesOf(log, [...ids, ...words])).to.deep.equal([]);
    // Whoever may look is told all the same.
    const { body: lines } = await call('GET', '/audit?type=DraftFrozen&limit=2');
    expect((lines.items as Json[]).map(({ data }) => data.rfc_message_id)).to.have.members(own);
  });
});

const typesAbout = (
  events: readonly { readonly type: string; readonly raw: string }[],
  id: unknown,
): string[] => events.filter(({ raw }) => raw.startsWith(`draft-${String(id)} `)).map(({ type }) => type);
