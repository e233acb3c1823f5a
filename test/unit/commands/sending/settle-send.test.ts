import { expect } from 'chai';
import { ERROR_TABLE, type ErrorCode, GatewayError } from '../../../../commands/values/errors.ts';
import { LeaseLost } from '../../../../commands/kernel/hold-lease.ts';
import { fileSentCopy } from '../../../../commands/sending/sent-copy.ts';
import { resolveSend } from '../../../../commands/email/resolve-operation.ts';
import type { CopyHabit } from '../../../../commands/sending/sent-copy.ts';
import { settleSend } from '../../../../commands/sending/settle-send.ts';
import { sampleAuthor } from '../../../support/samples/event-author.ts';
import { LATER_AT_ENVELOPE } from '../../../support/fakes/fake-submission.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SendRig } from '../../../support/worlds/send-rig.ts';

const MINUTE = 60_000;

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
  return 'done';
};

describe('settleSend', () => {
  const settle = (rig: SendRig, key = 'key-1') =>
    settleSend(rig.ports, { operationId: rig.operationId(key), orgId: 'org_1' });

  /** A draft whose only attempt was refused temporarily. */
  const waiting = async (rig: SendRig): Promise<string> => {
    const id = await rig.startDraft();
    rig.submission.course = LATER_AT_ENVELOPE;
    await codeOf(rig.send(id, 'key-1'));
    return id;
  };

  /** A draft whose process died after the phase event. */
  const cutOff = async (rig: SendRig): Promise<string> => {
    const id = await rig.startDraft();
    rig.submission.course = { kind: 'lost', taken: true };
    await codeOf(rig.send(id, 'key-1'));
    return id;
  };

  it('retries after 1, 5, 15 and then every 30 minutes, with the same bytes except Date', async () => {
    const rig = new SendRig();
    const id = await waiting(rig);
    const pauses: number[] = [];
    for (let attempt = 2; attempt <= 6; attempt += 1) {
      const { send } = await rig.draft(id);
      const due = Date.parse(send?.retryAt ?? '') - rig.parts.clock.now().getTime();
      pauses.push(due / MINUTE);
      rig.parts.clock.advance(due - 1);
      await settle(rig);
      expect((await rig.draft(id)).send?.attempts).to.equal(attempt - 1);
      rig.parts.clock.advance(1);
      await settle(rig);
    }
    expect(pauses).to.deep.equal([1, 5, 15, 30, 30]);
    rig.submission.course = { kind: 'accept' };
    rig.parts.clock.advance(30 * MINUTE);
    await settle(rig);
    expect((await rig.draft(id)).status).to.equal('sent');
    expect(rig.submission.taken[0]?.raw).to.include(`Message-ID: ${await rig.messageId(id)}`);
    expect(rig.submission.taken[0]?.raw).to.match(/^Date: Sun, 1 Mar 2026 13:51:00 /);
    expect((await rig.send(id, 'key-1')).status).to.equal('completed');
  });

  it('gives up after a day, so that the draft can be edited', async () => {
    const rig = new SendRig();
    const id = await waiting(rig);
    for (let n = 0; n < 60; n += 1) {
      rig.parts.clock.advance(30 * MINUTE);
      await settle(rig);
    }
    expect((await rig.draft(id)).status).to.equal('send_failed');
    expect(await codeOf(rig.send(id, 'key-1'))).to.equal('provider_rejected');
    const first = Date.parse('2026-03-01T12:00:00.000Z');
    const stored = await rig.ports.events.readStream(`draft-${id}`);
    const last = stored.filter(({ type }) => type === 'SendStarted').at(-1);
    expect(Date.parse(String(last?.data['date'])) - first).to.be.at.most(24 * 60 * MINUTE);
  });

  it('keeps the message it froze again, not the one of the process that died', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const { events } = rig.ports;
    const append = events.append.bind(events);
    events.append = async (stream, expected, facts) => {
      const appended = await append(stream, expected, facts);
      if (facts.some(({ type }) => type === 'SendIntended')) throw new Error('the process is gone');
      return appended;
    };
    await rig.send(id, 'key-1').catch(() => undefined);
    events.append = append;
    expect(rig.frozenIds()).to.have.length(1);
    await settle(rig);
    await rig.sweep();
    const { status, send } = await rig.draft(id);
    expect(status).to.equal('sent');
    expect(rig.frozenIds()).to.deep.equal([send?.frozen.mime_id]);
  });

  /** A draft whose process died after the append to the operation and before that to the draft. */
  const claimed = async (rig: SendRig): Promise<string> => {
    const id = await rig.startDraft();
    const { events: store } = rig.ports;
    const append = store.append.bind(store);
    store.append = async (stream, expected, events) => {
      const appended = await append(stream, expected, events);
      if (events.some(({ type }) => type === 'SendIntended')) throw new Error('the process is gone');
      return appended;
    };
    await rig.send(id, 'key-1').catch(() => undefined);
    store.append = append;
    return id;
  };

  it('ends the send when the draft was edited before it started', async () => {
    const rig = new SendRig();
    const id = await claimed(rig);
    await rig.edit(id);
    await settle(rig);
    expect(await codeOf(rig.send(id, 'key-1'))).to.equal('version_conflict');
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it('gives up when the send did not start within a day, with an error that is not retryable', async () => {
    const rig = new SendRig();
    const id = await claimed(rig);
    rig.parts.clock.advance(24 * 60 * MINUTE + 1);
    await settle(rig);
    const code = await codeOf(rig.send(id, 'key-1'));
    expect(code).to.equal('provider_rejected');
    expect(ERROR_TABLE[code as ErrorCode].retryable).to.equal(false);
    expect(rig.submission.taken).to.deep.equal([]);
  });

  it('reports unknown no sooner than fifteen minutes after the data was sent', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const gone = new Promise<void>(() => undefined);
    rig.submission.at = (step) => (step === 'answer' ? gone : undefined);
    void rig.send(id, 'key-1');
    while (rig.submission.taken.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const ports = rig.newRun();
    const again = () => settleSend(ports, { operationId: rig.operationId('key-1'), orgId: 'org_1' });
    await again();
    expect((await rig.draft(id)).status).to.equal('sending');
    expect(await codeOf(rig.send(id, 'key-1', { ports }))).to.equal('idempotency_in_progress');
    rig.parts.clock.advance(15 * MINUTE - 1);
    await again();
    expect((await rig.draft(id)).status).to.equal('sending');
    rig.parts.clock.advance(1);
    await again();
    expect((await rig.draft(id)).status).to.equal('send_unknown');
    expect(rig.submission.taken.length).to.equal(1);
  });

  it('stops before the final dot when its lease is lost', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    rig.submission.at = (step) => {
      if (step === 'transmit') rig.leaseTable.set(rig.operationId('key-1'), 'run_other');
    };
    expect(await codeOf(rig.send(id, 'key-1'))).to.equal('provider_timeout');
    expect(rig.submission.taken).to.deep.equal([]);
    expect((await rig.draft(id)).status).to.equal('sending');
  });

  it('leaves the send to another process when the lease is lost after the claim', async () => {
    const rig = new SendRig();
    const id = await rig.startDraft();
    const { events } = rig.ports;
    const slow: typeof events = {
      ...events,
      readStream: (...asked) => events.readStream(...asked),
      readLast: (...asked) => events.readLast(...asked),
      append: async (stream, ...rest) => {
        const appended = await events.append(stream, ...rest);
        if (stream.startsWith('operation-')) rig.leaseTable.set(rig.operationId('key-1'), 'run_other');
        return appended;
      },
    };
    const asked = rig.send(id, 'key-1', { ports: { ...rig.ports, events: slow } });
    expect(await codeOf(asked)).to.equal('idempotency_in_progress');
    expect(rig.submission.taken).to.deep.equal([]);
    rig.leaseTable.clear();
    await settle(rig);
    expect(await rig.send(id, 'key-1')).to.include({ status: 'completed' });
    expect(rig.submission.taken.length).to.equal(1);
  });

  it('finds the message in Sent, even after the outcome became unknown', async () => {
    const rig = new SendRig();
    const id = await cutOff(rig);
    await settle(rig);
    expect((await rig.draft(id)).status).to.equal('send_unknown');
    rig.mailbox.add('Sent', await rig.messageId(id));
    await settle(rig);
    expect((await rig.draft(id)).sendEnds[rig.operationId('key-1')]).to.deep.include({ kind: 'sent' });
    const reply = await rig.send(id, 'key-1');
    expect(reply).to.include({ status: 'completed', original_status: 'outcome_unknown' });
    expect((await rig.operation(rig.operationId('key-1'))).send?.outcome?.outcome).to.equal('done');
  });

  it('accepts no draft in All Mail as proof', async () => {
    const rig = new SendRig({
      mailbox: {
        folders: ['INBOX', 'Sent', 'All Mail'].map((path, at) => ({ number: at + 1, path })),
        detectedRoles: { inbox: 1, sent: 2, all_mail: 3 },
      },
    });
    const id = await cutOff(rig);
    const messageId = await rig.messageId(id);
    rig.mailbox.add('All Mail', messageId, ['\\Draft']);
    await settle(rig);
    expect((await rig.draft(id)).status).to.equal('send_unknown');
    rig.mailbox.add('All Mail', messageId);
    await settle(rig);
    expect((await rig.draft(id)).status).to.equal('sent');
  });

  for (const [word, status, code] of [
    ['done', 'sent', 'done'],
    ['not_done', 'send_failed', 'provider_rejected'],
  ] as const) {
    it(`records a person's answer ${word} once`, async () => {
      const rig = new SendRig();
      const id = await cutOff(rig);
      const operationId = rig.operationId('key-1');
      const author = sampleAuthor('org_1');
      await resolveSend(rig.ports, author, operationId, word);
      await resolveSend(rig.ports, author, operationId, word);
      expect((await rig.draft(id)).status).to.equal(status);
      expect(await codeOf(rig.send(id, 'key-1'))).to.equal(code);
      const other = word === 'done' ? 'not_done' : 'done';
      expect(await codeOf(resolveSend(rig.ports, author, operationId, other))).to.equal('conflict');
    });
  }
});

