import { expect } from 'chai';
import fc from 'fast-check';
import { fitTogether, howManyFit } from '../../../../read-api/messages/answer-size.ts';
import type { Message } from '../../../../read-api/messages/message-view.ts';

const message = (content: string, offset = 0, rest = 0): Message => ({
  id: 'msg_x',
  body: {
    format: 'text',
    content,
    truncated: rest > 0,
    total_chars: offset + content.length + rest,
    next_offset: rest > 0 ? offset + content.length : null,
    quoted_ranges: [{ start: 0, end: content.length }],
  },
});
const bytesOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, { body }) => sum + Buffer.byteLength(body?.content ?? ''), 0);

describe('fitTogether', () => {
  it('ends a page before it is too large, but never before the first message', () => {
    const page = [message('aaaa'), message('bbbb'), message('cc')];
    expect(howManyFit(page, 100)).to.equal(3);
    expect(howManyFit(page, 8)).to.equal(2);
    expect(howManyFit(page, 1)).to.equal(1);
    expect(howManyFit([], 1)).to.equal(0);
  });

  it('keeps short bodies and cuts long ones to one length', () => {
    const [short, long, longer] = fitTogether(
      [message('ab'), message('c'.repeat(90)), message('d'.repeat(900))],
      22,
    );
    expect(short?.body).to.include({ content: 'ab', truncated: false, next_offset: null });
    expect(long?.body).to.include({
      content: 'c'.repeat(10),
      truncated: true,
      next_offset: 10,
      total_chars: 90,
    });
    expect(longer?.body).to.include({ content: 'd'.repeat(10), truncated: true, next_offset: 10 });
    expect(long?.body?.quoted_ranges).to.deep.equal([{ start: 0, end: 10 }]);
  });

  it('continues after the cut, also in a later window', () => {
    const [cut] = fitTogether([message('ä'.repeat(50), 1_000, 500)], 21);
    expect(cut?.body).to.include({ content: 'ä'.repeat(10), next_offset: 1_010, total_chars: 1_550 });
  });

  it('fits the limit, without half a character or added text', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 200 }), (contents, most) => {
        const before = contents.map((content) => message(content));
        const after = fitTogether(before, most);
        expect(bytesOf(after)).to.be.at.most(Math.max(most, 0));
        for (const [index, { body }] of after.entries()) {
          expect(contents[index]?.startsWith(body?.content ?? '?')).to.equal(true);
          expect(body?.content.isWellFormed()).to.equal(true);
          if (bytesOf(before) <= most) expect(body).to.deep.equal(before[index]?.body);
        }
      }),
    );
  });
});
