import { expect } from 'chai';
import { approximateBytes } from '../../../../commands/values/approximate-bytes.ts';

describe('approximateBytes', () => {
  it('grows with every text, however deep', () => {
    const message = { subject: 'x'.repeat(1_000), to: [{ name: null, email: 'y'.repeat(500) }], seen: true };
    expect(approximateBytes(message)).to.be.within(3_000, 3_500);
    expect(approximateBytes([message, message])).to.be.within(6_000, 7_000);
  });

  it('counts what is no text as a number', () => {
    for (const data of [1, true, null, 5n, undefined]) expect(approximateBytes(data)).to.equal(24);
    expect(approximateBytes([1, 2, 3])).to.equal(4 * 24);
  });
});
