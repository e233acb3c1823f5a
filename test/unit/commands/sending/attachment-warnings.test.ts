import { expect } from 'chai';
import { typeWarnings } from '../../../../commands/sending/attachment-warnings.ts';
import { sniffedType } from '../../../../commands/mail/attachment-types.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PDF = Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj\n');
const PROGRAM = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)]);
const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001', 'hex');
const ZIP = Buffer.concat([Buffer.from('504b0304140000000800', 'hex'), Buffer.alloc(40)]);

const warned = async (filename: string | null, content_type: string, head: Uint8Array): Promise<string> =>
  typeWarnings([
    { filename, content_type, size: 1, sha256: 'e', sniffed_type: (await sniffedType([head])) ?? undefined },
  ])
    .map(({ severity, text }) => `${severity}: ${text}`)
    .join();

describe('typeWarnings', () => {
  it(`warns when the bytes are of another type than name or declaration ${verifies('contract:9:warnings')}`, async () => {
    expect(await warned('invoice.pdf', 'application/pdf', PROGRAM)).to.match(
      /^high: .*invoice\.pdf is named as application\/pdf, and its content is application\/x-msdownload/,
    );
    expect(await warned('a.txt', 'text/plain', PNG)).to.match(/^high: /);
    expect(await warned(null, 'application/pdf', PNG)).to.match(/^high: /);
    expect(await warned('a.pdf', 'text/plain', Buffer.from('%PDF-1.4'))).to.match(
      /^medium: .*declared as text\/plain/,
    );
  });

  it('returns nothing when name, declaration and bytes agree or the type is unknown', async () => {
    const honest = [
      ['a.pdf', 'application/pdf', PDF],
      ['a.png', 'image/png', PNG],
      ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', ZIP],
      ['a.txt', 'text/plain; charset=utf-8', Buffer.from('hello')],
      ['data', 'application/octet-stream', PNG],
      ['a.csv', 'text/plain', Buffer.from('a,b')],
      ['a.pdf', 'application/octet-stream', PDF],
    ] as const;
    for (const [name, type, head] of honest) expect(await warned(name, type, head), name).to.equal('');
  });
});
