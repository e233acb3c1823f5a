import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { commitApproval } from '../../../../commands/approvals/commit-approval.ts';
import { decideApproval } from '../../../../commands/approvals/decide-approval.ts';
import type { Caller } from '../../../../commands/kernel/access.ts';
import type { EventStore } from '../../../../commands/ports/event-store.ts';
import { rejection } from '../../../support/suite/rejection.ts';
import { type ApprovalRig, approvalRig } from '../../../support/worlds/approval-rig.ts';

/** Notes the event types of each append and the stream of each read. */
function watch(events: EventStore): { readonly appends: string[]; readonly reads: string[] } {
  const watched = { appends: [] as string[], reads: [] as string[] };
  const append = events.append.bind(events);
  const readStream = events.readStream.bind(events);
  events.append = (stream, expected, facts) => {
    watched.appends.push(facts.map(({ type }) => type).join(' '));
    return append(stream, expected, facts);
  };
  events.readStream = (stream, from) => {
    watched.reads.push(stream);
    return readStream(stream, from);
  };
  return watched;
}

describe('an approved archive', () => {
  let rig: ApprovalRig;
  let boss: Caller;
  let watched: ReturnType<typeof watch>;

  beforeEach(() => {
    rig = approvalRig();
    boss = rig.person('usr_boss', 'owner');
    watched = watch(rig.ports.events);
  });

  const REQUESTED = 'OperationSubmitted OperationDecided ApprovalRequested';
  const BEGUN = 'CommitStarted ActionsIntended';
  const ENDED = 'ActionOutcomesRecorded OperationCompleted ApprovalCommitted';

  const approved = async (): Promise<string> => {
    const asked = await rig.ask([rig.arrive('INBOX', '<one@example.com>')], 'archive');
    const { id = '', content_hash } = asked.approval ?? {};
    const vote = { approval_id: id, decision: 'approve', content_hash };
    await rig.invokeAs(boss, decideApproval, vote, null);
    return id;
  };

  it('appends the events of its approval and the claim of the key of its commit', async () => {
    const approval_id = await approved();
    await rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1');
    expect(watched.appends).to.deep.equal([
      REQUESTED,
      'ApprovalVoteCast ApprovalGranted',
      'RequestClaimed',
      BEGUN,
      ENDED,
    ]);
    // By the vote and by the commit once each. The key is taken without a read.
    expect(watched.reads).to.have.length(2);
  });

  it('takes four appends where policy commits it with the last vote', async () => {
    rig.rules({
      id: 'at_once',
      when: { actions: ['archive'] },
      then: { decision: 'require', auto_commit: true },
    });
    await approved();
    const voted = 'ApprovalVoteCast ApprovalGranted CommitScheduled';
    expect(watched.appends).to.deep.equal([REQUESTED, voted, BEGUN, ENDED]);
  });

  it('refuses the second of two equal commits at once by its key, whatever the first has done meanwhile', async () => {
    const approval_id = await approved();
    const commit = () => rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1');
    const ended = await Promise.allSettled([commit(), commit()]);
    const refused = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(refused).to.have.length(1);
    expect(refused[0]).to.include({ code: 'idempotency_in_progress' });
    expect(watched.appends.filter((types) => types === ENDED)).to.have.length(1);
    expect((await commit()).replayed).to.equal(true);
  });

  it('refuses a key that another request has, whatever it is used for', async () => {
    const [first, second] = [await approved(), await approved()];
    await rig.invokeAs(rig.caller, commitApproval, { approval_id: first }, 'commit-1');
    for (const approval_id of [second, 'chk_unknown']) {
      const refused = await rejection(rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1'));
      expect(refused).to.include({ code: 'idempotency_key_reused' });
    }
    expect(watched.appends.filter((types) => types === BEGUN)).to.have.length(1);
  });

  it('answers a commit once the lease of its key is released, so that a repeat right after it is replayed', async () => {
    const approval_id = await approved();
    const { leases } = rig.ports;
    const release = leases.release.bind(leases);
    leases.release = async (name) => {
      await sleep(20);
      await release(name);
    };
    const commit = () => rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1');
    await commit();
    expect((await commit()).replayed).to.equal(true);
  });

  it('answers each repeat of the commit without an append', async () => {
    const approval_id = await approved();
    await rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1');
    const { length } = watched.appends;
    const again = await Promise.all(
      [1, 2, 3].map(() => rig.invokeAs(rig.caller, commitApproval, { approval_id }, 'commit-1')),
    );
    expect(again.map(({ replayed }) => replayed)).to.deep.equal([true, true, true]);
    expect(watched.appends).to.have.length(length);
  });
});
