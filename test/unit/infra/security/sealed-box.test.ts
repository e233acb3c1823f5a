import { expect } from 'chai';
import fc from 'fast-check';
import { openBox, sealBox } from '../../../../infra/security/sealed-box.ts';
import { randomKey } from '../../../support/samples/random-key.ts';

describe('sealed box', () => {
  const key = randomKey();

  it('opens to what was sealed', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (content, context) => {
        expect(openBox(key, sealBox(key, content, context), context)).to.deep.equal(Buffer.from(content));
      }),
    );
  });

  it('does not open when any bit was changed or bytes are missing', () => {
    const box = sealBox(key, Buffer.from('content'), 'context');
    for (let bit = 0; bit < box.length * 8; bit += 1) {
      const changed = Buffer.from(box);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(openBox(key, changed, 'context'), `bit ${String(bit)}`).to.equal(null);
    }
    for (let length = 0; length < box.length; length += 1) {
      expect(openBox(key, box.subarray(0, length), 'context'), `length ${String(length)}`).to.equal(null);
    }
  });

  it('does not open under another key or in another context', () => {
    const box = sealBox(key, Buffer.from('content'), 'mailbox 1');
    expect(openBox(randomKey(), box, 'mailbox 1')).to.equal(null);
    expect(openBox(key, box, 'mailbox 2')).to.equal(null);
  });

  it('differs each time', () => {
    const boxes = Array.from({ length: 50 }, () => sealBox(key, Buffer.from('same'), 'c').toString('hex'));
    expect(new Set(boxes).size).to.equal(50);
  });
});
