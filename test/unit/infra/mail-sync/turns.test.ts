import { expect } from 'chai';
import { Turns } from '../../../../infra/mail-sync/turns.ts';

describe('turns', () => {
  const { signal: never } = new AbortController();
  const setUp = () => {
    const turns = new Turns(1);
    const done: string[] = [];
    const first = Promise.withResolvers<undefined>();
    const held = turns.run(() => first.promise, never);
    const wait = (name: string, signal = never) =>
      turns.run(() => {
        done.push(name);
        return Promise.resolve(name);
      }, signal);
    const letGo = () => {
      first.resolve(undefined);
      return held;
    };
    return { turns, done, wait, letGo };
  };

  it('go to who waits in the order they came', async () => {
    const { turns, done, wait, letGo } = setUp();
    const all = ['a', 'b', 'c'].map((name) => wait(name));
    expect(turns.isWanted).to.equal(true);
    await letGo();
    expect(await Promise.all(all)).to.deep.equal(['a', 'b', 'c']);
    expect(done).to.deep.equal(['a', 'b', 'c']);
    expect(turns.isWanted).to.equal(false);
  });

  it('are not waited for any longer by who is told to end, and the others come up', async () => {
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

  it('are passed on by who is told to end just as one comes up', async () => {
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

  it('are not begun by who was told to end before', async () => {
    const turns = new Turns(1);
    expect(await turns.run(() => Promise.resolve('work'), AbortSignal.abort())).to.equal(null);
    expect(await turns.run(() => Promise.resolve('work'), never)).to.equal('work');
  });

  it('are passed on when work fails', async () => {
    const turns = new Turns(1);
    const failed = await turns
      .run(() => Promise.reject(new Error('no')), never)
      .catch((error: unknown) => String(error));
    expect(failed).to.equal('Error: no');
    expect(await turns.run(() => Promise.resolve('work'), never)).to.equal('work');
  });
});
