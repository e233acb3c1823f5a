import { expect } from 'chai';
import { createRequire } from 'node:module';
import { arrayLiteral } from '../../../../infra/postgres/array-literal.ts';

/** The driver's own, which has no types. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils.js') as {
  readonly prepareValue: (value: unknown) => unknown;
};

describe('the text of an array for Postgres', () => {
  for (const [what, items] of [
    ['nothing', []],
    ['texts', ['plain', '', 'NULL', 'a,b', '{}', ' ', 'Grüße 日本語 🦉', 'line\nbreak']],
    ['quotes and backslashes', ['"', '\\', '\\"', 'a"b\\c"d', '\\\\"']],
    ['nothing known', [null, 'x', undefined]],
    ['numbers and booleans', [1, -2.5, 1e21, true, false]],
    ['JSON', [JSON.stringify({ a: 'b "c" \\ d' }), null]],
  ] as const) {
    it(`is that of the driver: ${what}`, () => {
      expect(arrayLiteral(items)).to.equal(prepareValue(items));
    });
  }

  it('is left to the driver for other kinds of items', () => {
    for (const item of [new Date(), Buffer.from('x'), ['nested'], { a: 1 }, 1n])
      expect(arrayLiteral(['first', item])).to.equal(null);
  });
});
