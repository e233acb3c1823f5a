import { expect } from 'chai';
import { Sweeps } from '../../../../infra/mail-sync/mailbox-workers.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';
import { verifies } from '../../../support/suite/verifies.ts';

const LOOK_MS = 250;

describe('Sweeps', () => {
  const setUp = () => {
    const clock = new ManualClock();
    const sweeps = new Sweeps(clock, { sweepEveryMs: 60_000 });
    /** How often a sweep is due in this time, at four polls per second. */
    const during = (milliseconds: number, others: readonly string[]): number => {
      let count = 0;
      for (let passed = 0; passed < milliseconds; passed += LOOK_MS) {
        if (sweeps.isDue(others)) count += 1;
        clock.advance(LOOK_MS);
      }
      return count;
    };
    return { clock, sweeps, during };
  };

  it(`is due at first, and then once a minute ${verifies('contract:20:mailboxes-shared')}`, () => {
    const { during } = setUp();
    expect(during(60_000, [])).to.equal(1);
    expect(during(60_000, [])).to.equal(1);
    expect(during(600_000, [])).to.equal(10);
  });

  it('is due again when another process comes or goes', () => {
    const { during } = setUp();
    expect(during(10_000, ['run_2'])).to.equal(1);
    expect(during(10_000, ['run_2', 'run_3'])).to.equal(1);
    expect(during(10_000, ['run_3'])).to.equal(1);
    expect(during(59_000, ['run_3']), 'a minute from the last').to.equal(1);
  });

  it('is due once more when asked', () => {
    const { sweeps, during } = setUp();
    expect(during(10_000, [])).to.equal(1);
    sweeps.ask();
    expect(during(59_000, []), 'a minute from the last').to.equal(1);
  });

  it('is unaffected by changes of the system clock', () => {
    const { clock, during } = setUp();
    during(10_000, []);
    clock.step(24 * 3_600_000);
    expect(during(45_000, [])).to.equal(0);
  });
});
