import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../../../commands/values/errors.ts';
import { checkKey, fingerprintOf } from '../../../../commands/kernel/idempotency.ts';
import { canonicalJson } from '../../../../commands/values/canonical-json.ts';
import { createIds } from '../../../../infra/security/random-ids.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { randomKey } from '../../../support/samples/random-key.ts';
import { verifies } from '../../../support/suite/verifies.ts';

/** The same value with the members of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

const json = fc
  .jsonValue({ maxDepth: 4, noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);

describe('canonicalJson', () => {
  it('parses to the value it was made of', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).to.deep.equal(value);
      }),
    );
  });

  it('ignores the order of members', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).to.equal(canonicalJson(value));
      }),
    );
  });

  it('differs when the values differ', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const isSame = isDeepStrictEqual(a, b);
        expect(canonicalJson(a) === canonicalJson(b)).to.equal(isSame);
      }),
    );
  });

  it('sorts by code unit, has no space and leaves absent members out (RFC 8785 3.2)', () => {
    expect(
      canonicalJson({ b: [1, { z: null, a: 'é' }], a: undefined, '\ud83d\ude00': 1e21, '\ufb33': -0 }),
    ).to.equal('{"b":[1,{"a":"é","z":null}],"😀":1e+21,"\ufb33":0}');
  });
});

describe('Idempotency-Key', () => {
  it(`is 1 to 255 visible ASCII characters ${verifies('contract:14:key-form')}`, () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    fc.assert(
      fc.property(visible, (key) => {
        expect(checkKey(key)).to.equal(key);
      }),
    );
    for (const key of ['', 'a'.repeat(256), 'a b', 'tab\t', 'ünïcode', 'line\n', '\u007f']) {
      expect(() => checkKey(key), JSON.stringify(key))
        .to.throw(GatewayError)
        .with.property('code', 'invalid_request');
    }
  });

  it(`identifies capability and input, whatever the order of fields ${verifies('contract:14:fingerprint')}`, () => {
    const print = fingerprintOf('move', { message_ids: ['a', 'b'], folder: 'archive' });
    expect(fingerprintOf('move', { folder: 'archive', message_ids: ['a', 'b'] })).to.equal(print);
    expect(fingerprintOf('copy', { folder: 'archive', message_ids: ['a', 'b'] })).not.to.equal(print);
    expect(fingerprintOf('move', { folder: 'archive', message_ids: ['b', 'a'] })).not.to.equal(print);
  });

  it(`derives one id in its organisation and principal, and another in any other ${verifies('contract:14:key-scope', 'contract:1:id-from-key')}`, () => {
    const ids = createIds(randomKey(), new ManualClock());
    const id = ids.idForKey('opn', 'org_1', 'usr_1', 'key');
    expect(id).to.match(/^opn_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(ids.idForKey('opn', 'org_1', 'usr_1', 'key')).to.equal(id);
    const others = [
      ids.idForKey('opn', 'org_2', 'usr_1', 'key'),
      ids.idForKey('opn', 'org_1', 'agt_1', 'key'),
      ids.idForKey('opn', 'org_1', 'usr_1', 'Key'),
    ];
    expect(new Set([id, ...others]).size).to.equal(4);
  });
});
