import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { hashBearer, newBearer } from '../../../../infra/security/jwt-tokens.ts';
import { routeKey } from '../../../../commands/values/ids.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const ORG = 'org_06h05qy90ssck2xy4zdmva98fw';

describe('a REST token', () => {
  it(`is mgw_, the route key of the organisation, 43 and 6 base62 characters, random, stored as SHA-256 ${verifies('contract:2:rest-token-form', 'contract:2:route-key')}`, () => {
    const made = Array.from({ length: 200 }, () => newBearer('mgw_', ORG));
    expect(new Set(made.map(({ token }) => token)).size).to.equal(200);
    for (const { token, hash } of made) {
      expect(token).to.match(/^mgw_[0-9A-Za-z]{53}$/);
      expect(token.slice(4, 8)).to.equal(routeKey(ORG));
      expect(hash).to.equal(createHash('sha256').update(token).digest('hex'));
      expect(hashBearer('mgw_', token)).to.equal(hash);
    }
  });

  it('is refused without a lookup when a character is wrong', () => {
    const { token } = newBearer('mgw_', ORG);
    const character = fc.constantFrom('0', '7', '9', 'A', 'M', 'Z', 'a', 'm', 'z');
    fc.assert(
      fc.property(fc.integer({ min: 4, max: token.length - 1 }), character, (at, other) => {
        fc.pre(token[at] !== other);
        expect(hashBearer('mgw_', token.slice(0, at) + other + token.slice(at + 1))).to.equal(null);
      }),
    );
  });

  it('is still accepted when it was issued without a route key', () => {
    const old = `mgw_${'0'.repeat(43)}1XVwot`;
    expect(hashBearer('mgw_', old)).to.equal(createHash('sha256').update(old).digest('hex'));
  });

  it('is refused in any other form', () => {
    const { token } = newBearer('mgw_', ORG);
    const others = [
      '',
      'mgw_',
      `${token}0`,
      token.slice(0, -1),
      ` ${token}`,
      `${token}\n`,
      token.replace('mgw_', 'mgs_'),
    ];
    for (const other of others) expect(hashBearer('mgw_', other), other).to.equal(null);
  });

  it('is never accepted as a session, nor a session as a token', () => {
    const { token, hash } = newBearer('mgs_', ORG);
    expect(token).to.match(/^mgs_[0-9A-Za-z]{53}$/);
    expect(hashBearer('mgs_', token)).to.equal(hash);
    expect(hashBearer('mgw_', token)).to.equal(null);
    expect(hashBearer('mgs_', newBearer('mgw_', ORG).token)).to.equal(null);
  });
});
