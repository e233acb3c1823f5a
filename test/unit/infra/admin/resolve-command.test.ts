import { expect } from 'chai';
import { resolveCommand } from '../../../../infra/admin/resolve-command.ts';
import { happened, sampleAuthor } from '../../../support/samples/event-author.ts';
import { memoryPorts } from '../../../support/worlds/memory-gateway.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { SAMPLE_EVENTS } from '../../../support/samples/sample-events.ts';

describe('admin resolve', () => {
  const reason = 'I looked.';
  const { ports, events } = memoryPorts();
  const refused = async (operationId: string, word: string | undefined, why?: string): Promise<string> =>
    (await rejection(resolveCommand(ports, { operationId, word, reason: why }))).message;

  before(async () => {
    const result = { message_id: 'msg_1', step: 0, action: 'move' as const, outcome: 'unknown' as const };
    const completed = { summary: { done: 0, failed: 0, unknown: 1 } };
    await happened(
      events,
      'operation-opn_1',
      [
        { type: 'OperationSubmitted', data: SAMPLE_EVENTS.OperationSubmitted },
        { type: 'ActionOutcomesRecorded', data: { results: [result] } },
        { type: 'OperationCompleted', data: completed },
      ],
      sampleAuthor('org_1'),
    );
    await happened(events, 'operation-opn_2', [
      { type: 'OperationSubmitted', data: SAMPLE_EVENTS.OperationSubmitted },
    ]);
  });

  it('says which argument is missing and why an operation cannot be resolved', async () => {
    for (const word of [undefined, 'maybe']) {
      expect(await refused('opn_1', word, reason)).to.equal('Say what became of it: done or not_done.');
    }
    for (const why of [undefined, '  ', 'x'.repeat(1_001)]) {
      expect(await refused('opn_1', 'done', why)).to.match(/^Give a reason .* --reason/);
    }
    expect(await refused('opn_none', 'done', reason)).to.equal('There is no operation opn_none.');
    expect(await refused('opn_2', 'done', reason)).to.match(/^The operation has no outcome yet/);
  });

  it('settles an unknown operation once, as the command of a person', async () => {
    const given = { operationId: 'opn_1', word: 'not_done', reason };
    expect(await resolveCommand(ports, given)).to.equal('opn_1 is failed now.');
    const last = await events.readLast('operation-opn_1');
    expect(last?.type).to.equal('ActionsReconciled');
    expect(last?.metadata).to.deep.include({ org_id: 'org_1' });
    expect(last?.metadata['actor']).to.include({ type: 'system', id: 'admin-command' });
    expect(await refused('opn_1', 'done', reason)).to.match(/nothing to resolve/);
  });
});
