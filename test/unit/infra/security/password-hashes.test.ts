import { expect } from 'chai';
import { PasswordHashes } from '../../../../infra/security/password-hashes.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PASSWORD = 'correct horse battery';

describe('PasswordHashes', () => {
  it(`hashes with argon2id, its own parameters and a new salt ${verifies('contract:18:argon2id')}`, async () => {
    const hashes = new PasswordHashes();
    const [one, another] = [await hashes.hash(PASSWORD), await hashes.hash(PASSWORD)];
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.to.equal(another);
    expect(await hashes.verify(one, PASSWORD)).to.equal(true);
    expect(await hashes.verify(one, `${PASSWORD} `)).to.equal(false);
  });

  it('verifies the same text in another Unicode form', async () => {
    const hashes = new PasswordHashes();
    const composed = await hashes.hash('caf\u00e9 caf\u00e9 caf\u00e9');
    expect(await hashes.verify(composed, 'cafe\u0301 cafe\u0301 cafe\u0301')).to.equal(true);
  });

  it('verifies hashes with other parameters', async () => {
    // A test vector of the reference implementation (RFC 9106 authors' `test.c`).
    const phc = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    const hashes = new PasswordHashes();
    expect(await hashes.verify(phc, 'password')).to.equal(true);
    expect(await hashes.verify(phc, 'differentpassword')).to.equal(false);
  });

  it(`takes as long for an unknown account, and never verifies ${verifies('contract:18:no-enumeration')}`, async () => {
    const hashes = new PasswordHashes();
    const stored = await hashes.hash(PASSWORD);
    const timed = async (phc: string | null): Promise<number> => {
      const from = process.cpuUsage();
      for (let n = 0; n < 5; n += 1) expect(await hashes.verify(phc, 'something else')).to.equal(false);
      const { user, system } = process.cpuUsage(from);
      return user + system;
    };
    await timed(stored);
    const [somebody, nobody] = [await timed(stored), await timed(null)];
    expect(nobody / somebody).to.be.within(0.5, 2);
  });

  it('runs two at a time, and refuses when too many wait', async () => {
    const hashes = new PasswordHashes();
    const ends = await Promise.allSettled(Array.from({ length: 25 }, () => hashes.verify(null, PASSWORD)));
    const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
    expect(refused).to.have.length(3);
    for (const reason of refused) expect(reason).to.include({ code: 'overloaded' });
    expect(await hashes.verify(await hashes.hash(PASSWORD), PASSWORD)).to.equal(true);
  });
});
