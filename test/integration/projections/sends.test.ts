import { expect } from 'chai';
import { type DueSend, listDueSends, sends } from '../../../projections/sends.ts';
import { happened, sealSample } from '../../support/event-author.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const MAILBOX = 'mbx_1';
const LATER = '2100-01-01T00:00:00.000Z';

describe('sends', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('lists what is due until it is told and its copy lies in Sent', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [sends] });
    const due = async (now = new Date(), ...except: string[]): Promise<readonly DueSend[]> => {
      await rig.settle(projector);
      return await listDueSends(sql, { now, limit: 10, except });
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
        data: { ...send(2), message_id: '<2@example.com>', response: null, rejected: [], known_by: 'server' },
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
  });
});
