import { expect } from 'chai';
import { approvals } from '../../../projections/approvals.ts';
import { countOpenWork } from '../../../projections/open-work.ts';
import { operations } from '../../../projections/operations.ts';
import { systemMails } from '../../../projections/system-mail.ts';
import { sends } from '../../../projections/sends.ts';
import { happened } from '../../support/samples/event-author.ts';
import { askedFor, wentOn } from '../../support/samples/sample-approvals.ts';
import { SAMPLE_EVENTS } from '../../support/samples/sample-events.ts';
import { MAILBOX } from '../../support/samples/sample-history.ts';
import { verifies } from '../../support/suite/verifies.ts';
import { openRig, type Rig } from '../infra/projector/projector-rig.ts';

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

describe('the open work', () => {
  let rig: Rig;
  before(async () => {
    rig = await openRig();
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  it(`is counted while it is open, and not before or after ${verifies('contract:20:metrics')}`, async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [approvals, operations, sends, systemMails] });
    const open = async (now = new Date()) => {
      await rig.settle(projector);
      const { oldestApprovalSeconds, ...counts } = await countOpenWork(sql, now);
      return { ...counts, age: Math.round(oldestApprovalSeconds / 60) };
    };
    const mails = { systemMailsRetried: 0, systemMailsFailed: 0 };
    const none = {
      ...mails,
      ...{ approvalsWaiting: 0, approvalsExpired: 0, operationsUnknown: 0, sendsWaiting: 0, age: 0 },
    };
    expect(await open()).to.deep.equal(none);

    await askedFor(events, 'waits', { expiresAt: inHours(20) });
    await askedFor(events, 'nobody', { expiresAt: inHours(20), terms: { quorum: 0 } });
    await askedFor(events, 'granted', { expiresAt: inHours(20) });
    await wentOn(events, 'granted', 'ApprovalGranted', { commit_by: inHours(20) });
    expect(await open()).to.deep.equal({ ...none, approvalsWaiting: 1 });
    expect(await open(new Date(inHours(1)))).to.deep.equal({ ...none, approvalsWaiting: 1, age: 60 });

    await askedFor(events, 'missed', { expiresAt: inHours(-1) });
    await wentOn(events, 'missed', 'ApprovalExpired');
    await askedFor(events, 'lapsed', { expiresAt: inHours(-1) });
    await wentOn(events, 'lapsed', 'ApprovalGranted', { commit_by: inHours(-1) });
    await wentOn(events, 'lapsed', 'ApprovalExpired');
    await wentOn(events, 'waits', 'ApprovalCancelled');
    expect(await open()).to.deep.equal({ ...none, approvalsExpired: 1 });
    expect(await open(new Date(inHours(24)))).to.deep.equal(none);

    await happened(events, 'operation-opn_lost', [
      { type: 'OperationSubmitted', data: SAMPLE_EVENTS.OperationSubmitted },
      { type: 'OperationCompleted', data: { summary: { done: 0, failed: 0, unknown: 1 } } },
    ]);
    expect(await open()).to.deep.equal({ ...none, approvalsExpired: 1, operationsUnknown: 1 });

    for (const [id, next_at] of [
      ['00000000-0000-5000-8000-000000000001', inHours(1)],
      ['00000000-0000-5000-8000-000000000002', null],
    ] as const) {
      const tried = { outcome: 'failed' as const, code: '451', next_at };
      await happened(events, `systemMail-${id}`, [
        { type: 'SystemMailRequested', data: SAMPLE_EVENTS.SystemMailRequested },
        { type: 'SystemMailAttempted', data: tried },
      ]);
    }
    const { systemMailsRetried, systemMailsFailed } = await open();
    expect({ systemMailsRetried, systemMailsFailed }).to.deep.equal({
      ...{ systemMailsRetried: 1, systemMailsFailed: 1 },
    });
  });

  it('includes sends that are retried, and none in undo time or given up', async () => {
    const { events, sql } = rig;
    const projector = await rig.start({ projections: [approvals, operations, sends, systemMails] });
    const waiting = async (): Promise<number> => {
      await rig.settle(projector);
      return (await countOpenWork(sql, new Date())).sendsWaiting;
    };
    const draft = (name: string) => ({ mailbox_id: MAILBOX, draft_id: `drf_${name}`, draft_version: 1 });
    const putOff = (name: string) => ({
      ...SAMPLE_EVENTS.SendPostponed,
      operation_id: `opn_${name}`,
      retry_at: inHours(1),
    });
    for (const name of ['held', 'tried', 'approved']) {
      if (name === 'approved')
        await askedFor(events, name, { expiresAt: inHours(20), draftId: `drf_${name}` });
      await happened(events, `operation-opn_${name}`, [{ type: 'SendIntended', data: draft(name) }]);
    }
    await happened(events, 'draft-drf_held', [
      { type: 'SendScheduled', data: { operation_id: 'opn_held', commit_at: inHours(1) } },
    ]);
    expect(await waiting()).to.equal(0);
    await happened(events, 'draft-drf_tried', [{ type: 'SendPostponed', data: putOff('tried') }]);
    expect(await waiting()).to.equal(1);
    await happened(events, 'draft-drf_approved', [
      { type: 'SendPostponed', data: { ...putOff('approved'), approval_id: 'chk_approved' } },
    ]);
    await wentOn(events, 'approved', 'CommitAttemptFailed');
    expect(await waiting()).to.equal(2);
    await wentOn(events, 'approved', 'ApprovalExpired');
    expect(await waiting()).to.equal(1);
    await happened(events, 'draft-drf_tried', [
      { type: 'SendStarted', data: { ...SAMPLE_EVENTS.SendStarted, operation_id: 'opn_tried' } },
    ]);
    expect(await waiting()).to.equal(0);
  });
});
