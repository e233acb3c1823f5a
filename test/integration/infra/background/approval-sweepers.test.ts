import { expect } from 'chai';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { systemClock } from '../../../../infra/platform/system-clock.ts';
import { approvals } from '../../../../projections/approvals.ts';
import { NEEDS_APPROVAL, approvalRig } from '../../../support/worlds/approval-rig.ts';
import { runNamedSweepers } from '../../../support/worlds/named-sweepers.ts';
import { eventually } from '../../../support/suite/eventually.ts';
import { openRig, type Rig } from '../projector/projector-rig.ts';

/** More than are committed at once in all mailboxes together. */
const DUE = 20;

describe('the approval sweepers', () => {
  let home: Rig;
  before(async () => {
    home = await openRig();
  });
  after(async () => {
    await home[Symbol.asyncDispose]();
  });

  it('begin two commits in a mailbox whose server hangs, and continue with all others', async () => {
    const rig = approvalRig();
    const projector = await home.start({ events: rig.events, projections: [approvals] });
    const boss = rig.person('usr_boss', 'owner');
    for (let n = 1; n <= DUE; n += 1) {
      rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', undo_seconds: 10, auto_commit: true } });
      const asked = await rig.ask([rig.arrive('INBOX', `<${String(n)}@example.com>`)], 'archive');
      await rig.approvalAs(boss, decideApproval, {
        approval_id: asked.approval?.id,
        decision: 'approve',
        content_hash: asked.approval?.content_hash,
      });
    }
    rig.rules({ ...NEEDS_APPROVAL, then: { decision: 'require', decision_ttl: 60 } });
    const undecided = await rig.ask([rig.arrive('INBOX', '<undecided@example.com>')], 'archive');
    await home.settle(projector);
    let hanging = 0;
    const { promise: away, reject: end } = Promise.withResolvers<never>();
    rig.mail.withMailbox = () => {
      hanging += 1;
      return away;
    };
    const clock: Ports['clock'] = {
      ...systemClock,
      now: () => rig.ports.clock.now(),
    };
    const stop = new AbortController();
    const names = ['approval-commits', 'approval-ends'];
    const worker = runNamedSweepers({ ...rig.ports, sql: home.sql, clock }, names, stop.signal);
    try {
      rig.at(30);
      await eventually(() => hanging >= 2);
      rig.at(61);
      await eventually(async () => (await rig.typesOf(undecided)).at(-1) === 'ApprovalExpired');
      expect(hanging).to.equal(2);
    } finally {
      stop.abort();
      end(new Error('The connection is closed.'));
      await worker;
      await projector.close();
    }
  });
});
