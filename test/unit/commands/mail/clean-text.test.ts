import { expect } from 'chai';
import { cleanText, isCleanText } from '../../../../commands/mail/clean-text.ts';

describe('text from header lines', () => {
  it('holds no control characters and no halves of characters', () => {
    expect(cleanText('a\0b\tc\r\nd\u007f')).to.equal('a b c  d ');
    expect(cleanText('\uD83D!')).to.equal('\uFFFD!');
    expect(cleanText('Größe 😀')).to.equal('Größe 😀');
  });

  it('is clean when there was nothing to clean', () => {
    expect(isCleanText('Größe 😀')).to.equal(true);
    expect(isCleanText('a\u001eb')).to.equal(false);
    expect(isCleanText('\uDE00')).to.equal(false);
  });
});
