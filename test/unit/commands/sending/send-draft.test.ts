import { expect } from 'chai';
import { draftPayload } from '../../../../commands/drafts/draft-payload.ts';
import { GatewayError } from '../../../../commands/values/errors.ts';
import {
  LATER_AT_CONNECT,
  LATER_AT_DATA,
  LATER_AT_ENVELOPE,
  NEVER,
} from '../../../support/fakes/fake-submission.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const refusalOf = async (work: Promise<unknown>): Promise<GatewayError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

describe('send_draft', () => {
  it('sends the frozen message with its Date and Message-ID, and reports it as sent', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft(['bob@example.org', 'carol@example.org']);
    const reply = await rig.send(id, 'key-1');
    expect(reply).to.include({ status: 'completed', draft_id: id });
    expect(reply.summary).to.deep.equal({ done: 1, failed: 0, unknown: 0 });
    expect(reply.draft).to.include({ id, status: 'sent' });
    const [message] = rig.submission.taken;
    expect(message?.envelope).to.deep.equal({
      from: 'anna@example.com',
      to: ['bob@example.org', 'carol@example.org'],
    });
    const messageId = await rig.messageId(id);
    expect(message?.raw).to.match(/^Date: Sun, 1 Mar 2026 12:00:00 \+0000\r\n/);
    expect(message?.raw).to.include(`Message-ID: ${messageId}\r\n`);
  });

  it('logs in while it records the operation and the draft, and records every step before its effect', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const seen: string[][] = [];
    rig.submission.at = async (step) => {
      seen.push([
        step,
        ...(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).slice(-1),
        ...(await rig.typesOf(`draft-${id}`)).slice(-1),
      ]);
    };
    await rig.send(id, 'key-1');
    expect(seen).to.deep.equal([
      ['connect', 'DraftStarted'],
      ['begin', 'SendIntended', 'SendStarted'],
      ['transmit', 'SendIntended', 'SendDataBegun'],
      ['answer', 'SendIntended', 'SendDataBegun'],
    ]);
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal([
      'DraftStarted', 'DraftFrozen', 'SendStarted', 'SendDataBegun', 'DraftSent',
    ]); // prettier-ignore
    expect(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).to.deep.equal([
      'OperationSubmitted', 'OperationDecided', 'SendIntended', 'SendOutcomeRecorded', 'OperationCompleted',
    ]); // prettier-ignore
  });

  it('replays the outcome of the first request, and sends nothing', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const first = await rig.send(id, 'key-1');
    const again = await rig.send(id, 'key-1');
    expect(again).to.deep.equal({ ...first, original_status: 'completed' });
    expect(rig.submission.taken.length).to.equal(1);
    const other = await rig.startDraft();
    expect((await refusalOf(rig.send(other, 'key-1'))).code).to.equal('idempotency_key_reused');
  });

  it('requires a key', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const refused = await refusalOf(rig.send(id, null as unknown as string));
    expect(refused.code).to.equal('idempotency_key_required');
  });

  it('reports refused recipients, and counts the message as sent', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft(['bob@example.org', 'carol@example.org']);
    rig.submission.course = { kind: 'accept', refused: ['carol@example.org'] };
    const reply = await rig.send(id, 'key-1');
    expect(reply.draft).to.deep.include({
      status: 'sent',
      rejected: [{ address: 'carol@example.org', smtp_status: 550, response: '550 no' }],
    });
  });

  it('requests SMTPUTF8 when a recipient or Reply-To address needs it', async () => {
    const rig = new SendRig();
    const sendTo = async (to: string, replyTo: string): Promise<boolean | undefined> => {
      await rig.send(await rig.startDraft([to], [replyTo]), `key-${String(rig.submission.taken.length)}`);
      return rig.submission.taken.at(-1)?.needsSmtpUtf8;
    };
    expect(await sendTo('bob@example.org', 'anna@exämple.com')).to.equal(false);
    expect(await sendTo('jürgen@example.org', 'anna@example.com')).to.equal(true);
    expect(await sendTo('bob@example.org', 'jürgen@example.com')).to.equal(true);
  });

  it('returns the Message-ID that a server assigned', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    rig.submission.course = { kind: 'accept', replacedMessageId: '<given@mail.example>' };
    expect((await rig.send(id, 'key-1')).draft).to.include({ message_id: '<given@mail.example>' });
  });

  it('reports a refused message as failed, and sends it with a new Message-ID when it was edited', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    rig.submission.course = NEVER;
    const refused = await refusalOf(rig.send(id, 'key-1'));
    expect(refused.code).to.equal('provider_rejected');
    expect(refused.details).to.deep.include({
      operation_id: rig.operationId('key-1'),
      draft_id: id,
      smtp_status: 550,
      server_response: '550 5.1.1 no such user',
    });
    expect((await rig.draft(id)).status).to.equal('send_failed');
    const first = await rig.messageId(id);
    const again = await refusalOf(rig.send(id, 'key-1'));
    expect(again).to.include({ code: 'provider_rejected', replayed: true });
    await rig.edit(id);
    rig.submission.course = { kind: 'accept' };
    await rig.send(id, 'key-2');
    expect(await rig.messageId(id)).not.to.equal(first);
    expect(rig.submission.taken.length).to.equal(1);
  });

  for (const [where, course] of [
    ['connecting', LATER_AT_CONNECT],
    ['the envelope', LATER_AT_ENVELOPE],
    ['the final dot', LATER_AT_DATA],
  ] as const) {
    it(`keeps a message that is refused temporarily at ${where}, and says when the next attempt is`, async () => {
      const rig = new SendRig();
      const id = await rig.startDraft();
      rig.submission.course = course;
      const refused = await refusalOf(rig.send(id, 'key-1'));
      expect(refused).to.include({ code: 'provider_timeout', retryAfterSeconds: 60 });
      expect(refused.details).to.deep.equal({
        operation_id: rig.operationId('key-1'),
        draft_id: id,
        retry_at: '2026-03-01T12:01:00.000Z',
      });
      const shown = await draftPayload(rig.ports, id, await rig.draft(id));
      expect(shown).to.include({ status: 'sending', retry_at: '2026-03-01T12:01:00.000Z' });
      const again = await refusalOf(rig.send(id, 'key-1'));
      expect(again).to.include({ code: 'provider_timeout', replayed: true });
      const elsewhere = await refusalOf(rig.send(id, 'key-2'));
      expect(elsewhere.code).to.equal('draft_locked');
      await rig.append(id, { type: 'DraftDiscarded', data: { reason: 'caller' } });
      expect(await draftPayload(rig.ports, id, await rig.draft(id))).not.to.have.property('retry_at');
    });
  }

  it('never sends again when the message may have been sent', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    rig.submission.course = { kind: 'lost', taken: true };
    expect((await refusalOf(rig.send(id, 'key-1'))).code).to.equal('outcome_unknown');
    rig.submission.course = { kind: 'accept' };
    expect((await refusalOf(rig.send(id, 'key-1'))).code).to.equal('outcome_unknown');
    expect((await refusalOf(rig.send(id, 'key-2'))).code).to.equal('draft_locked');
    expect(rig.submission.taken.length).to.equal(1);
  });

  it('refuses before it records anything, and leaves the key free', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const refused = await refusalOf(rig.send(id, 'key-1', { expectedVersion: 7 }));
    expect(refused.code).to.equal('version_conflict');
    expect(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).to.deep.equal([]);
    await rig.append(id, { type: 'DraftDiscarded', data: { reason: 'caller' } });
    expect((await refusalOf(rig.send(id, 'key-1'))).code).to.equal('draft_locked');
    const nobody = await rig.startDraft([]);
    expect((await refusalOf(rig.send(nobody, 'key-1'))).code).to.equal('invalid_request');
    const unknown = await refusalOf(rig.send(rig.ports.ids.newId('drf'), 'key-1'));
    expect(unknown.code).to.equal('not_found');
    expect(await rig.typesOf(`operation-${rig.operationId('key-1')}`)).to.deep.equal([]);
  });

  it('evaluates policy before it records anything', async () => {
    const rig = new SendRig({ policy: null });
    const id = await rig.startDraft();
    const refused = await refusalOf(rig.send(id, 'key-1'));
    expect(refused.code).to.equal('approval_required');
    expect(await rig.typesOf(`draft-${id}`)).to.deep.equal(['DraftStarted']);
  });

  it('refuses when the mailbox has no submission server', async () => {
    const rig = new SendRig({ mailbox: { smtp: null } });
    const id = await rig.startDraft();
    expect((await refusalOf(rig.send(id, 'key-1'))).code).to.equal('operation_unsupported');
  });

  it('sends once when two requests with different keys race', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const ends = await Promise.allSettled([rig.send(id, 'key-1'), rig.send(id, 'key-2')]);
    expect(ends.map(({ status }) => status).toSorted()).to.deep.equal(['fulfilled', 'rejected']);
    expect(rig.submission.taken.length).to.equal(1);
    const lost = ends.findIndex(({ status }) => status === 'rejected') + 1;
    const repeat = await refusalOf(rig.send(id, `key-${String(lost)}`));
    expect(repeat.code).to.equal('draft_locked');
  });

  it('sends once when two requests with the same key race', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const ends = await Promise.allSettled([rig.send(id, 'key-1'), rig.send(id, 'key-1')]);
    expect(ends.filter(({ status }) => status === 'fulfilled').length).to.be.greaterThan(0);
    expect(rig.submission.taken.length).to.equal(1);
    expect(rig.submission.open, 'connections left open').to.equal(0);
  });

  it('keeps the frozen message that was sent, and leaves those of refused repeats to the sweep', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    await Promise.allSettled([rig.send(id, 'key-1'), rig.send(id, 'key-1'), rig.send(id, 'key-2')]);
    await rig.sweep();
    expect(rig.frozenIds()).to.deep.equal([(await rig.draft(id)).send?.frozen.mime_id]);
  });

  it('keeps a frozen message that no event names yet', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const { events } = rig.ports;
    const append = events.append.bind(events);
    events.append = async (stream, expected, facts) => {
      if (facts.some(({ type }) => type === 'DraftFrozen')) await rig.sweep();
      return await append(stream, expected, facts);
    };
    expect((await rig.send(id, 'key-1')).status).to.equal('completed');
  });

  it('erases the frozen message when the draft was edited before the send', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const { events } = rig.ports;
    const append = events.append.bind(events);
    events.append = async (stream, expected, facts) => {
      const appended = await append(stream, expected, facts);
      if (facts.some(({ type }) => type === 'SendIntended')) await rig.edit(id);
      return appended;
    };
    expect((await refusalOf(rig.send(id, 'key-1'))).code).to.equal('version_conflict');
    expect(rig.frozenIds()).to.deep.equal([]);
    expect(rig.submission.open, 'connections left open').to.equal(0);
  });

  it('sends nothing when the draft changed after it was frozen', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    rig.submission.at = async (step) => {
      if (step === 'begin')
        await rig.append(id, { type: 'DraftDiscarded', data: { reason: 'mailbox_removed' } });
    };
    const refused = await refusalOf(rig.send(id, 'key-1'));
    expect(refused.code).to.equal('draft_locked');
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it(`counts the mails of an agent, and returns the quota of what was not sent ${verifies('contract:15:agent-quota')}`, async () => {
    const rig = new SendRig({ kind: 'agent' });
    rig.submission.course = NEVER;
    const failed = await rig.startDraft();
    expect((await refusalOf(rig.send(failed, 'failed'))).code).to.equal('provider_rejected');
    rig.submission.course = { kind: 'accept' };
    for (let n = 1; n <= 30; n += 1) await rig.send(await rig.startDraft(), `key-${String(n)}`);
    const id = await rig.startDraft();
    const refused = await refusalOf(rig.send(id, 'key-31'));
    expect(refused).to.include({ code: 'quota_exceeded', retryAfterSeconds: 3_600 });
    expect(await rig.typesOf(`operation-${rig.operationId('key-31')}`)).to.deep.equal([]);
    expect(rig.content.stored.filter(({ kind, owner }) => kind === 'mime' && owner.draftId === id)).to.be
      .empty;
    rig.parts.clock.advance(3_600_000);
    await rig.send(id, 'key-31');
  });
});
