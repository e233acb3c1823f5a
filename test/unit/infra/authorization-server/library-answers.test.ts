import { expect } from 'chai';
import type { DirectoryState } from '../../../../commands/ports/directory.ts';
import { isVouchedFor } from '../../../../infra/authorization-server/library-answers.ts';

const ID = 'https://tool.example/client.json';

describe('an application that an organisation approved', () => {
  const isVouched = (org: object, signUp: 'off' | 'open' = 'off'): boolean => {
    const oauthClients = new Map([
      ['oac_1', { id: 'oac_1', clientId: ID, orgId: 'org_1', isRegistered: false }],
    ]);
    const state = { oauthClients, organisations: new Map([['org_1', org]]) } as unknown as DirectoryState;
    return isVouchedFor({ directory: { state }, server: { signUp } } as never, ID);
  };

  it('is trusted with redirects while the organisation lives, and where not everybody can set one up', () => {
    expect(isVouched({ eraseAt: null, isErased: false })).to.equal(true);
    expect(isVouched({ eraseAt: null, isErased: false }, 'open')).to.equal(false);
    expect(isVouched({ eraseAt: '2026-01-01T00:00:00.000Z', isErased: false })).to.equal(false);
    expect(isVouched({ eraseAt: null, isErased: true })).to.equal(false);
  });
});
