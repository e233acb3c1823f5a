import { expect } from 'chai';
import { listUnsettledOperations } from '../../../projections/operations.ts';
import { happened } from '../../support/samples/event-author.ts';
import { askedFor, wentOn } from '../../support/samples/sample-approvals.ts';
import { intended, MAILBOX, operated, ORG } from '../../support/samples/sample-history.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

describe('the operations read model', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it('lists operations without an outcome or with unknown items until both are settled', async () => {
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

  it('omits an operation in approval until its commit begins, and counts each attempt', async () => {
    const { events, sql } = rig;
    const projector = await rig.start();
    const stands = async (name: string): Promise<object | undefined> => {
      await rig.settle(projector);
      const [row] = await sql.query(
        'select state, draft_id, done_items as done, failed_items as failed from read.operation where id = $1',
        [`opn_${name}`],
      );
      return row;
    };
    const isUnsettled = async (name: string): Promise<boolean> => {
      const found = await listUnsettledOperations(sql, { limit: 100, except: [], exceptMailboxes: [] });
      return found.some(({ operationId }) => operationId === `opn_${name}`);
    };
    const completed = (name: string, outcome: 'done' | 'failed') =>
      wentOn(events, name, 'OperationCompleted', {
        summary: { done: 0, failed: 0, unknown: 0, [outcome]: 1 },
      });
    const nothing = { draft_id: null, done: 0, failed: 0 };
    await askedFor(events, 'tried');
    expect(await stands('tried')).to.deep.equal({ state: 'waiting', ...nothing });
    expect(await isUnsettled('tried')).to.equal(false);
    await wentOn(events, 'tried', 'CommitStarted');
    expect(await stands('tried')).to.deep.equal({ state: 'running', ...nothing });
    expect(await isUnsettled('tried')).to.equal(true);
    await completed('tried', 'failed');
    await wentOn(events, 'tried', 'CommitAttemptFailed');
    expect(await stands('tried')).to.deep.equal({ state: 'waiting', ...nothing });
    expect(await isUnsettled('tried')).to.equal(false);
    await wentOn(events, 'tried', 'CommitStarted', { attempt: 2 });
    await completed('tried', 'done');
    await wentOn(events, 'tried', 'ApprovalCommitted', { attempt: 2 });
    expect(await stands('tried')).to.deep.equal({ state: 'completed', ...nothing, done: 1 });
    await askedFor(events, 'refused', { draftId: 'drf_1' });
    await wentOn(events, 'refused', 'ApprovalRejected');
    expect(await stands('refused')).to.deep.equal({ state: 'not_run', ...nothing, draft_id: 'drf_1' });
    await projector.close();
  });
});
