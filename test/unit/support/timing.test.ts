import { expect } from 'chai';
import { areTold, medianOf, shareLonger } from '../../support/models/timing.ts';

/** Evenly spread, so that no run differs. */
const durations = (count: number, shiftMs = 0): readonly number[] =>
  Array.from({ length: count }, (_, n) => 20 + (n * 10) / count + shiftMs);

describe('comparing durations', () => {
  it('computes medians and the share of longer ones', () => {
    expect([medianOf([3, 1, 2]), medianOf([4, 1, 2, 3])]).to.deep.equal([2, 2.5]);
    expect([shareLonger([2], [1, 3]), shareLonger([1, 2], [1, 2]), shareLonger([9], [1])]).to.deep.equal([
      0.5, 0.5, 1,
    ]);
  });

  it('finds a shift that is small beside their spread when there are many', () => {
    expect(areTold(durations(200), durations(200))).to.equal(false);
    expect(areTold(durations(200), durations(200, 0.5))).to.equal(false);
    for (const shift of [2, -2, 40]) expect(areTold(durations(200), durations(200, shift))).to.equal(true);
  });

  it('finds only a large shift when there are few', () => {
    expect(areTold(durations(20), durations(20, 2))).to.equal(false);
    expect(areTold(durations(20), durations(20, 40))).to.equal(true);
  });
});
