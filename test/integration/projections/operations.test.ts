import { expect } from 'chai';
import { listUnsettledOperations } from '../../../projections/operations.ts';
import { happened } from '../../support/event-author.ts';
import { intended, MAILBOX, operated, ORG } from '../../support/sample-history.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

describe('operations', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('lists what has no outcome or unknown items, until both are settled', async () => {
    const { events, sql } = rig;
    const projector = await rig.start();
    const unsettled = async (...except: string[]): Promise<string[]> => {
      await rig.settle(projector);
      const found = await listUnsettledOperations(sql, { limit: 10, except, exceptMailboxes: [] });
      expect(found.every(({ orgId }) => orgId === ORG)).to.equal(true);
      return found.map(({ operationId }) => operationId);
    };
    await operated(events, 'opn_done', { done: 2, unknown: 0 });
    await operated(events, 'opn_unknown', { done: 1, unknown: 2 });
    await intended(events, 'opn_cut_off');
    expect(await unsettled()).to.have.members(['opn_unknown', 'opn_cut_off']);
    expect(await unsettled('opn_cut_off')).to.deep.equal(['opn_unknown']);
    const inOthers = { limit: 10, except: [], exceptMailboxes: [MAILBOX] };
    expect(await listUnsettledOperations(sql, inOthers)).to.deep.equal([]);
    const result = { step: 0, action: 'archive' as const };
    const reconciled = (message_id: string, outcome: 'done' | 'unknown') => ({
      type: 'ActionsReconciled' as const,
      data: { results: [{ ...result, message_id, outcome }] },
    });
    await happened(events, 'operation-opn_unknown', [reconciled('msg_1', 'done')]);
    expect(await unsettled('opn_cut_off')).to.deep.equal(['opn_unknown']);
    await happened(events, 'operation-opn_unknown', [reconciled('msg_2', 'done')]);
    expect(await unsettled()).to.deep.equal(['opn_cut_off']);
  });
});
