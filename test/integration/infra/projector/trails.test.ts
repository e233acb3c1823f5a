import { expect } from 'chai';
import type { StoredEvent } from '../../../../commands/values/event.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { createTrails } from '../../../../infra/projector/trails.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { checkpointKey } from '../../../../projections/projection.ts';
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

  for (const [type, revision] of [
    ['OperationSubmitted', 0],
    ['ApprovalVoteCast', 3],
    ['ApprovalCancelled', 4],
  ] as const)
    it(`are not known while an event of an approval could not be read: ${type}`, async () => {
      const { events } = rig;
      await askedFor(events, 'one', { requester: 'usr_ann' });
      await wentOn(events, 'one', 'ApprovalVoteCast', { actorId: 'usr_bea' });
      await wentOn(events, 'one', 'ApprovalCancelled', { actorId: 'usr_cas' });
      const all = events.all as StoredEvent[];
      const at = all.findIndex((event) => event.type === type && event.revision === BigInt(revision));
      const event = all[at];
      if (event === undefined) throw new Error(`no ${type}`);
      all[at] = { ...event, data: {} };
      const projector = await rig.start({ projections: [approvals] });
      await rig.settle(projector);
      for (const id of ['usr_ann', 'usr_bea', 'usr_cas', 'usr_other'])
        expect(await rejection(createTrails(ports()).approvalsOf([id]))).to.include({
          code: 'index_building',
        });
      await projector.close();
    });

  it('are known although an event of something else could not be read', async () => {
    await askedFor(rig.events, 'one', { requester: 'usr_ann' });
    const projector = await rig.start({ projections: [approvals] });
    await rig.settle(projector);
    await rig.sql.query(
      `insert into work.parked_event (projection, position, event_id, type, error)
       values ($1, 0, gen_random_uuid(), 'GrantChanged', 'Error: a field is missing'),
              ('approvals_v0', 0, gen_random_uuid(), 'ApprovalVoteCast', 'Error: a field is missing')`,
      [checkpointKey(approvals)],
    );
    expect(await createTrails(ports()).approvalsOf(['usr_ann'])).to.have.length(1);
    await projector.close();
  });

  it('are read from the table of this version, while the view shows that of the version before', async () => {
    await askedFor(rig.events, 'one', { requester: 'usr_ann' });
    const projector = await rig.start({ projections: [approvals] });
    await rig.settle(projector);
    await rig.sql.query('drop view read.approval');
    await rig.sql.query('create table read.approval_v0 (id text, mailbox_id text, draft_id text)');
    await rig.sql.query('create view read.approval as select * from read.approval_v0');
    expect(await createTrails(ports()).approvalsOf(['usr_ann'])).to.have.length(1);
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
