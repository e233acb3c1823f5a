import { expect } from 'chai';
import fc from 'fast-check';
import { inChunks } from '../../../../infra/content-store/in-chunks.ts';

async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

describe('inChunks', () => {
  it('yields the same bytes in chunks of one length, all in one buffer', async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 1, max: 32 }), async (given, length) => {
        const copies: Buffer[] = [];
        const places = new Set<number>();
        for await (const chunk of inChunks(each(given), length)) {
          copies.push(Buffer.from(chunk));
          places.add(chunk.byteOffset);
        }
        expect(Buffer.concat(copies)).to.deep.equal(Buffer.concat(given));
        for (const copy of copies.slice(0, -1)) expect(copy.length).to.equal(length);
        expect(places.size).to.be.at.most(1);
      }),
    );
  });
});
