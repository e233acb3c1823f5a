import { expect } from 'chai';
import { Backoff, KeyedBackoff } from '../../../../infra/concurrency/backoff.ts';
import { ManualClock } from '../../../support/fakes/manual-clock.ts';

const never = new AbortController().signal;

async function timed(pause: Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await pause;
  return performance.now() - startedAt;
}

/** Of three: on a busy machine one or another ends late. */
async function quickest(pause: () => Promise<void>): Promise<number> {
  const took: number[] = [];
  for (let time = 0; time < 3; time += 1) took.push(await timed(pause()));
  return Math.min(...took);
}

describe('Backoff', () => {
  it('grows from step to step and restarts after a success', async () => {
    const backoff = new Backoff();
    const pauses: number[] = [];
    for (let step = 0; step < 5; step += 1) pauses.push(await timed(backoff.pause(never)));
    expect(pauses.at(-1)).to.be.at.least(150);
    const first = quickest(() => {
      backoff.reset();
      return backoff.pause(never);
    });
    expect(await first).to.be.below(100);
  });

  it('never exceeds a second or the limit', async () => {
    const backoff = new Backoff();
    for (let step = 0; step < 40; step += 1) await backoff.pause(never, 0);
    expect(await quickest(() => backoff.pause(never))).to.be.within(490, 1_200);
    expect(await quickest(() => backoff.pause(never, 20))).to.be.below(200);
  });

  it('ends at once when the signal aborts or has aborted', async () => {
    const backoff = new Backoff();
    for (let step = 0; step < 40; step += 1) await backoff.pause(never, 0);
    expect(await quickest(() => backoff.pause(AbortSignal.timeout(20)))).to.be.below(300);
    expect(await quickest(() => backoff.pause(AbortSignal.abort()))).to.be.below(100);
  });
});

describe('KeyedBackoff', () => {
  it('grows for each key and ends when its attempt succeeds', () => {
    const clock = new ManualClock();
    const backoff = new KeyedBackoff(clock, { firstMs: 1_000, mostMs: 60_000 });
    expect(backoff.isDue('a')).to.equal(true);
    backoff.failed('a');
    expect([backoff.isDue('a'), backoff.isDue('b')]).to.deep.equal([false, true]);
    expect(backoff.waiting()).to.deep.equal(['a']);
    clock.advance(1_200);
    expect(backoff.isDue('a')).to.equal(true);
    backoff.failed('a');
    clock.advance(1_200);
    expect(backoff.isDue('a')).to.equal(false);
    backoff.clear('a');
    expect([backoff.isDue('a'), backoff.waiting()]).to.deep.equal([true, []]);
  });

  it('remembers a failure after its pause, and nothing of a key that was only postponed', () => {
    const clock = new ManualClock();
    const backoff = new KeyedBackoff(clock, { firstMs: 1_000, mostMs: 60_000 });
    backoff.failed('failed');
    for (let key = 0; key < 1_000; key += 1) backoff.postpone(String(key), 500);
    expect(backoff.waiting()).to.have.length(1_001);
    clock.advance(1_300);
    expect(backoff.waiting()).to.deep.equal([]);
    expect(backoff.size).to.equal(1);
    clock.advance(130_000);
    backoff.waiting();
    expect(backoff.size).to.equal(0);
  });
});
