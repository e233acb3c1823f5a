import { expect } from 'chai';
import fc from 'fast-check';
import {
  authenticationResultsOf,
  trustedVerdicts,
} from '../../../../commands/mail/authentication-results.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const verdicts = (headers: readonly string[], ...trusted: string[]) =>
  trustedVerdicts(authenticationResultsOf(headers), trusted);

describe(`what receivers found out ${verifies('contract:4:security')}`, () => {
  it('is taken from the topmost header of a trusted server', () => {
    const headers = [
      'other.example; spf=fail',
      'mx.example 1; spf=pass; dmarc=pass',
      'mx.example; spf=fail; dkim=fail',
    ];
    expect(verdicts(headers, 'MX.example')).to.deep.equal({ spf: 'pass', dmarc: 'pass' });
    expect(verdicts(headers, 'nobody.example')).to.deep.equal({});
    expect(verdicts([], 'mx.example')).to.deep.equal({});
  });

  it('is read past comments, quoted texts, versions and methods that are not known', () => {
    const header =
      'mx.example; x-new=pass; (a; comment (nested; dkim=pass)) spf/1=softfail (why; spf=pass) smtp.mailfrom="a;dkim=pass"; dkim = NEUTRAL';
    expect(verdicts([header], 'mx.example')).to.deep.equal({ spf: 'softfail', dkim: 'neutral' });
  });

  it('needs one good signature of several, and takes the first word otherwise', () => {
    expect(verdicts(['m; dkim=fail; dkim=pass; dkim=none'], 'm')).to.deep.equal({ dkim: 'pass' });
    expect(verdicts(['m; dkim=fail; dkim=neutral'], 'm')).to.deep.equal({ dkim: 'fail' });
  });

  it('is nothing where a header says nothing, and never fails', () => {
    expect(verdicts(['m; none'], 'm')).to.deep.equal({});
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (headers) => {
        expect(verdicts(headers, 'm')).to.be.an('object');
      }),
    );
  });
});
