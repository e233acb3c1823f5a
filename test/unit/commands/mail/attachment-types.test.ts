import { expect } from 'chai';
import { sniffedType, typesOf } from '../../../../commands/mail/attachment-types.ts';
import { attachmentFactsOf } from '../../../../commands/sending/send-content.ts';
import { decideSend } from '../../../../commands/policy/decide-for-caller.ts';
import { policyEntry } from '../../../support/samples/policy-entry.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const PROGRAM = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)]);
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex');

describe('typesOf', () => {
  it('detects a type from the leading bytes and reads no more than needed', async () => {
    expect(await sniffedType([PROGRAM])).to.equal('application/x-msdownload');
    expect(await sniffedType([PNG.subarray(0, 5), PNG.subarray(5)])).to.equal('image/png');
    for (const nothing of [[], [Buffer.alloc(0)], [Buffer.from('Hello')]])
      expect(await sniffedType(nothing)).to.equal(null);
    let read = 0;
    const endless = function* (): Generator<Uint8Array> {
      for (;;) {
        read += 1;
        yield Buffer.alloc(1_024, 'a');
      }
    };
    expect(await sniffedType(endless())).to.equal(null);
    expect(read).to.equal(5);
  });

  it('includes the declared type, that of the file name and that of the bytes', () => {
    const types = (filename: string | null, sniffed_type: string | null = null) =>
      typesOf({ content_type: 'text/plain; charset=utf-8', filename, sniffed_type });
    expect(types(null)).to.deep.equal(['text/plain; charset=utf-8']);
    for (const name of ['x.exe', 'X.EXE', 'x.pdf.exe', 'x.exe.', 'x.exe . '])
      expect(types(name), name).to.include('application/x-msdownload');
    expect(types('x', 'image/png')).to.include('image/png');
    expect(
      typesOf({ content_type: 'image/png', filename: 'a.png', sniffed_type: 'image/png' }),
    ).to.deep.equal(['image/png']);
  });

  it(`is judged by policy for each type, and the strictest decision holds ${verifies('contract:8:attachment-types')}`, () => {
    const rules = [
      {
        id: 'no-programs',
        when: { attachment_types: ['application/x-msdownload'] },
        then: { decision: 'deny' },
      },
      { id: 'pictures', when: { attachment_types: ['image/*'] }, then: { decision: 'allow' } },
    ];
    const acting = { mailboxId: 'mbx_0', actor: 'agent', principalId: 'agt_1' } as const;
    const decided = (content_type: string, filename: string, sniffed_type: string | null) =>
      decideSend(policyEntry(rules), acting, {
        writtenTo: new Set(),
        recipients: ['bob@example.com'],
        headers: [],
        attachments: attachmentFactsOf({ content_type, filename, sniffed_type, size: 9 }),
      }).decision;
    expect(decided('image/png', 'a.png', 'image/png')).to.equal('allow');
    expect(decided('image/png', 'a.png', null)).to.equal('allow');
    expect(decided('text/plain', 'a.exe', null)).to.equal('deny');
    expect(decided('image/png', 'a.png', 'application/x-msdownload')).to.equal('deny');
    expect(decided('image/png', 'a.pdf', null)).to.equal('require');
    expect(decided('image/png', 'a.png', 'application/pdf')).to.equal('require');
  });
});
