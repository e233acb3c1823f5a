import { createSecretKey } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  derivedId,
  fromBase32,
  idToUuid,
  toBase32,
  uuidToId,
  uuidV5,
  uuidV7,
  withPrefix,
} from '../../../../commands/values/ids.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const bytes = fc.uint8Array({ minLength: 0, maxLength: 40 });

describe('an id', () => {
  it('decodes every base32 text it encodes', () => {
    fc.assert(
      fc.property(bytes, (input) => {
        expect(fromBase32(toBase32(input))).to.deep.equal(Buffer.from(input));
      }),
    );
  });

  it('refuses characters outside the alphabet', () => {
    for (const text of ['u', 'abcu', 'A', 'é', 'il']) expect(fromBase32(text)).to.equal(null);
  });

  it(`encodes a UUID as prefix, underscore and 26 lower-case characters, and decodes it ${verifies('contract:1:random-ids', 'contract:1:opaque')}`, () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        const id = uuidToId('evt', uuid);
        expect(id).to.match(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
        expect(idToUuid('evt', id)).to.equal(uuid);
        expect(idToUuid('opn', id)).to.equal(null);
      }),
    );
  });

  it('creates UUIDv7s that sort by time', () => {
    const random = new Uint8Array(10).fill(7);
    const [early, late] = [uuidV7(1_700_000_000_000, random), uuidV7(1_700_000_000_001, random)];
    expect(early).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(early < late).to.equal(true);
    expect(uuidToId('opn', early) < uuidToId('opn', late)).to.equal(true);
  });

  it('creates the same UUIDv5 of the same parts, and another of others', () => {
    expect(uuidV5('a', 'b'))
      .to.equal(uuidV5('a', 'b'))
      .and.to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-5/);
    expect(uuidV5('a', 'b')).not.to.equal(uuidV5('ab', ''));
  });

  it(`derives the id of a key from organisation, principal and key, as long as a random id ${verifies('contract:1:id-from-key')}`, () => {
    const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
    const key = keyOf(1);
    const id = derivedId('opn', key, ['org_1', 'usr_1', 'k']);
    expect(id).to.match(/^opn_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(id).to.equal(derivedId('opn', key, ['org_1', 'usr_1', 'k']));
    expect(id).not.to.equal(derivedId('opn', key, ['org_1', 'usr_2', 'k']));
    expect(id).not.to.equal(derivedId('opn', keyOf(2), ['org_1', 'usr_1', 'k']));
  });

  it('keeps the random part under another prefix', () => {
    expect(withPrefix('chk', 'opn_abc')).to.equal('chk_abc');
  });
});
