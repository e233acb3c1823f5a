import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { requireTestDovecot, type TestDovecot } from '../support/servers/dovecot.ts';
import { eventually } from '../support/worlds/gateway.ts';
import { appendMessages } from '../support/servers/mail-append.ts';
import { MailRelay } from '../support/servers/mail-relay.ts';
import { ScriptedSmtp } from '../support/servers/scripted-smtp.ts';
import { SendingWorld } from '../support/worlds/sending-world.ts';
import { verifies } from '../support/suite/verifies.ts';

describe('send_draft', function () {
  this.timeout(90_000);
  let dovecot: TestDovecot;

  before(async function () {
    dovecot = await requireTestDovecot(this);
  });
  after(() => dovecot.dispose());

  describe('with a server that delivers', () => {
    let relay: MailRelay;
    let world: SendingWorld;

    before(async () => {
      relay = await MailRelay.start(dovecot);
      world = await SendingWorld.open(dovecot, relay.port);
    });
    after(async () => {
      await world.stop();
      await relay.stop();
    });

    it(`delivers the mail and files one seen copy in Sent ${verifies('contract:17:route-send-draft', 'contract:7:send-order', 'contract:7:date-at-sending', 'contract:10:sent-copy')}`, async () => {
      const { id, subject } = await world.draft(['bob@example.com']);
      const answer = await world.send(id, randomUUID());
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      expect(answer.body).to.deep.include({ status: 'completed', draft_id: id });
      expect(answer.body.draft.status).to.equal('sent');
      await relay.delivered();
      const { message_id: messageId } = answer.body.draft as { message_id: string };
      const arrived = await world.copies('bob', 'INBOX', subject);
      expect(arrived.map(({ messageId: each }) => each)).to.deep.equal([messageId]);
      const stored = await eventually(async () => {
        const events = await world.gateway.gateway.ports.events.readStream(`draft-${id}`);
        expect(events.at(-1)?.type).to.equal('SentCopyFiled');
        return events;
      });
      expect(stored.map(({ type }) => type).filter((type) => /Send|Sent|Frozen/.test(type))).to.deep.equal([
        'DraftFrozen', 'SendStarted', 'SendDataBegun', 'DraftSent', 'SentCopyFiled',
      ]); // prettier-ignore
      const copies = await world.copies('anna', 'Sent', subject);
      expect(copies.map(({ messageId: each }) => each)).to.deep.equal([messageId]);
      expect(copies[0]?.flags).to.include('\\Seen');
      expect(stored.at(-1)?.data['filed_by']).to.equal('gateway');
    });

    it(`answers a repeat without a second mail ${verifies('contract:14:send-once')}`, async () => {
      const { id, subject } = await world.draft();
      const key = randomUUID();
      const first = await world.send(id, key);
      const again = await world.send(id, key);
      expect(again.status).to.equal(200);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      expect(again.body.operation_id).to.equal(first.body.operation_id);
      expect(again.body.original_status).to.equal('completed');
      expect(relay.accepted.filter(({ raw }) => raw.includes(subject)).length).to.equal(1);
      expect((await world.send(id, randomUUID())).body.error.code).to.equal('draft_locked');
    });

    it(`sends a draft once when many requests arrive at the same time ${verifies('contract:7:draft-is-the-lock')}`, async () => {
      const { id, subject } = await world.draft();
      const answers = await Promise.all(Array.from({ length: 10 }, () => world.send(id, randomUUID())));
      expect(answers.filter(({ status }) => status === 200).length).to.equal(1);
      expect(relay.accepted.filter(({ raw }) => raw.includes(subject)).length).to.equal(1);
    });

    it('files no copy when the server filed one', async () => {
      const { id, subject } = await world.draft();
      const answer = await world.send(id, randomUUID());
      const { message_id: messageId } = answer.body.draft as { message_id: string };
      const raw = `From: anna@example.com\r\nSubject: ${subject}\r\nMessage-ID: ${messageId}\r\n\r\nHello.\r\n`;
      await appendMessages(dovecot.imap(), 'anna', [{ raw, folder: 'Sent', flags: ['\\Seen'] }]);
      await eventually(async () => {
        const stored = await world.gateway.gateway.ports.events.readStream(`draft-${id}`);
        expect(stored.at(-1)?.type).to.equal('SentCopyFiled');
      });
      expect((await world.copies('anna', 'Sent', subject)).length).to.equal(1);
    });

    it('requires an approval for an agent when policy says so', async () => {
      const { id, subject } = await world.draft();
      const { body: agent } = await world.gateway.rest('POST', '/tokens', {
        name: 'of the agent',
        principal_id: world.gateway.tokens.agentId,
        surface: 'rest',
        scopes: ['drafts:send'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      });
      const answer = await world.send(id, randomUUID(), (agent as { token: string }).token);
      expect(answer.body.error.code).to.equal('approval_required');
      expect(relay.accepted.filter(({ raw }) => raw.includes(subject)).length).to.equal(0);
    });
  });

  describe('with a server that fails', () => {
    let server: ScriptedSmtp;
    let world: SendingWorld;

    before(async () => {
      server = await ScriptedSmtp.start();
      world = await SendingWorld.open(dovecot, server.port);
    });
    after(async () => {
      await world.stop();
      await server.stop();
    });
    beforeEach(() => {
      server.script = {};
    });

    const acceptedOf = (subject: string): number =>
      server.accepted.filter(({ raw }) => raw.includes(subject)).length;

    it(`retries a temporary refusal with the same bytes ${verifies('contract:7:temporary')}`, async () => {
      const { id, subject } = await world.draft();
      const key = randomUUID();
      server.script.rcpt = () => '450 4.2.0 greylisted';
      const first = await world.send(id, key);
      expect(first.status).to.equal(504);
      expect(first.body.error).to.deep.include({ code: 'provider_timeout', retryable: true });
      expect(first.body.error.details).to.have.all.keys('operation_id', 'draft_id', 'retry_at');
      expect(await world.statusOf(id)).to.equal('sending');
      server.script = {};
      await world.waitForStatus(id, 'sent');
      expect(acceptedOf(subject)).to.equal(1);
      await eventually(async () => {
        const repeat = await world.send(id, key);
        expect(repeat.status, JSON.stringify(repeat.body)).to.equal(200);
      });
    });

    it(`ends a waiting send when its draft is discarded ${verifies('contract:7:discard-ends-retries')}`, async () => {
      const { id, subject } = await world.draft();
      server.script.mail = () => '451 4.7.1 later';
      await world.send(id, randomUUID());
      expect((await world.gateway.rest('POST', `/drafts/${id}/discard_draft`, {})).status).to.equal(200);
      server.script = {};
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(await world.statusOf(id)).to.equal('discarded');
      expect(acceptedOf(subject)).to.equal(0);
    });

    it(`names the refused recipients ${verifies('contract:7:partial-refusal')}`, async () => {
      const { id, subject } = await world.draft([
        'bob@example.com',
        'nobody@example.com',
        'carol@example.com',
      ]);
      server.script.rcpt = (line) => (line.includes('nobody') ? '550 5.1.1 no such user' : undefined);
      const { body } = await world.send(id, randomUUID());
      expect(body.draft.rejected).to.deep.equal([
        { address: 'nobody@example.com', smtp_status: 550, response: '550 5.1.1 no such user' },
      ]);
      expect(acceptedOf(subject)).to.equal(1);
    });

    it(`reports a refused message as failed, and lets it be edited and sent again ${verifies('contract:10:send-failed')}`, async () => {
      const { id } = await world.draft();
      server.script.dot = () => '554 5.7.1 spam';
      const refused = await world.send(id, randomUUID());
      expect(refused.body.error).to.deep.include({ code: 'provider_rejected', status: 502 });
      expect(refused.body.error.details.server_response).to.equal('554 5.7.1 spam');
      const before = (await world.gateway.rest('GET', `/drafts/${id}`)).body;
      expect(before.status).to.equal('send_failed');
      await world.gateway.rest('POST', `/drafts/${id}/patch_draft`, { text: 'Better words.' });
      server.script = {};
      const sent = await world.send(id, randomUUID());
      expect(sent.body.draft.status).to.equal('sent');
      expect(sent.body.draft.message_id).not.to.equal(before.message_id);
    });

    it(`never repeats a send of unknown outcome, and finds it in Sent ${verifies('contract:10:send-unknown')}`, async () => {
      const { id, subject } = await world.draft();
      const key = randomUUID();
      server.script.dot = () => 'accept-and-drop';
      const lost = await world.send(id, key);
      expect(lost.body.error).to.deep.include({ code: 'outcome_unknown', status: 502 });
      server.script = {};
      expect((await world.send(id, key)).body.error.code).to.equal('outcome_unknown');
      expect((await world.send(id, randomUUID())).body.error.code).to.equal('draft_locked');
      const { message_id: messageId } = (await world.gateway.rest('GET', `/drafts/${id}`)).body as {
        message_id: string;
      };
      const raw = `From: anna@example.com\r\nSubject: ${subject}\r\nMessage-ID: ${messageId}\r\n\r\nHello.\r\n`;
      await appendMessages(dovecot.imap(), 'anna', [{ raw, folder: 'Sent' }]);
      await world.waitForStatus(id, 'sent', 15_000);
      expect(acceptedOf(subject)).to.equal(1);
      await eventually(async () => {
        const repeat = await world.send(id, key);
        expect(repeat.status, JSON.stringify(repeat.body)).to.equal(200);
        expect(repeat.body.original_status).to.equal('outcome_unknown');
      });
    });

    it("presents the mailbox's credentials once to a server and reports the refusal", async () => {
      const { id } = await world.draft();
      server.script.auth = () => '535 5.7.8 no';
      const refused = await world.send(id, randomUUID());
      expect(refused.body.error).to.deep.include({ code: 'mailbox_auth_failed', status: 424 });
      expect(await world.statusOf(id)).to.equal('send_failed');
    });
  });
});
