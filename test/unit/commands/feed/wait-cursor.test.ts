import { expect } from 'chai';
import fc from 'fast-check';
import { cursorAfter, decodeWaitCursor, encodeWaitCursor } from '../../../../commands/feed/wait-cursor.ts';
import { thrown } from '../../../support/suite/thrown.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const LOG = '0a1b2c3d';

const cursors = fc.record({
  position: fc.bigInt({ min: -1n, max: 9_223_372_036_854_775_807n }),
  index: fc.option(fc.nat(1_000)),
  issuedAt: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }),
});

describe('wait cursor', () => {
  it('decodes to what was encoded', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(decodeWaitCursor(LOG, encodeWaitCursor(LOG, cursor))).to.deep.equal(cursor);
      }),
    );
  });

  it('is after the whole event when made from a position only', () => {
    const now = new Date('2026-03-01T12:00:00.000Z');
    const text = encodeWaitCursor(LOG, cursorAfter(41n, now));
    expect(text).to.match(/^wc1_[\w-]+$/);
    expect(decodeWaitCursor(LOG, text)).to.deep.equal({ position: 41n, index: null, issuedAt: now });
  });

  it(`is refused with cursor_invalid when it was altered or belongs to another log ${verifies('contract:0:log-id')}`, () => {
    const text = encodeWaitCursor(LOG, { position: 7n, index: 3, issuedAt: new Date(1_000) });
    const payload = (value: unknown) => `wc1_${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const bad = [
      '',
      'wc1_',
      text.slice(0, -1),
      `${text}=`,
      `${text}A`,
      text.replace('wc1_', 'wc2_'),
      payload({ t: 1, l: LOG, p: '7' }),
      payload({ p: '7', t: 1 }),
      encodeWaitCursor('otherlog', { position: 7n, index: null, issuedAt: new Date(1_000) }),
      payload({ l: LOG, p: 7, t: 1 }),
      payload({ l: LOG, p: '07', t: 1 }),
      payload({ l: LOG, p: '-2', t: 1 }),
      payload({ l: LOG, p: '7', i: -1, t: 1 }),
      payload({ l: LOG, p: '7', t: 1, more: true }),
      payload(null),
      '2026-03-01T12:00:00.000Z',
    ];
    for (const cursor of bad) {
      expect(
        thrown(() => decodeWaitCursor(LOG, cursor)),
        cursor,
      ).to.include({ code: 'cursor_invalid' });
    }
  });
});
