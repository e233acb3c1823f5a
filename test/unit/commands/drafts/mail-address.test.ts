import { expect } from 'chai';
import { verifies } from '../../../support/suite/verifies.ts';
import {
  AddressInput,
  addressOf,
  needsSmtpUtf8,
  sameAddress,
  sendable,
  wireAddress,
} from '../../../../commands/drafts/mail-address.ts';

describe('a mail address', () => {
  it('has its domain in ASCII on the wire', () => {
    const forms: Readonly<Record<string, string | null>> = {
      'Bob.B+tag@Example.ORG': 'Bob.B+tag@example.org',
      'zoe@bücher.example': 'zoe@xn--bcher-kva.example',
      'jörg@bücher.example': 'jörg@xn--bcher-kva.example',
      'a@xn--bcher-kva.example': 'a@xn--bcher-kva.example',
      'postmaster@localhost': 'postmaster@localhost',
      'zoe@ｅxample.org': 'zoe@example.org',
    };
    for (const [email, wire] of Object.entries(forms)) expect(wireAddress(email), email).to.equal(wire);
  });

  it(`is refused when a server could read it in another way ${verifies('contract:7:relay-orders')}`, () => {
    const refused = [
      '', 'a', '@b.c', 'a@', 'a@b..c', '.a@b.c', 'a.@b.c', 'a..b@c.d', 'a b@c.d', '"a"@b.c', 'a@b@c.d', 'a@[127.0.0.1]', 'a@127.0.0.1',
      'a@0x7f.1', 'a@-b.c', 'a@b-.c', 'a@ex%61mple.org', 'a@b.c\n', 'a@b.c\0', 'a\u0085@b.c', 'a@b.c,d@e.f', 'a;b@c.d', '<a@b.c>', 'a@b。。c',
      'boss%evil.test@example.com', 'evil.test!boss@example.com', '"boss%evil.test"@example.com', '"evil.test!boss"@example.com',
      '"boss@evil.test"@example.com', 'boss@evil.test@example.com', '@evil.test:boss@example.com', 'boss％evil.test@example.com',
      'a\u202e@b.c', `${'a'.repeat(65)}@b.c`, `a@${'b'.repeat(64)}.c`, `a@${'b.'.repeat(130)}c`, 'a@b/c.d', 'a@㏕.1', 'a(b)@c.d', 'a\\b@c.d',
    ]; // prettier-ignore
    for (const email of refused) {
      expect(wireAddress(email), email).to.equal(null);
      expect(AddressInput.safeParse(email).success, email).to.equal(false);
    }
  });

  it('requires SMTPUTF8 only for its local part', () => {
    expect(needsSmtpUtf8('jörg@example.org')).to.equal(true);
    expect(needsSmtpUtf8('zoe@bücher.example')).to.equal(false);
  });

  it('equals another in any letter case and either form of the domain', () => {
    expect(sameAddress('Anna@Example.com', 'anna@example.com')).to.equal(true);
    expect(sameAddress('a@bücher.example', 'A@xn--bcher-kva.EXAMPLE')).to.equal(true);
    expect(sameAddress('a@example.com', 'b@example.com')).to.equal(false);
  });

  it('has a name or null', () => {
    expect(addressOf('a@b.c')).to.deep.equal({ name: null, email: 'a@b.c' });
    expect(addressOf({ name: '  ', email: 'a@b.c' }).name).to.equal(null);
  });

  it('is taken from received mail once when it can be sent to', () => {
    const received = [
      { name: 'Bob\r\nBcc: x =?utf-8?Q?a?=', email: 'bob@example.org' },
      { name: null, email: 'BOB@example.org' },
      { name: 'broken', email: 'undisclosed-recipients' },
      { name: null, email: 'known@example.org' },
    ];
    expect(sendable(received, [{ name: null, email: 'Known@example.org' }])).to.deep.equal([
      { name: 'Bob Bcc: x = ?utf-8?Q?a?=', email: 'bob@example.org' },
    ]);
  });
});
