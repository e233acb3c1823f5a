import { expect } from 'chai';
import { LastWrites } from '../../../mcp/last-writes.ts';

describe('LastWrites', () => {
  it('stores the newest write of each session', () => {
    const positions = new LastWrites();
    positions.note('a', 5n);
    positions.note('b', 7n);
    positions.note('a', 3n);
    expect([positions.positionOf('a'), positions.positionOf('b'), positions.positionOf('c')]).to.deep.equal([
      5n,
      7n,
      null,
    ]);
  });

  it('forgets an ended session', () => {
    const positions = new LastWrites();
    positions.note('a', 5n);
    positions.forget('a');
    expect(positions.positionOf('a')).to.equal(null);
  });

  it('forgets the session that wrote longest ago when there are too many', () => {
    const positions = new LastWrites(2);
    for (const [session, position] of [
      ['a', 1n],
      ['b', 2n],
      ['a', 3n],
      ['c', 4n],
    ] as const) {
      positions.note(session, position);
    }
    expect([positions.positionOf('a'), positions.positionOf('b'), positions.positionOf('c')]).to.deep.equal([
      3n,
      null,
      4n,
    ]);
  });
});