describe('fileSentCopy', () => {
  const sent = async (rig: SendRig): Promise<string> => {
    const id = await rig.startDraft();
    await rig.send(id, 'key-1');
    return id;
  };
  const file = (rig: SendRig, draftId: string, lastFiledBy: CopyHabit) =>
    fileSentCopy(rig.ports, { operationId: rig.operationId('key-1'), orgId: 'org_1', draftId, lastFiledBy });
  const inSent = (rig: SendRig) => [...rig.mailbox.folder('Sent').messages.values()];

  it('waits for the server when its habit is unknown, then files one copy', async () => {
    const rig = new SendRig();
    const id = await sent(rig);
    expect(await file(rig, id, null)).to.equal(false);
    rig.parts.clock.advance(5_000);
    expect(await file(rig, id, null)).to.equal(true);
    expect(await file(rig, id, null)).to.equal(true);
    expect(inSent(rig).map(({ flags }) => [...flags])).to.deep.equal([['\\Seen']]);
  });

  it('asks the mail server early only when that filed the last copy', async () => {
    const rig = new SendRig();
    const id = await sent(rig);
    const { mail } = rig.ports;
    let asked = 0;
    const withMailbox: typeof mail.withMailbox = (...work) => {
      asked += 1;
      return mail.withMailbox(...work);
    };
    const askedBy = async (lastFiledBy: CopyHabit): Promise<number> => {
      asked = 0;
      const unfiled = { operationId: rig.operationId('key-1'), orgId: 'org_1', draftId: id, lastFiledBy };
      await fileSentCopy({ ...rig.ports, mail: { ...mail, withMailbox } }, unfiled);
      return asked;
    };
    expect([await askedBy(null), await askedBy('gateway'), await askedBy('server')]).to.deep.equal([0, 0, 1]);
  });

  it('waits for the server also when the gateway filed the last copy', async () => {
    const rig = new SendRig();
    const id = await sent(rig);
    expect(await file(rig, id, 'gateway')).to.equal(false);
    rig.mailbox.add('Sent', await rig.messageId(id));
    rig.parts.clock.advance(5_000);
    expect(await file(rig, id, 'gateway')).to.equal(true);
    expect(inSent(rig).length).to.equal(1);
    const stored = await rig.ports.events.readStream(`draft-${id}`);
    expect(stored.at(-1)?.data['filed_by']).to.equal('server');
  });

  it('files nothing when the process has lost its lease', async () => {
    const rig = new SendRig();
    const id = await sent(rig);
    const append = rig.mailbox.append.bind(rig.mailbox);
    rig.mailbox.append = (...message) => {
      rig.leaseTable.set(rig.operationId('key-1'), 'run_other');
      return append(...message);
    };
    rig.parts.clock.advance(5_000);
    expect(await rejection(file(rig, id, 'gateway'))).to.be.instanceOf(LeaseLost);
    expect(inSent(rig)).to.deep.equal([]);
  });

  it('does nothing when the mailbox was erased', async () => {
    const rig = new SendRig();
    const id = await sent(rig);
    rig.parts.clock.advance(5_000);
    const personal = { ...rig.ports.personal, open: () => Promise.resolve(null) };
    const unfiled = { operationId: rig.operationId('key-1'), orgId: 'org_1', draftId: id, lastFiledBy: null };
    expect(await fileSentCopy({ ...rig.ports, personal }, unfiled)).to.equal(true);
    expect(inSent(rig)).to.deep.equal([]);
  });

  it('leaves the copy to a server that always files one', async () => {
    const rig = new SendRig({ mailbox: { capabilities: ['X-GM-EXT-1'] } });
    const id = await sent(rig);
    rig.parts.clock.advance(10_000);
    expect(await file(rig, id, null)).to.equal(false);
    rig.mailbox.add('Sent', await rig.messageId(id));
    expect(await file(rig, id, null)).to.equal(true);
    expect(inSent(rig).length).to.equal(1);
    const stored = await rig.ports.events.readStream(`draft-${id}`);
    expect(stored.at(-1)?.data['filed_by']).to.equal('server');
  });
});
