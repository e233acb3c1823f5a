import { expect } from 'chai';
import { markLasting } from '../../../../commands/kernel/lasting-items.ts';
import { jsonPieces } from '../../../../read-api/http/json-pieces.ts';

const valueOf = (output: unknown): unknown =>
  JSON.parse(Buffer.concat([...jsonPieces(output)]).toString('utf8'));

describe('the JSON of an answer', () => {
  it('is the same whether its items come again or not', () => {
    const items = [{ subject: 'Grüße, 世界 🎉', size: 1 }, { subject: null }];
    for (const rest of [{}, { page: { next_cursor: null } }, { count: 2, absent: undefined }]) {
      const expected: unknown = JSON.parse(JSON.stringify({ ...rest, items }));
      expect(valueOf({ ...rest, items: [...items] })).to.deep.equal(expected);
      expect(valueOf({ ...rest, items: markLasting([...items]) })).to.deep.equal(expected);
      expect(valueOf({ ...rest, items: markLasting([]) })).to.deep.equal({
        ...(expected as object),
        items: [],
      });
    }
  });

  it('writes items that come again once, and every other list each time', () => {
    const [once, each] = [markLasting([{ size: 1 }]), [{ size: 1 }]];
    const pieceWith = (items: readonly unknown[]) =>
      jsonPieces({ items, page: {} }).find((piece) => piece.includes('size'));
    expect(pieceWith(once)).to.equal(pieceWith(once));
    expect(pieceWith(each)).not.to.equal(pieceWith(each));
  });
});
