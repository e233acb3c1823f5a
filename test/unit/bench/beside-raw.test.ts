import { expect } from 'chai';
import { countOf, cpuEach, figuresOf, measureBesideRaw, type Operation } from '../../../bench/beside-raw.ts';

const operation: Operation = {
  name: 'B3 archive',
  anchor: 'IMAP MOVE',
  added: { 'back to back': 5, 'one every 300 ms': 8 },
  cpuAtMost: 9,
  peer: 'archive',
  ours: () => Promise.resolve(6),
  theirs: () => Promise.resolve(2),
};

describe('an operation beside the raw protocol', () => {
  const cpu = { gateway: 0.007, postgres: 0.003 };
  const byName = (pace: 'back to back' | 'one every 300 ms') => {
    const figures = figuresOf(operation, pace, { ours: [9, 6, 7], theirs: [2, 3, 1] }, cpu);
    return new Map(figures.map((figure) => [figure.name.replace(`B3 archive, ${pace}: `, ''), figure]));
  };

  it('has what the gateway adds, the ratio, and the CPU of each', () => {
    const figures = byName('back to back');
    expect([...figures].map(([name, { value }]) => [name, value])).to.deep.equal([
      ['p50', 7],
      ['p99', 9],
      ['raw IMAP MOVE p50', 2],
      ['added at p50', 5],
      ['÷ raw', 3.5],
      ['CPU of the gateway', 7],
      ['CPU of Postgres', 3],
    ]);
    expect(figures.get('÷ raw')?.better).to.equal('less');
  });

  it('has a target and a peer of its own in each pace', () => {
    const [together, alone] = [byName('back to back'), byName('one every 300 ms')];
    expect(together.get('added at p50')?.target).to.deep.equal({ atMost: 5 });
    expect(alone.get('added at p50')?.target).to.deep.equal({ atMost: 8 });
    expect(together.get('p50')?.peer).to.deep.equal({ operation: 'archive', what: 'p50' });
    expect(alone.get('p50')?.peer).to.equal(undefined);
  });

  it('takes off what an idle gateway uses in the same time', () => {
    const idle = { gateway: 0.02, postgres: 0.01 };
    const each = cpuEach({ gateway: 1.2, postgres: 0.6, seconds: 10 }, idle, 100);
    expect(each).to.deep.equal({ gateway: 0.01, postgres: 0.005 });
  });

  it('runs each index once on each side, in turns, and counts what is not warm-up', async () => {
    const order: string[] = [];
    const noting = (side: string) => (index: number) => {
      order.push(`${side}${index}`);
      return Promise.resolve(1);
    };
    const counted = { ...operation, ours: noting('ours '), theirs: noting('theirs ') };
    const figures = await measureBesideRaw(process.pid, { gateway: 0, postgres: 0 }, counted, 20);
    const total = countOf(20);
    const indexes = Array.from({ length: total }, (_, index) => index);
    for (const side of ['ours', 'theirs']) {
      const own = order.filter((each) => each.startsWith(`${side} `));
      expect(own).to.deep.equal(indexes.map((index) => `${side} ${index}`));
    }
    // One after the other at the second pace, which is the last.
    expect(order.slice(-2)).to.deep.equal([`ours ${total - 1}`, `theirs ${total - 1}`]);
    expect(order.slice(-4, -2)).to.deep.equal([`ours ${total - 2}`, `theirs ${total - 2}`]);
    expect(figures.length).to.equal(14);
  });
});
