import { expect } from 'chai';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { createTrails } from '../../../../infra/projector/trails.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { askedFor, wentOn } from '../../../support/samples/sample-approvals.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { openRig, type Rig } from './projector-rig.ts';

describe('the approvals of an account', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig[Symbol.asyncDispose]();
  });

  const ports = () => ({ sql: rig.sql, events: rig.events, clock: systemClock });

  it('are those that the person or an agent of theirs requested, voted on or cancelled, also ended ones', async () => {
    const projector = await rig.start({ projections: [approvals] });
    const { events } = rig;
    await askedFor(events, 'one', { requester: 'agt_ann', mailboxId: 'mbx_1', draftId: 'drf_1' });
    await askedFor(events, 'two', { requester: 'usr_bea', mailboxId: 'mbx_2' });
    await askedFor(events, 'three', { requester: 'usr_bea' });
    await wentOn(events, 'two', 'ApprovalVoteCast', { actorId: 'usr_ann' });
    await wentOn(events, 'two', 'ApprovalRejected', { actorId: 'usr_ann' });
    await wentOn(events, 'three', 'ApprovalCancelled', { actorId: 'usr_cas' });
    const trails = createTrails(ports());
    const found = async (...ids: readonly string[]) =>
      (await trails.approvalsOf(ids)).map(({ id }) => id).toSorted();
    expect(await found('usr_ann', 'agt_ann')).to.deep.equal(['chk_one', 'chk_two']);
    expect(await found('usr_bea')).to.deep.equal(['chk_three', 'chk_two']);
    expect(await found('usr_cas')).to.deep.equal(['chk_three']);
    expect(await found('usr_other')).to.deep.equal([]);
    expect(await trails.approvalsOf(['agt_ann'])).to.deep.equal([
      { id: 'chk_one', mailboxId: 'mbx_1', draftId: 'drf_1' },
    ]);
    await projector.close();
  });

  it('are not known while the read model lacks events of now', async () => {
    const projector = await rig.start({ projections: [approvals] });
    await rig.settle(projector);
    await projector.close();
    await askedFor(rig.events, 'one', { requester: 'usr_ann' });
    let now = 0;
    const clock = {
      ...systemClock,
      elapsedMs: () => now,
      sleep: (ms: number) => {
        now += ms;
        return Promise.resolve();
      },
    };
    const error = await rejection(createTrails({ ...ports(), clock }).approvalsOf(['usr_ann']));
    expect(error).to.include({ code: 'index_building' });
  });
});
