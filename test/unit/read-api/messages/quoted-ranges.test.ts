import { expect } from 'chai';
import {
  quotedElements,
  quotedLines,
  within,
  withoutQuotes,
} from '../../../../read-api/messages/quoted-ranges.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe(`quoted history ${verifies('contract:4:quoted-history')}`, () => {
  const pieces = (text: string) => quotedLines(text).map(({ start, end }) => text.slice(start, end));

  it('includes every run of lines that start with >', () => {
    expect(pieces('a\n> b\n>> c\nd\n> e')).to.deep.equal(['> b\n>> c', '> e']);
    expect(pieces('none\n at all > here')).to.deep.equal([]);
  });

  it('includes everything after an original message marker', () => {
    expect(pieces('a\n> b\n-----Original Message-----\nFrom: x\n\ny')).to.deep.equal([
      '> b\n-----Original Message-----\nFrom: x\n\ny',
    ]);
  });

  it('includes the outermost blockquotes of HTML', () => {
    const html = 'a<blockquote>b<blockquote dir="ltr">c</blockquote></blockquote>d<blockquote>e</blockquote>';
    expect(quotedElements(html).map(({ start, end }) => html.slice(start, end))).to.deep.equal([
      '<blockquote>b<blockquote dir="ltr">c</blockquote></blockquote>',
      '<blockquote>e</blockquote>',
    ]);
  });

  it('is counted within a window, and omitted from a preview', () => {
    expect(
      within(
        [
          { start: 2, end: 6 },
          { start: 8, end: 9 },
        ],
        4,
        8,
      ),
    ).to.deep.equal([{ start: 0, end: 2 }]);
    expect(withoutQuotes('a\n> b\nc', quotedLines('a\n> b\nc'))).to.equal('a\n \nc');
  });
});
