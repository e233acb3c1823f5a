import { expect } from 'chai';
import { inlineType } from '../../../../read-api/approvals/approval-attachment.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PNG = Buffer.from('\u0089PNG\r\n\u001a\n rest', 'latin1');

describe('inlineType', () => {
  it(`is plain text or one of four picture types by the bytes, whatever is declared ${verifies('contract:9:attachments')}`, () => {
    const cases: readonly (readonly [string, Buffer, string | null])[] = [
      ['application/pdf', PNG, 'image/png'],
      ['image/png', Buffer.from('<script>'), null],
      ['image/jpeg', Buffer.from('\u00ff\u00d8\u00ff\u00e0', 'latin1'), 'image/jpeg'],
      ['image/gif', Buffer.from('GIF89a..'), 'image/gif'],
      ['image/webp', Buffer.from('RIFF1234WEBPVP8 '), 'image/webp'],
      ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), null],
      ['text/html', Buffer.from('<p>Hello'), null],
      ['application/pdf', Buffer.from('%PDF-1.7'), null],
      ['text/plain', Buffer.from('Grüße'), 'text/plain; charset=utf-8'],
      ['text/plain', Buffer.from('Grüße').subarray(0, 3), 'text/plain; charset=utf-8'],
      ['text/plain', Buffer.from('MZ\u0000\u0003'), null],
      ['text/plain', Buffer.from([0x47, 0xfc, 0x20]), null],
    ];
    for (const [declared, head, shown] of cases) expect(inlineType(declared, head), declared).to.equal(shown);
  });
});
