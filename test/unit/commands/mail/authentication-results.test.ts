import { expect } from 'chai';
import fc from 'fast-check';
import {
  authenticationResultsOf,
  trustedVerdicts,
} from '../../../../commands/mail/authentication-results.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const verdicts = (headers: readonly string[], ...trusted: string[]) =>
  trustedVerdicts(authenticationResultsOf(headers), trusted);

describe(`authenticationResultsOf ${verifies('contract:4:security')}`, () => {
  it('uses the topmost header of a trusted server', () => {
    const headers = [
      'other.example; spf=fail',
      'mx.example 1; spf=pass; dmarc=pass',
      'mx.example; spf=fail; dkim=fail',
    ];
    expect(verdicts(headers, 'MX.example')).to.deep.equal({ spf: 'pass', dmarc: 'pass' });
    expect(verdicts(headers, 'nobody.example')).to.deep.equal({});
    expect(verdicts([], 'mx.example')).to.deep.equal({});
  });

  it('skips comments, quoted strings, versions and unknown methods', () => {
    const header =
      'mx.example; x-new=pass; (a; comment (nested; dkim=pass)) spf/1=softfail (why; spf=pass) smtp.mailfrom="a;dkim=pass"; dkim = NEUTRAL';
    expect(verdicts([header], 'mx.example')).to.deep.equal({ spf: 'softfail', dkim: 'neutral' });
  });

  it('passes DKIM when one of several signatures passes, else uses the first result', () => {
    expect(verdicts(['m; dkim=fail; dkim=pass; dkim=none'], 'm')).to.deep.equal({ dkim: 'pass' });
    expect(verdicts(['m; dkim=fail; dkim=neutral'], 'm')).to.deep.equal({ dkim: 'fail' });
  });

  it('returns nothing when a header has no results, and never throws', () => {
    expect(verdicts(['m; none'], 'm')).to.deep.equal({});
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (headers) => {
        expect(verdicts(headers, 'm')).to.be.an('object');
      }),
    );
  });
});
