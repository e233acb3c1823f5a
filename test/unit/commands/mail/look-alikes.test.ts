import { expect } from 'chai';
import { lookAtDomain } from '../../../../commands/mail/look-alikes.ts';

describe('lookAtDomain', () => {
  /** Counts the iterations. */
  class Counted extends Set<string> {
    passes = 0;
    override [Symbol.iterator](): SetIterator<string> {
      this.passes += 1;
      return super[Symbol.iterator]();
    }
  }

  it('warns of the first known domain that looks alike, and not of a known domain', () => {
    const known = new Set(['examp1e.com', 'example.com', 'other.example']);
    expect(lookAtDomain('exampIe.com', known).warning).to.include('looks like examp1e.com');
    expect(lookAtDomain('example.com', known).warning).to.equal(null);
    expect(lookAtDomain('third.example', known).warning).to.equal(null);
  });

  it('iterates over the known domains once, however many domains it compares', () => {
    const known = new Counted(['example.com', 'example.org']);
    for (let at = 0; at < 100; at += 1) lookAtDomain(`host${String(at)}.example`, known);
    expect(known.passes).to.equal(1);
  });
});
