import { expect } from 'chai';
import { productSources } from '../../support/sources.ts';

const sizes = productSources()
  .map(({ lines }) => lines.length)
  .sort((a, b) => a - b);
const percentile = (share: number): number => sizes[Math.ceil(sizes.length * share) - 1] ?? 0;

describe('file budget of the product', () => {
  it('has a median of at most 80 lines', () => {
    expect(percentile(0.5)).to.be.within(1, 80);
  });

  it('has a 90th percentile of at most 180 lines', () => {
    expect(percentile(0.9)).to.be.at.most(180);
  });

  it('has no file above 300 lines', () => {
    const tooLong = productSources().filter(({ lines }) => lines.length > 300);
    expect(tooLong.map(({ path }) => path)).to.deep.equal([]);
  });
});
