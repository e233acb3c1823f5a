import { expect } from 'chai';
import {
  allMembershipsOf,
  countMembers,
  membersOf,
  membershipsOf,
  restorableBy,
} from '../../../../commands/kernel/membership.ts';
import { eligibleApprovers, mayDecide } from '../../../../commands/operations/eligible-approvers.ts';
import type { DirectoryState, MemberEntry } from '../../../../commands/ports/directory.ts';
import { memberEntry, membershipsWith, orgEntry, personEntry } from '../../../support/worlds/people.ts';

const FAR = '2100-01-01T00:00:00.000Z';

/** Refuses to be read as a whole. */
class OneByOne extends Map<string, MemberEntry> {
  override values(): never {
    throw new Error('all memberships were read');
  }
  override entries(): never {
    return this.values();
  }
  override [Symbol.iterator](): never {
    return this.values();
  }
}

describe('membership', () => {
  const entries = [
    memberEntry('org_1', 'usr_a', 'owner', { since: '9' }),
    memberEntry('org_1', 'usr_b', 'member'),
    memberEntry('org_1', 'usr_gone', 'owner'),
    memberEntry('org_2', 'usr_a', 'admin', { since: '2' }),
    memberEntry('org_deleted', 'usr_a', 'owner'),
  ];
  const memberships = membershipsWith(...entries);
  const members = new OneByOne();
  for (const entry of entries) members.set(entry.id, entry);
  const state = {
    ...memberships,
    members,
    organisations: new Map(
      [orgEntry('org_1'), orgEntry('org_2'), orgEntry('org_deleted', { eraseAt: FAR })].map((org) => [
        org.id,
        org,
      ]),
    ),
    people: new Map(
      [personEntry('usr_a'), personEntry('usr_b'), personEntry('usr_gone', { isBeingErased: true })].map(
        (person) => [person.id, person],
      ),
    ),
  } as unknown as DirectoryState;

  it('finds those of an organisation or a person without reading those of others', () => {
    const idsOf = (some: readonly MemberEntry[]): readonly string[] => some.map(({ id }) => id);
    expect(idsOf(membersOf(state, 'org_1'))).to.deep.equal(['org_1/usr_a', 'org_1/usr_b']);
    expect(idsOf(membersOf(state, 'org_deleted'))).to.deep.equal([]);
    expect(idsOf(membershipsOf(state, 'usr_a'))).to.deep.equal(['org_2/usr_a', 'org_1/usr_a']);
    expect(idsOf(allMembershipsOf(state, 'usr_a'))).to.have.length(3);
    expect(idsOf(restorableBy(state, 'usr_a'))).to.deep.equal(['org_deleted/usr_a']);
    expect(countMembers(state, 'org_1')).to.equal(3);
    expect([membersOf(state, 'org_none'), countMembers(state, 'org_none')]).to.deep.equal([[], 0]);
  });

  it('says whether one person may decide an approval as the list of all does', () => {
    for (const exclude_owner of [true, false])
      for (const approver_role of ['approver', 'admin', 'owner'] as const) {
        const whose = { orgId: 'org_1', behindId: 'usr_a' };
        const wanted = { approver_role, exclude_owner };
        const all = eligibleApprovers(state, whose, wanted);
        expect(all).to.deep.equal(exclude_owner ? [] : ['usr_a']);
        for (const { userId } of entries)
          expect(mayDecide(state, whose, wanted, userId), userId).to.equal(all.includes(userId));
      }
  });
});
