import { expect } from 'chai';
import { loadAggregate } from '../../../../commands/kernel/decide-and-append.ts';
import { draft } from '../../../../commands/drafts/draft.ts';
import { resolveOperation } from '../../../../commands/email/resolve-operation.ts';
import { actOnEmail } from '../../../../commands/email/act-on-email.ts';
import { operation } from '../../../../commands/operations/operation.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { type OperationRig, operationRig } from '../../../support/worlds/operation-rig.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PERSON = sampleAuthor('org_1', {
  actor: { type: 'system', id: 'admin-command', token_id: null, session_id: null },
});

/** An operation whose two moves are unknown, because the connection broke in the middle. */
async function unknownMoves(rig: OperationRig): Promise<string> {
  const ids = [rig.arrive('INBOX', null), rig.arrive('INBOX', null)];
  rig.mailbox.loss = { at: 0, isDone: true, of: 'connection' };
  const operationOf = {
    type: 'message_actions',
    select: { message_ids: ids },
    actions: [{ type: 'archive' }],
  };
  const { operation_id: id = '', summary } = await rig.reply(actOnEmail, { operation: operationOf });
  expect(summary).to.deep.equal({ done: 0, failed: 0, unknown: 2 });
  return id;
}

/** The two streams of a send whose connection broke after the final dot. */
async function unknownSend({ events }: OperationRig): Promise<void> {
  const { OperationSubmitted, OperationDecided, SendIntended, DraftStarted, DraftFrozen } = SAMPLE_EVENTS;
  const mailbox = { mailbox_id: 'mbx_0' };
  await happened(events, 'operation-opn_1', [
    { type: 'OperationSubmitted', data: { ...OperationSubmitted, ...mailbox, targets: [] } },
    { type: 'OperationDecided', data: OperationDecided },
    { type: 'SendIntended', data: { ...SendIntended, ...mailbox } },
  ]);
  await happened(events, 'draft-drf_1', [
    { type: 'DraftStarted', data: { ...DraftStarted, ...mailbox } },
    { type: 'DraftFrozen', data: DraftFrozen },
    { type: 'SendStarted', data: SAMPLE_EVENTS.SendStarted },
    { type: 'SendDataBegun', data: SAMPLE_EVENTS.SendDataBegun },
    { type: 'DraftSendUnknown', data: SAMPLE_EVENTS.DraftSendUnknown },
  ]);
  await happened(events, 'operation-opn_1', [
    { type: 'SendOutcomeRecorded', data: SAMPLE_EVENTS.SendOutcomeRecorded },
    { type: 'OperationCompleted', data: { summary: { done: 0, failed: 0, unknown: 1 } } },
  ]);
}

const typesOf = async ({ events }: OperationRig, stream: string): Promise<readonly string[]> =>
  (await events.readStream(stream)).map(({ type }) => type);

describe('resolveOperation', () => {
  const reason = 'I looked into the mailbox.';

  it(`settles unknown actions as a person says, with the reason ${verifies('contract:10:resolve')}`, async () => {
    for (const [outcome, expected] of [
      ['done', 'done'],
      ['not_done', 'failed'],
    ] as const) {
      const rig = operationRig();
      const id = await unknownMoves(rig);
      const { results } = await resolveOperation(rig.ports, PERSON, id, { outcome, reason });
      expect(results?.map((item) => item.outcome)).to.deep.equal([expected, expected]);
      const [resolved, reconciled] = (await rig.events.readStream(`operation-${id}`)).slice(-2);
      expect(resolved).to.deep.include({
        type: 'OperationResolved',
        data: { outcome, reason: `sealed:mbx_0:${reason}` },
      });
      expect(reconciled?.type).to.equal('ActionsReconciled');
      const again = await rejection(resolveOperation(rig.ports, PERSON, id, { outcome, reason }));
      expect(again).to.include({ code: 'conflict' });
    }
  });

  it(`settles an unknown send in the streams of the draft and of the operation ${verifies('contract:10:resolve')}`, async () => {
    for (const [outcome, status] of [
      ['done', 'sent'],
      ['not_done', 'send_failed'],
    ] as const) {
      const rig = operationRig();
      await unknownSend(rig);
      const after = await resolveOperation(rig.ports, PERSON, 'opn_1', { outcome, reason });
      expect(after.send?.outcome?.outcome).to.equal(outcome === 'done' ? 'done' : 'failed');
      expect((await loadAggregate(rig.events, draft, 'drf_1')).state.status).to.equal(status);
      expect((await typesOf(rig, 'operation-opn_1')).slice(-2)).to.deep.equal([
        'OperationResolved',
        'SendReconciled',
      ]);
    }
  });

  it('refuses what is running, done or not an operation', async () => {
    const rig = operationRig();
    const refused = (id: string) =>
      rejection(resolveOperation(rig.ports, PERSON, id, { outcome: 'done', reason }));
    expect(await refused('opn_0')).to.include({ code: 'not_found' });
    const { OperationSubmitted, ActionsIntended } = SAMPLE_EVENTS;
    await happened(rig.events, 'operation-opn_2', [
      { type: 'OperationSubmitted', data: OperationSubmitted },
      { type: 'ActionsIntended', data: ActionsIntended },
    ]);
    expect(await refused('opn_2')).to.include({ code: 'conflict' });
    const before = await rig.events.readStream('operation-opn_2');
    expect(before).to.have.length(2);
    const { state } = await loadAggregate(rig.events, operation, 'opn_2');
    expect(state.results).to.equal(null);
  });
});
