import { expect } from 'chai';
import { unflow } from '../../../../infra/mail/decode-text.ts';
import { verifies } from '../../../support/suite/verifies.ts';

describe(`unflow ${verifies('contract:4:flowed-text')}`, () => {
  it('removes quote marks from each line before it joins lines', () => {
    const flowed = '> this is a quoted \n> long line\n>> deeper \n>> line\nMine goes \non here.';
    expect(unflow(flowed, false)).to.equal(
      '> this is a quoted long line\n>> deeper line\nMine goes on here.',
    );
  });
  it('removes the space before a soft break with DelSp, in quotes too', () => {
    expect(unflow('> a long wo \n> rd and \nmi \nne', true)).to.equal('> a long word and \nmine');
  });
  it('removes space-stuffing, and keeps fixed lines and signatures', () => {
    expect(unflow(' From here\n  two\n> > not nested', false)).to.equal('From here\n two\n> > not nested');
    expect(unflow('text \n-- \nAnna\n> -- \n> Bob', false)).to.equal('text \n-- \nAnna\n> -- \n> Bob');
  });
  it('joins no lines of different quote depth', () => {
    expect(unflow('> asked \nanswered', false)).to.equal('> asked \nanswered');
    expect(unflow('>\n> x', false)).to.equal('>\n> x');
  });
});
