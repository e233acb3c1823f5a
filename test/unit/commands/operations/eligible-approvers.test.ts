import { expect } from 'chai';
import { hasLostApprover } from '../../../../commands/operations/eligible-approvers.ts';
import { removeMemberCapability, updateMember } from '../../../../commands/organisation/manage-members.ts';
import type { ApprovalState } from '../../../../commands/operations/approval-state.ts';
import type { Role } from '../../../../commands/values/scopes.ts';
import { verifies } from '../../../support/suite/verifies.ts';
import { PeopleRig } from '../../../support/worlds/people-rig.ts';

type Voted = Pick<ApprovalState, 'votes' | 'terms'>;

describe('hasLostApprover', () => {
  let rig: PeopleRig;
  let owner: string;
  beforeEach(async () => {
    rig = await PeopleRig.start();
    owner = rig.gateway.org.userId;
  });

  /** As the stream of an operation has it. */
  const voteOf = (userId: string, wanted: 'approver' | 'admin' = 'approver'): Voted => {
    const at = rig.ports.clock.now().toISOString();
    rig.gateway.clock.advance(1);
    const vote = { by: { type: 'person', id: userId }, at, decision: 'approve' };
    return { votes: [vote], terms: { approver_role: wanted } } as unknown as Voted;
  };
  const give = async (userId: string, role: Role): Promise<void> => {
    await rig.act(owner, updateMember, { user_id: userId, role });
    rig.gateway.clock.advance(1);
  };
  const isLost = (voted: Voted): boolean => hasLostApprover(rig.state, rig.orgId, voted);

  it(`counts no vote of a role that was lost, also when it was given again ${verifies('contract:3:role-ends')}`, async () => {
    const ann = await rig.join('approver');
    const before = voteOf(ann);
    expect(isLost(before)).to.equal(false);
    await give(ann, 'member');
    const meanwhile = voteOf(ann);
    expect([isLost(before), isLost(meanwhile)]).to.deep.equal([true, true]);
    await give(ann, 'approver');
    expect([isLost(before), isLost(meanwhile)]).to.deep.equal([true, true]);
    expect(isLost(voteOf(ann))).to.equal(false);
  });

  it(`ends only the votes that needed what was lost ${verifies('contract:3:role-ends')}`, async () => {
    const ann = await rig.join('approver');
    const first = voteOf(ann);
    await give(ann, 'owner');
    const [plain, high] = [voteOf(ann), voteOf(ann, 'admin')];
    await give(ann, 'admin');
    expect([first, plain, high].map(isLost)).to.deep.equal([false, false, false]);
    await give(ann, 'approver');
    expect([first, plain, high].map(isLost)).to.deep.equal([false, false, true]);
    await give(ann, 'owner');
    expect([first, plain, high].map(isLost)).to.deep.equal([false, false, true]);
  });

  it(`counts no vote of an earlier membership ${verifies('contract:2:departures')}`, async () => {
    const ann = await rig.join('approver', 'ann');
    const before = voteOf(ann);
    await rig.act(owner, removeMemberCapability, { user_id: ann });
    expect(isLost(before)).to.equal(true);
    rig.gateway.clock.advance(1);
    await rig.join('approver', 'ann');
    expect(isLost(before)).to.equal(true);
    expect(isLost(voteOf(ann))).to.equal(false);
  });
});
