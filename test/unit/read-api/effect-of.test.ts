import { expect } from 'chai';
import { actOnEmail } from '../../../commands/email/act-on-email.ts';
import { emailRequests } from '../../../read-api/approvals/email-requests.ts';
import { effectOf, leastEffectOf } from '../../../read-api/capability-registry.ts';
import { awaitEmail } from '../../../read-api/waiting/await-email.ts';
import { verifies } from '../../support/suite/verifies.ts';

describe('effectOf', () => {
  it(`is read when email.requests only reads ${verifies('contract:15:rates')}`, () => {
    expect(leastEffectOf(emailRequests)).to.equal('read');
    for (const input of [{}, { action: 'list' }, { action: 'get', approval_id: 'c' }, { action: 'preview' }])
      expect(effectOf(emailRequests, input), JSON.stringify(input)).to.equal('read');
    for (const input of [{ action: 'cancel' }, { action: 'commit', approval_id: 'c' }, { action: 'x' }, null])
      expect(effectOf(emailRequests, input), JSON.stringify(input)).to.equal('write');
  });

  it('is the effect of any other capability, whatever is sent', () => {
    expect([leastEffectOf(actOnEmail), effectOf(actOnEmail, {})]).to.deep.equal(['write', 'write']);
    expect([leastEffectOf(awaitEmail), effectOf(awaitEmail, {})]).to.deep.equal(['read', 'read']);
  });
});
