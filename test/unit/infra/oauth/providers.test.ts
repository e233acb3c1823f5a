import { expect } from 'chai';
import { PROVIDERS } from '../../../../infra/oauth/providers.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const email = 'anna@example.com';

describe('addressesOf', () => {
  it(`includes only verified addresses of Google ${verifies('contract:18:provider-account')}`, () => {
    const { addressesOf } = PROVIDERS.google;
    expect(addressesOf({ email, email_verified: true })).to.deep.equal([email]);
    expect(addressesOf({ email, email_verified: false })).to.deep.equal([]);
    expect(addressesOf({ email })).to.deep.equal([]);
  });

  it(`includes user names of Microsoft, and an e-mail claim only when its domain is verified ${verifies('contract:18:provider-account')}`, () => {
    const { addressesOf } = PROVIDERS.microsoft;
    const preferred_username = 'mallory@evil.example';
    expect(addressesOf({ preferred_username, email })).to.deep.equal([preferred_username]);
    expect(addressesOf({ preferred_username, email, xms_edov: false })).to.deep.equal([preferred_username]);
    expect(addressesOf({ preferred_username, email, xms_edov: true })).to.deep.equal([
      preferred_username,
      email,
    ]);
  });
});
