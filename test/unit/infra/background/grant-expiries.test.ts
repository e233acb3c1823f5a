import { expect } from 'chai';
import { GrantExpiries } from '../../../../infra/background/invalidation-sweepers.ts';
import type { Ports } from '../../../../commands/ports/ports.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** A directory with one grant of `usr_1`, which expires this long after the start. */
function grantFor(milliseconds: number) {
  const clock = new ManualClock();
  const expiresAt = new Date(clock.now().getTime() + milliseconds).toISOString();
  const grants = new Map([['grt_1', { id: 'grt_1', principalId: 'usr_1', expiresAt }]]);
  const directory = { state: { grants } } as unknown as Ports['directory'];
  return { clock, expiries: new GrantExpiries({ clock, directory }) };
}

describe('GrantExpiries', () => {
  it('reports an expiry once', () => {
    const { clock, expiries } = grantFor(90 * SECOND_MS);
    const seen: (readonly string[])[] = [];
    for (let second = 0; second < 120; second += 1) {
      const taken = expiries.take();
      if (taken.length > 0) seen.push([String(second), ...taken]);
      clock.advance(SECOND_MS);
    }
    expect(seen).to.deep.equal([['90', 'usr_1']]);
  });

  it(`reports an expiry after a long pause ${verifies('contract:10:ground-gone')}`, () => {
    const { clock, expiries } = grantFor(80 * SECOND_MS);
    expect(expiries.take()).to.deep.equal([]);
    clock.advance(100 * SECOND_MS);
    expect(expiries.take()).to.deep.equal(['usr_1']);
    expect(expiries.take()).to.deep.equal([]);
  });

  it('reports an expiry when the system clock is set forward', () => {
    const { clock, expiries } = grantFor(HOUR_MS / 2);
    expect(expiries.take()).to.deep.equal([]);
    clock.step(HOUR_MS);
    clock.advance(60 * SECOND_MS);
    expect(expiries.take()).to.deep.equal(['usr_1']);
  });

  it('reports an expiry when the system clock is set back', () => {
    const { clock, expiries } = grantFor(90 * SECOND_MS);
    clock.step(HOUR_MS);
    expect(expiries.take()).to.deep.equal([]);
    clock.step(-HOUR_MS);
    let taken: readonly string[] = [];
    for (let second = 0; second < 180; second += 1) {
      taken = [...taken, ...expiries.take()];
      clock.advance(SECOND_MS);
    }
    expect(taken).to.deep.equal(['usr_1']);
  });
});
