import { expect } from 'chai';
import { cleanText, isCleanText } from '../../../../commands/mail/fold-text.ts';

describe('cleanText', () => {
  it('removes control characters and unpaired surrogates', () => {
    expect(cleanText('a\0b\tc\r\nd\u007f')).to.equal('a b c  d ');
    expect(cleanText('\uD83D!')).to.equal('\uFFFD!');
    expect(cleanText('Größe 😀')).to.equal('Größe 😀');
  });

  it('returns clean text unchanged', () => {
    expect(isCleanText('Größe 😀')).to.equal(true);
    expect(isCleanText('a\u001eb')).to.equal(false);
    expect(isCleanText('\uDE00')).to.equal(false);
  });
});
