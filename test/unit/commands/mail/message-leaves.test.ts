import { expect } from 'chai';
import { leavesOf } from '../../../../commands/mail/message-leaves.ts';
import { messageComposer } from '../../../../infra/mail/compose-message.ts';
import { bytesOf, SIMPLE } from '../../../support/samples/composed-message.ts';

/** The parts of a message that arrives in chunks of this size. */
async function leaves(message: Buffer, pieceSize: number): Promise<readonly Buffer[]> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < message.length; at += pieceSize)
      yield await Promise.resolve(message.subarray(at, at + pieceSize));
  }
  const found: Buffer[] = [];
  for await (const { leaf, bytes } of leavesOf(pieces()))
    found[leaf] = Buffer.concat([found[leaf] ?? Buffer.alloc(0), bytes]);
  return found;
}

describe('leavesOf', () => {
  const binary = Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 7) % 256));
  const lines = 'First.\r\n--not-a-boundary\r\n\r\nLast without an end';

  it('finds and decodes every part, whatever the chunk size', async () => {
    const raw: Uint8Array[] = [];
    const attachments = [binary, Buffer.from(lines)].map((bytes, index) => ({
      filename: `file-${String(index)}`,
      contentType: index === 0 ? 'application/pdf' : 'text/plain',
      contentId: null,
      bytes: () => bytesOf(bytes),
    }));
    const message = { ...SIMPLE, text: 'Grüße,\n\nAnna', html: '<p>Grüße</p>', attachments };
    for await (const piece of messageComposer.compose(message)) raw.push(piece);
    for (const size of [1, 7, 78, 65_536]) {
      const found = await leaves(Buffer.concat(raw), size);
      expect(found, String(size)).to.have.length(4);
      expect(found[0]?.toString('utf8').trim().replaceAll('\r', '')).to.equal('Grüße,\n\nAnna');
      expect(found[2]?.equals(binary)).to.equal(true);
      expect(found[3]?.toString()).to.equal(lines);
    }
  });

  it('ends a part at the boundary of an outer container, and takes a plain message as one part', async () => {
    const text = [
      'Content-Type: multipart/mixed; boundary="out"', '', '--out',
      'Content-Type: multipart/alternative;', ' boundary=in', '', '--in', '', 'one', '--in',
      'Content-Transfer-Encoding: base64', '', 'dHdv', '--out', '', 'three', '--out--', 'after', '',
    ].join('\r\n'); // prettier-ignore
    expect((await leaves(Buffer.from(text), 5)).map(String)).to.deep.equal(['one', 'two', 'three']);
    const single = 'Subject: x\r\n\r\n--no\r\nend\r\n';
    expect((await leaves(Buffer.from(single), 3)).map(String)).to.deep.equal(['--no\r\nend\r\n']);
  });
});
