import { expect } from 'chai';
import type { ObservedChange } from '../../../../commands/ports/change-feed.ts';
import { RecentChanges } from '../../../../infra/waiting/recent-changes.ts';

const change = (position: bigint, flags: readonly string[]): ObservedChange => ({
  position,
  index: 0,
  kind: 'updated',
  folderNumber: 1,
  uidValidity: 1,
  uid: Number(position),
  flags,
  flagsBefore: null,
  operationId: null,
  alsoIn: [],
});

/** Changes kept of 100, with flags of this length. */
function kept(characters: number): readonly ObservedChange[] {
  const recent = new RecentChanges(1_000, 0n);
  for (let position = 1n; position <= 100n; position += 1n)
    recent.add('mbx_1', [change(position, ['x'.repeat(characters)])]);
  expect(recent.after('mbx_1', { position: recent.from - 1n, index: null })).to.equal(null);
  return recent.after('mbx_1', { position: recent.from, index: null }) ?? [];
}

describe('RecentChanges', () => {
  it('keeps fewer changes when they are large', () => {
    expect(kept(10)).to.have.length(100);
    const large = kept(100_000);
    expect(large.length).to.be.within(30, 45);
    expect(large.at(-1)?.position).to.equal(100n);
  });
});
