import { expect } from 'chai';
import { isLongEnough, NewPassword } from '../../../../commands/accounts/credentials.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const takes = (password: string): boolean => NewPassword.safeParse(password).success;

describe('NewPassword', () => {
  it(`accepts at least 15 characters of any kind ${verifies('contract:18:password-length')}`, () => {
    expect(takes('a'.repeat(14))).to.equal(false);
    expect(takes('a'.repeat(15))).to.equal(true);
    expect(takes('               ')).to.equal(true);
    expect(takes('密'.repeat(15))).to.equal(true);
  });

  it('counts characters, not code units, after composing them', () => {
    expect(takes('😀'.repeat(14))).to.equal(false);
    expect(takes('😀'.repeat(15))).to.equal(true);
    // Eight composed letters, entered as sixteen code points.
    expect(takes('e\u0301'.repeat(8))).to.equal(false);
  });

  it('refuses passwords over 1,024 characters and lone surrogates', () => {
    expect(takes('a'.repeat(1_024))).to.equal(true);
    expect(takes('a'.repeat(1_025))).to.equal(false);
    expect(takes('\ud800'.repeat(15))).to.equal(false);
  });

  it('takes bounded time when the password is a very long run of unordered combining marks', () => {
    const endless = 'a' + '\u0301\u0316'.repeat(30_000);
    const { user: before } = process.cpuUsage();
    expect(takes(endless)).to.equal(false);
    expect(isLongEnough(endless)).to.equal(true);
    expect(process.cpuUsage().user - before).to.be.below(100_000);
  });
});
