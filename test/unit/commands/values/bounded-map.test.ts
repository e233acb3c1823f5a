import { expect } from 'chai';
import { BoundedMap } from '../../../../commands/values/bounded-map.ts';

describe('BoundedMap', () => {
  it('evicts the least recently used entry', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    expect(map.get('a')).to.equal(1);
    map.set('c', 3);
    expect(map.get('b')).to.equal(undefined);
    expect([map.get('a'), map.get('c'), map.size]).to.deep.equal([1, 3, 2]);
  });

  it('replaces and deletes entries', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1);
    map.set('a', 2);
    expect([map.get('a'), map.size]).to.deep.equal([2, 1]);
    map.delete('a');
    expect([map.get('a'), map.size]).to.deep.equal([undefined, 0]);
  });
});
