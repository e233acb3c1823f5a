import { expect } from 'chai';
import fc from 'fast-check';
import { compareKeysets, type Keyset, keysetOf, ORDERS } from '../../../../commands/mail/query.ts';
import { messageArbitrary } from '../../../support/models/message-arbitrary.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const keyset: fc.Arbitrary<Keyset> = fc.record({
  value: fc.integer({ min: 0, max: 3 }),
  folderNumber: fc.integer({ min: 1, max: 2 }),
  uid: fc.integer({ min: 1, max: 3 }),
});

describe('message order', () => {
  it(`sorts by INTERNALDATE, then by UID ${verifies('contract:4:received-order')}`, () => {
    fc.assert(
      fc.property(messageArbitrary, (message) => {
        const { value, uid } = keysetOf(message, 'received_desc');
        expect({ value, uid }).to.deep.equal({ value: message.receivedAt.getTime(), uid: message.ref.uid });
      }),
    );
    const at = (value: number, uid: number): Keyset => ({ value, folderNumber: 1, uid });
    const places = [at(2, 1), at(1, 9), at(2, 3), at(1, 4)];
    const sorted = places.toSorted((a, b) => compareKeysets('received_asc', a, b));
    expect(sorted).to.deep.equal([at(1, 4), at(1, 9), at(2, 1), at(2, 3)]);
    expect(places.toSorted((a, b) => compareKeysets('received_desc', a, b))).to.deep.equal(
      sorted.toReversed(),
    );
  });

  it('compares text by code point, as the database does', () => {
    const at = (value: string): Keyset => ({ value, folderNumber: 1, uid: 1 });
    // By UTF-16 code unit the surrogates of the emoji would sort before U+FF5E.
    expect(compareKeysets('subject_asc', at('\u{1F600}'), at('\uFF5E'))).to.be.greaterThan(0);
    expect(compareKeysets('subject_asc', at('a'), at('ab'))).to.be.lessThan(0);
  });

  it('compares 200 characters of a text, so that a cursor can hold it', () => {
    const [message] = fc.sample(messageArbitrary, 1);
    if (message === undefined) throw new Error('no message');
    const valueOf = (subject: string) => keysetOf({ ...message, subject }, 'subject_asc').value;
    expect(valueOf('\u{1F600}'.repeat(5_000))).to.equal('\u{1F600}'.repeat(200));
    expect(valueOf('ß'.repeat(300))).to.equal('S'.repeat(200));
  });

  it('is total in every direction', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ORDERS), keyset, keyset, (order, a, b) => {
        const compared = compareKeysets(order, a, b);
        expect(Math.sign(compareKeysets(order, b, a)) + Math.sign(compared)).to.equal(0);
        const isSame = a.value === b.value && a.folderNumber === b.folderNumber && a.uid === b.uid;
        expect(compared === 0).to.equal(isSame);
      }),
    );
  });
});
