import { expect } from 'chai';
import { Semaphore } from '../../../../infra/concurrency/semaphore.ts';

describe('slots', () => {
  it('are given out up to their number, then in the order of the line', async () => {
    const slots = new Semaphore(2);
    expect(await Promise.all([slots.acquire(10), slots.acquire(10)])).to.deep.equal([true, true]);
    const served: string[] = [];
    const first = slots.acquire(1_000).then(() => served.push('first'));
    const second = slots.acquire(1_000).then(() => served.push('second'));
    slots.release();
    slots.release();
    await Promise.all([first, second]);
    expect(served).to.deep.equal(['first', 'second']);
  });

  it('are not given to one who waited too long, nor lost with him', async () => {
    const slots = new Semaphore(1);
    await slots.acquire(10);
    const impatient = slots.acquire(5);
    const patient = slots.acquire(1_000);
    expect(await impatient).to.equal(false);
    slots.release();
    expect(await patient).to.equal(true);
    slots.release();
    expect(await slots.acquire(0)).to.equal(true);
  });
});
