import { expect } from 'chai';
import { type DueSend, listDueSends, sends } from '../../../projections/sends.ts';
import type { AnyEvent } from '../../../commands/event-catalogue.ts';
import type { Fact } from '../../../commands/values/event.ts';
import { happened, sealSample } from '../../support/samples/event-author.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const MAILBOX = 'mbx_1';
const LATER = '2100-01-01T00:00:00.000Z';
/** As many of one mailbox as there are. */
const ALL = { leftForMs: 0, ownCopyWithinMs: 0, limit: 10, except: [], ofOneMailbox: 10, busy: [] };

describe('the sends read model', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('lists a due send until its outcome is recorded and its copy is in Sent', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    const due = async (now = new Date(), ...except: string[]): Promise<readonly DueSend[]> => {
      await rig.settle(projector);
      return await listDueSends(sql, { ...ALL, now, except });
    };
    const phases = async (now?: Date): Promise<readonly string[]> =>
      (await due(now)).map(({ operationId, phase, told }) => `${operationId} ${phase} ${String(told)}`);
    const intend = (n: number) =>
      happened(events, `operation-opn_${String(n)}`, [
        {
          type: 'SendIntended',
          data: { mailbox_id: MAILBOX, draft_id: `drf_${String(n)}`, draft_version: 1 },
        },
      ]);
    const send = (n: number) => ({ operation_id: `opn_${String(n)}`, attempt: 1 });
    await intend(1);
    expect(await phases()).to.deep.equal(['opn_1 intended false']);
    expect(await due(new Date(), 'opn_1')).to.deep.equal([]);
    await happened(events, 'draft-drf_1', [
      {
        type: 'SendPostponed',
        data: {
          ...send(1),
          phase: 'envelope',
          code: 'mailbox_unavailable',
          smtp_status: 450,
          response: sealSample('450 later'),
          retry_at: LATER,
        },
      },
    ]);
    expect(await phases()).to.deep.equal([]);
    expect(await phases(new Date(LATER))).to.deep.equal(['opn_1 waiting false']);
    await happened(events, 'draft-drf_1', [{ type: 'DraftDiscarded', data: { reason: 'caller' } }]);
    expect(await phases()).to.deep.equal(['opn_1 ended false']);
    const outcome = { outcome: 'done' as const, error: null };
    await happened(events, 'operation-opn_1', [{ type: 'SendOutcomeRecorded', data: outcome }]);
    expect(await phases()).to.deep.equal([]);

    await intend(2);
    await happened(events, 'draft-drf_2', [
      {
        type: 'DraftSent',
        data: { ...send(2), rfc_message_id: null, response: null, rejected: [], known_by: 'server' },
      },
    ]);
    await happened(events, 'operation-opn_2', [{ type: 'SendOutcomeRecorded', data: outcome }]);
    expect(await phases()).to.deep.equal(['opn_2 sent true']);
    await happened(events, 'draft-drf_2', [
      {
        type: 'SentCopyFiled',
        data: { operation_id: 'opn_2', filed_by: 'server', sent_message_id: null },
      },
    ]);
    expect(await phases()).to.deep.equal([]);

    await intend(3);
    expect((await due())[0]?.lastFiledBy).to.equal('server');
    await happened(events, 'draft-drf_3', [{ type: 'DraftSendUnknown', data: send(3) }]);
    await happened(events, 'operation-opn_3', [{ type: 'SendOutcomeRecorded', data: outcome }]);
    expect(await phases()).to.deep.equal(['opn_3 unknown true']);
    await projector.close();
  });

  for (const [word, phase, end] of [
    ['done', 'sent', { type: 'DraftSent', data: SAMPLE_EVENTS.DraftSent }],
    ['failed', 'ended', { type: 'DraftSendFailed', data: SAMPLE_EVENTS.DraftSendFailed }],
  ] as const) {
    it(`lists an unknown send that turns out ${word} until that is recorded too`, async () => {
      const { events, sql } = rig;
      const operationId = `opn_unknown_${word}`;
      const draftId = `drf_unknown_${word}`;
      const projector = await rig.start({ projections: [sends] });
      const listed = async (): Promise<readonly string[]> => {
        await rig.settle(projector);
        const due = await listDueSends(sql, { ...ALL, now: new Date() });
        return due
          .filter((each) => each.operationId === operationId)
          .map(({ phase, told }) => `${phase} ${String(told)}`);
      };
      const inOperation = (
        type: 'SendOutcomeRecorded' | 'SendReconciled',
        outcome: 'unknown' | typeof word,
      ) => happened(events, `operation-${operationId}`, [{ type, data: { outcome, error: null } }]);
      await happened(events, `operation-${operationId}`, [
        { type: 'SendIntended', data: { mailbox_id: MAILBOX, draft_id: draftId, draft_version: 1 } },
      ]);
      const unknown = { type: 'DraftSendUnknown', data: { operation_id: operationId, attempt: 1 } } as const;
      const { type, data } = end;
      const ended = { type, data: { ...data, operation_id: operationId } } as Fact<AnyEvent>;
      await happened(events, `draft-${draftId}`, [unknown]);
      await inOperation('SendOutcomeRecorded', 'unknown');
      expect(await listed()).to.deep.equal(['unknown true']);
      await happened(events, `draft-${draftId}`, [ended]);
      expect(await listed()).to.deep.equal([`${phase} false`]);
      await inOperation('SendReconciled', word);
      expect(await listed()).to.deep.equal(word === 'done' ? ['sent true'] : []);
      await projector.close();
    });

    it(`lists a send that was recorded as unknown after it had turned out ${word}`, async () => {
      const { events, sql } = rig;
      const operationId = `opn_late_${word}`;
      const draftId = `drf_late_${word}`;
      const projector = await rig.start({ projections: [sends] });
      await happened(events, `operation-${operationId}`, [
        { type: 'SendIntended', data: { mailbox_id: MAILBOX, draft_id: draftId, draft_version: 1 } },
      ]);
      const { type, data } = end;
      await happened(events, `draft-${draftId}`, [
        { type: 'DraftSendUnknown', data: { operation_id: operationId, attempt: 1 } },
        { type, data: { ...data, operation_id: operationId } } as Fact<AnyEvent>,
      ]);
      await happened(events, `operation-${operationId}`, [
        { type: 'SendOutcomeRecorded', data: { outcome: 'unknown', error: null } },
      ]);
      await rig.settle(projector);
      const due = await listDueSends(sql, { ...ALL, now: new Date() });
      expect(due.find((each) => each.operationId === operationId)).to.include({ phase, told: false });
      await projector.close();
    });
  }

  it('omits a send that was postponed under an approval until that commits it again', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    const isDue = async (): Promise<boolean> => {
      await rig.settle(projector);
      const due = await listDueSends(sql, { ...ALL, limit: 100, now: new Date() });
      return due.some(({ operationId }) => operationId === 'opn_approved');
    };
    const tell = (...facts: Fact<AnyEvent>[]) => happened(events, 'operation-opn_approved', facts);
    const intended: Fact<AnyEvent> = {
      type: 'SendIntended',
      data: { mailbox_id: MAILBOX, draft_id: 'drf_approved', draft_version: 1 },
    };
    await tell(intended);
    expect(await isDue()).to.equal(true);
    const putOff = { ...SAMPLE_EVENTS.SendPostponed, operation_id: 'opn_approved', retry_at: LATER };
    await happened(events, 'draft-drf_approved', [
      { type: 'SendPostponed', data: { ...putOff, approval_id: 'chk_approved' } },
    ]);
    expect(await isDue(), 'its approval has not recorded it').to.equal(true);
    await tell({ type: 'CommitAttemptFailed', data: SAMPLE_EVENTS.CommitAttemptFailed });
    expect(await isDue()).to.equal(false);
    await tell(intended);
    expect(await isDue()).to.equal(true);
  });

  it('lists a send when its undo time is over', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    const isDueAt = async (now: Date): Promise<boolean> => {
      await rig.settle(projector);
      const due = await listDueSends(sql, { ...ALL, limit: 100, now });
      return due.some(({ operationId }) => operationId === 'opn_held');
    };
    const intended = { mailbox_id: MAILBOX, draft_id: 'drf_held', draft_version: 1, commit_at: LATER };
    await happened(events, 'operation-opn_held', [{ type: 'SendIntended', data: intended }]);
    const scheduled = { operation_id: 'opn_held', commit_at: LATER };
    await happened(events, 'draft-drf_held', [{ type: 'SendScheduled', data: scheduled }]);
    expect([await isDueAt(new Date()), await isDueAt(new Date(LATER))]).to.deep.equal([false, true]);
  });

  it('lists few sends of one mailbox, and fewer where some are running', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    for (const name of ['slow_1', 'slow_2', 'slow_3', 'quick_1']) {
      const mailbox_id = `mbx_${name.split('_')[0] ?? ''}`;
      await happened(events, `operation-opn_${name}`, [
        { type: 'SendIntended', data: { mailbox_id, draft_id: `drf_${name}`, draft_version: 1 } },
      ]);
    }
    await rig.settle(projector);
    const listed = async (busy: readonly string[], except: readonly string[] = []) => {
      const now = new Date();
      const due = await listDueSends(sql, { ...ALL, now, except, ofOneMailbox: 2, busy });
      return due
        .map(({ operationId }) => operationId.slice('opn_'.length))
        .filter((name) => /slow|quick/.test(name))
        .toSorted();
    };
    expect(await listed([])).to.deep.equal(['quick_1', 'slow_1', 'slow_2']);
    expect(await listed(['mbx_slow'], ['opn_slow_1'])).to.deep.equal(['quick_1', 'slow_2']);
    expect(await listed(['mbx_slow', 'mbx_slow'])).to.deep.equal(['quick_1']);
    await projector.close();
  });

  it('lists a copy early only where the mail server filed the last one', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    const sent = async (mailbox_id: string, n: number): Promise<void> => {
      const [operation_id, draft_id] = [`opn_c${String(n)}`, `drf_c${String(n)}`];
      await happened(events, `operation-${operation_id}`, [
        { type: 'SendIntended', data: { mailbox_id, draft_id, draft_version: 1 } },
      ]);
      await happened(events, `draft-${draft_id}`, [
        { type: 'DraftSent', data: { ...SAMPLE_EVENTS.DraftSent, operation_id } },
      ]);
      await happened(events, `operation-${operation_id}`, [
        { type: 'SendOutcomeRecorded', data: { outcome: 'done', error: null } },
      ]);
    };
    const listed = async (mailboxId: string, afterMs = 0): Promise<readonly string[]> => {
      await rig.settle(projector);
      const now = new Date(Date.now() + afterMs);
      const due = await listDueSends(sql, { ...ALL, ownCopyWithinMs: 60_000, limit: 100, now });
      return due.filter((send) => send.mailboxId === mailboxId).map(({ operationId }) => operationId);
    };
    const filed = (n: number, by: 'gateway' | 'server') =>
      happened(events, `draft-drf_c${String(n)}`, [
        {
          type: 'SentCopyFiled',
          data: { operation_id: `opn_c${String(n)}`, filed_by: by, sent_message_id: null },
        },
      ]);
    await sent('mbx_c', 1);
    expect(await listed('mbx_c')).to.deep.equal([]);
    expect(await listed('mbx_c', 60_000)).to.deep.equal(['opn_c1']);
    await filed(1, 'gateway');
    await sent('mbx_c', 2);
    expect(await listed('mbx_c')).to.deep.equal([]);
    await filed(2, 'server');
    await sent('mbx_c', 3);
    expect(await listed('mbx_c')).to.deep.equal(['opn_c3']);
    await projector.close();
  });

  it('leaves a send to the process that began it for a while', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    await happened(events, 'operation-opn_left', [
      { type: 'SendIntended', data: { mailbox_id: 'mbx_left', draft_id: 'drf_left', draft_version: 1 } },
    ]);
    const listed = async (afterMs: number): Promise<readonly string[]> => {
      await rig.settle(projector);
      const now = new Date(Date.now() + afterMs);
      const due = await listDueSends(sql, { ...ALL, leftForMs: 60_000, limit: 100, now });
      return due.flatMap(({ operationId, mailboxId }) => (mailboxId === 'mbx_left' ? [operationId] : []));
    };
    expect(await listed(0)).to.deep.equal([]);
    expect(await listed(60_000)).to.deep.equal(['opn_left']);
    await happened(events, 'draft-drf_left', [
      {
        type: 'SendScheduled',
        data: { operation_id: 'opn_left', commit_at: new Date().toISOString() },
      },
    ]);
    expect(await listed(0)).to.deep.equal(['opn_left']);
    await projector.close();
  });
});
