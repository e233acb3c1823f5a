import { expect } from 'chai';
import fc from 'fast-check';
import { safeFilename } from '../../../../commands/mail/safe-filename.ts';
import { contentDisposition } from '../../../../read-api/http/send-bytes.ts';

describe('safeFilename', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\system32\\cmd.exe', 'cmd.exe'],
    ['invoice\u202egpj.exe', 'invoicegpj.exe'],
    ['a\r\nBcc: b', 'aBcc_ b'],
    ['a"b*c', 'a_b_c'],
    ['.htaccess', 'htaccess'],
    ['name. . ', 'name'],
    ['..', null],
    ['', null],
    ['\u0000\u202e', null],
    ['Übersicht 📨.txt', 'Übersicht 📨.txt'],
  ];
  it('removes paths, control characters and deceptive characters', () => {
    for (const [name, expected] of cases) {
      expect(safeFilename(name), name).to.equal(expected);
    }
    expect(safeFilename(null)).to.equal(null);
  });

  it('shortens a long name and keeps its extension', () => {
    const cut = safeFilename(`${'x'.repeat(5_000)}.tar.gz`) ?? '';
    expect([cut.length, cut.endsWith('.gz')]).to.deep.equal([150, true]);
  });

  it('is idempotent and yields a one-line header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (name) => {
        const safe = safeFilename(name);
        expect(safeFilename(safe)).to.equal(safe);
        const header = contentDisposition(name);
        expect(header).to.match(
          /^attachment(; filename="[\u0020\u0021\u0023-\u005b\u005d-\u007e]+"(; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?)?$/,
        );
      }),
    );
  });

  it('takes bounded time for unordered combining marks, and keeps the extension', () => {
    const { user: before } = process.cpuUsage();
    expect(safeFilename(`a${'\u0301\u0316'.repeat(30_000)}.pdf`)).to.match(/\.pdf$/);
    expect(process.cpuUsage().user - before).to.be.below(100_000);
  });
});
