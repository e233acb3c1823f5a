import { expect } from 'chai';
import { Semaphore } from '../../../../infra/concurrency/semaphore.ts';

describe('Semaphore slots', () => {
  it('gives out as many slots as it has, then in the order of callers', async () => {
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

  it('gives no slot to a caller that waited too long, and loses none', async () => {
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

describe('Semaphore work', () => {
  const { signal: never } = new AbortController();
  const setUp = () => {
    const slots = new Semaphore(1);
    const done: string[] = [];
    const first = Promise.withResolvers<undefined>();
    const held = slots.run(() => first.promise, never);
    const wait = (name: string, signal = never) =>
      slots.run(() => {
        done.push(name);
        return Promise.resolve(name);
      }, signal);
    const letGo = () => {
      first.resolve(undefined);
      return held;
    };
    return { slots, done, wait, letGo };
  };

  it('runs in the order of the callers', async () => {
    const { slots, done, wait, letGo } = setUp();
    const all = ['a', 'b', 'c'].map((name) => wait(name));
    expect(slots.waiting).to.equal(3);
    await letGo();
    expect(await Promise.all(all)).to.deep.equal(['a', 'b', 'c']);
    expect(done).to.deep.equal(['a', 'b', 'c']);
    expect(slots.waiting).to.equal(0);
  });

  it('is skipped when its signal aborts while it waits, and the others run', async () => {
    const { done, wait, letGo } = setUp();
    const ending = new AbortController();
    const left = wait('left', ending.signal);
    const stays = wait('stays');
    ending.abort();
    expect(await left).to.equal(null);
    await letGo();
    expect(await stays).to.equal('stays');
    expect(done).to.deep.equal(['stays']);
  });

  it('passes its slot on when its signal aborts just as the slot is free', async () => {
    const { done, wait, letGo } = setUp();
    const ending = new AbortController();
    const left = wait('left', ending.signal);
    const stays = wait('stays');
    await letGo().then(() => {
      ending.abort();
    });
    await Promise.all([left, stays]);
    expect(done).to.include('stays');
    expect(await wait('later')).to.equal('later');
  });

  it('does not start when its signal has aborted', async () => {
    const slots = new Semaphore(1);
    expect(await slots.run(() => Promise.resolve('work'), AbortSignal.abort())).to.equal(null);
    expect(await slots.run(() => Promise.resolve('work'), never)).to.equal('work');
  });

  it('passes its slot on when it fails', async () => {
    const slots = new Semaphore(1);
    const failed = await slots
      .run(() => Promise.reject(new Error('no')), never)
      .catch((error: unknown) => String(error));
    expect(failed).to.equal('Error: no');
    expect(await slots.run(() => Promise.resolve('work'), never)).to.equal('work');
  });
});
