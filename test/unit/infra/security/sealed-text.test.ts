import { expect } from 'chai';
import fc from 'fast-check';
import { sealBox } from '../../../../infra/security/sealed-box.ts';
import { commitmentOf, openText, readSealed, sealText } from '../../../../infra/security/personal-data.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe('sealed text', () => {
  const key = randomKey();
  const open = (sealed: string, with_ = key): string | null => {
    const parts = readSealed(sealed);
    return parts && (openText(with_, parts)?.text ?? null);
  };

  it(`commits to its text under a salt ${verifies('contract:12:sealed-v2')}`, () => {
    expect(commitmentOf(Buffer.alloc(16, 0xaa), Buffer.from('Zoë said "yes"'))).to.equal(
      's6sz2TaA-ZxSzwDCE98uMTX4Y5RkmcTmeHezwYJaBng',
    );
  });

  it('opens to what was sealed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const sealed = sealText(key, 'usr_1', text);
        expect(sealed).to.match(/^sealed\.v2\.usr_1\.[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]+$/);
        expect(open(sealed)).to.equal(text);
        expect(open(sealed, randomKey())).to.equal(null);
      }),
    );
  });

  it('reveals the length of a text only to a multiple of 32', () => {
    const lengthOf = (text: string): number => readSealed(sealText(key, 'usr_1', text))?.box.length ?? 0;
    expect(lengthOf('')).to.equal(lengthOf('anna@x.test'));
    expect(lengthOf('a'.repeat(13))).to.equal(lengthOf('a'.repeat(44)));
    expect(lengthOf('a'.repeat(12))).to.be.below(lengthOf('a'.repeat(13)));
  });

  it('differs each time, also in its commitment', () => {
    const [one, two] = [sealText(key, 'usr_1', 'x'), sealText(key, 'usr_1', 'x')].map(readSealed);
    expect(one?.commitment).not.to.equal(two?.commitment);
  });

  it('opens texts of version 1', () => {
    const box = sealBox(key, Buffer.from('Zoë'), 'personal usr_1').toString('base64url');
    expect(open(`sealed.v1.usr_1.${box}`)).to.equal('Zoë');
  });

  it('does not open when the commitment or the version is wrong', () => {
    const [, , , commitment = '', box = ''] = sealText(key, 'usr_1', 'yes').split('.');
    const [, , , other = ''] = sealText(key, 'usr_1', 'no').split('.');
    const overlong = Buffer.alloc(32);
    overlong.writeUInt32BE(1_000, 16);
    const bad = sealBox(key, overlong, 'personal usr_1').toString('base64url');
    const short = sealBox(key, Buffer.alloc(8), 'personal usr_1').toString('base64url');
    for (const sealed of [
      `sealed.v2.usr_1.${other}.${box}`,
      `sealed.v2.usr_1.${box}`,
      `sealed.v2.usr_2.${commitment}.${box}`,
      `sealed.v1.usr_1.${commitment}.${box}`,
      `sealed.v3.usr_1.${commitment}.${box}`,
      `sealed.v2.usr_1.${commitment}.${bad}`,
      `sealed.v2.usr_1.${commitment}.${short}`,
    ])
      expect(open(sealed), sealed).to.equal(null);
  });
});
