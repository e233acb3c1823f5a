import { expect } from 'chai';
import { commonTerms, rareTerms, unseenWith } from '../../../bench/large-mailbox.ts';
import { BENCHES } from '../../../bench/benches.ts';
import { groupsOf } from '../../../bench/run-benches.ts';

describe('a term of the query benchmark', () => {
  it('differs from every other, so that no answer can be kept', () => {
    for (const terms of [commonTerms(44), rareTerms(1_000, 44), rareTerms(100_000, 44)])
      expect(new Set(terms).size).to.equal(44);
  });

  it('finds at least a page, or few messages', () => {
    for (const term of commonTerms(44)) expect(unseenWith(1_000, term), term).to.be.at.least(50);
    for (const term of rareTerms(10_000, 44)) expect(unseenWith(10_000, term), term).to.be.within(1, 50);
  });
});

describe('a group of benchmarks', () => {
  it('shares a demo only on the same mailboxes, and none is left out', () => {
    const groups = groupsOf(BENCHES).map((group) => group.map(({ name }) => name));
    expect(groups.flat().toSorted()).to.deep.equal(BENCHES.map(({ name }) => name).toSorted());
    expect(groups.filter((group) => group.length > 1)).to.deep.equal([
      ['b2', 'b10'],
      ['b3', 'b11', 'read'],
    ]);
  });
});
