import { expect } from 'chai';
import {
  declaredCharset,
  decodeCharset,
  decodeUndeclared,
  isMisread,
} from '../../../../infra/mail/charsets.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const bytes = (latin1: string): Buffer => Buffer.from(latin1, 'latin1');

describe('charset decoding', () => {
  it(`detects the charset when none is declared ${verifies('contract:4:undeclared-charset')}`, () => {
    expect(decodeUndeclared(Buffer.from('Grüße'))).to.equal('Grüße');
    expect(decodeUndeclared(Buffer.from('Grüße').subarray(0, 5))).to.match(/^Grü/);
    expect(decodeUndeclared(bytes('Caf\xe9'))).to.equal('Café');
    expect(decodeUndeclared(bytes('Gr\xfc\xdfe aus K\xf6ln'))).to.equal('Grüße aus Köln');
    expect(decodeUndeclared(bytes('Preis: 5 \x80 \x96 gut'))).to.equal('Preis: 5 € – gut');
    expect(decodeUndeclared(bytes('\xff\xfeG\x00r\x00\xfc\x00'))).to.equal('Grü');
    expect(decodeUndeclared(bytes('\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0'))).to.equal('Привет мир');
  });
  it('shows every byte', () => {
    for (let byte = 0x80; byte < 0x100; byte += 1) {
      expect(decodeUndeclared(bytes(`a${String.fromCharCode(byte)}b`))).to.not.include('\ufffd');
    }
  });
  it('uses the charset declared by the meta element of HTML', () => {
    const cyrillic = bytes(
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>\xcc\xe8\xf0',
    );
    expect(decodeUndeclared(cyrillic, true)).to.include('Мир');
    expect(decodeUndeclared(bytes('<meta charset="iso-8859-2"><p>\xb1'), true)).to.include('ą');
    expect(decodeUndeclared(bytes('<meta charset="no-such"><p>\xfc'), true)).to.include('ü');
  });
  it('ignores a declared charset that is unknown or does not fit', () => {
    for (const name of [null, '', 'US-ASCII', 'unknown-8bit', '8bit'])
      expect(declaredCharset(name)).to.equal(null);
    expect(declaredCharset(' ISO-8859-1 ')).to.equal('iso-8859-1');
    expect(isMisread('Gr\ufffd\ufffde')).to.equal(true);
    expect(isMisread('Grü\ufffde')).to.equal(false);
  });
  it(`decodes seven-bit charsets ${verifies('contract:4:rare-charsets')}`, () => {
    const korean = '\u001b$)C\u000e\u0047\u0051\u0031\u0039\u003e\u006e\u000f OK\n';
    expect(decodeCharset(bytes(korean), 'iso-2022-kr')).to.equal('한국어 OK\n');
    expect(decodeCharset(bytes('~{VPND~} a~~b ~\nc'), 'hz-gb-2312')).to.equal('中文 a~b c');
    expect(decodeCharset(bytes('Gr+APwA3w-e +- 1 + 1'), 'utf-7')).to.equal('Grüße + 1 + 1');
    expect(decodeCharset(bytes('x'), 'no-such-charset')).to.equal(null);
  });
});
