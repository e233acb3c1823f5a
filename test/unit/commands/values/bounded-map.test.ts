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

  it('keeps an entry that is read before its turn, however many are added', () => {
    const map = new BoundedMap<number, string>(60);
    for (let key = 1; key <= 1_000; key += 1) {
      map.set(key, 'value');
      expect(map.get(1), `after ${String(key)}`).to.equal('value');
    }
    expect([map.size, map.get(941), map.get(942)]).to.deep.equal([60, undefined, 'value']);
  });

  it('makes room for several entries at once when it is large, and never has more than its limit', () => {
    const map = new BoundedMap<number, string>(640);
    const sizes = Array.from({ length: 660 }, (_, key) => {
      map.set(key, 'value');
      return map.size;
    });
    expect([Math.max(...sizes), sizes[639], sizes[640], sizes[659]]).to.deep.equal([640, 640, 630, 638]);
    expect([map.get(21), map.get(22)]).to.deep.equal([undefined, 'value']);
  });

  it('keeps the newest entry, however many bytes it has', () => {
    const map = new BoundedMap<string, number>(1_000, { mostBytes: 640, bytesOf: (bytes) => bytes });
    for (const key of ['a', 'b']) map.set(key, 300);
    map.set('c', 639);
    expect([map.get('a'), map.get('b'), map.get('c'), map.bytes]).to.deep.equal([
      undefined,
      undefined,
      639,
      639,
    ]);
    map.set('d', 2);
    expect([map.get('c'), map.get('d'), map.bytes]).to.deep.equal([undefined, 2, 2]);
  });

  it('replaces and deletes entries', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1);
    map.set('a', 2);
    expect([map.get('a'), map.size]).to.deep.equal([2, 1]);
    map.delete('a');
    expect([map.get('a'), map.size]).to.deep.equal([undefined, 0]);
  });

  it('keeps at most its bytes, and nothing larger than that', () => {
    const map = new BoundedMap<string, string>(100, {
      mostBytes: 10,
      bytesOf: (text, key) => text.length + key.length,
    });
    map.set('a', '123');
    map.set('b', '12345');
    expect([map.size, map.bytes]).to.deep.equal([2, 10]);
    map.set('b', '1');
    expect([map.size, map.bytes]).to.deep.equal([2, 6]);
    map.set('c', '1234');
    expect([map.get('a'), map.size, map.bytes]).to.deep.equal([undefined, 2, 7]);
    map.set('b', '0123456789');
    expect([map.get('b'), map.get('c'), map.bytes]).to.deep.equal([undefined, '1234', 5]);
    map.delete('c');
    expect([map.size, map.bytes]).to.deep.equal([0, 0]);
  });
});
