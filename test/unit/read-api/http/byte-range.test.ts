import { expect } from 'chai';
import { askedRange, rangeWithin } from '../../../../read-api/http/send-bytes.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const of = (header: string | undefined, length: number) => {
  const asked = askedRange(header);
  return asked === null ? 'whole' : rangeWithin(asked, length);
};

describe(`rangeWithin ${verifies('contract:4:attachment-range')}`, () => {
  it('accepts first and last byte, the rest, or a suffix', () => {
    expect(of('bytes=0-4', 10)).to.deep.equal({ first: 0, last: 4 });
    expect(of('bytes=4-', 10)).to.deep.equal({ first: 4, last: 9 });
    expect(of('BYTES= 4 - 99 ', 10)).to.deep.equal({ first: 4, last: 9 });
    expect(of('bytes=-3', 10)).to.deep.equal({ first: 7, last: 9 });
    expect(of('bytes=-99', 10)).to.deep.equal({ first: 0, last: 9 });
  });

  it('is null beyond the end, and for empty content', () => {
    expect(of('bytes=10-', 10)).to.equal(null);
    expect(of('bytes=-0', 10)).to.equal(null);
    expect(of('bytes=0-', 0)).to.equal(null);
    expect(of('bytes=-5', 0)).to.equal(null);
  });

  it('is null for several ranges, another unit or an invalid header', () => {
    for (const header of [
      undefined,
      '',
      'bytes=',
      'bytes=-',
      'bytes=1-2,4-5',
      'items=1-2',
      'bytes=2-1',
      'bytes=a-b',
      'bytes=1',
    ]) {
      expect(of(header, 10), header).to.equal('whole');
    }
  });
});
