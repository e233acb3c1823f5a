import { expect } from 'chai';
import type { Figure } from '../../../bench/figures.ts';
import { ratio } from '../../../bench/figures.ts';
import { type Peer, peerValue, readPeer } from '../../../bench/peer.ts';
import { tableOf } from '../../../bench/table.ts';

const peer: Peer = {
  name: 'Peer',
  about: 'Measured once.',
  operations: {
    archive: { raw: { p50: 2 }, peer: { p50: 40, cpu: 34 }, gateway: { p50: 15 } },
    lists: { peer: { perSecond: 31 }, gateway: {} },
  },
};
const benches = [
  { name: 'b3', title: 'archive' },
  { name: 'b7', title: 'mailboxes that idle' },
];

/** The cells of the row of a figure. */
function row(figures: readonly Figure[], name: string, baseline: Record<string, number> = {}): string[] {
  const table = tableOf([{ bench: 'b3', figures }], benches, { baseline: { b3: baseline }, peer });
  const line = table.split('\n').find((each) => each.startsWith(name)) ?? '';
  return line.split(/ {2,}/);
}

describe('the table of a run', () => {
  it('shows a figure beside its target and whether it is met', () => {
    const met: Figure = { name: 'p50', value: 4.5, unit: 'ms', target: { atMost: 5 } };
    expect(row([met], 'p50')).to.deep.equal(['p50', '4.50 ms', '≤ 5', 'met']);
    const missed: Figure = { name: 'rate', value: 1_999.6, unit: '/s', target: { atLeast: 2_001 } };
    expect(row([missed], 'rate')).to.deep.equal(['rate', '2000 /s', '≥ 2001', 'MISSED']);
  });

  it('compares a ratio with the baseline, and no other figure', () => {
    const figures: Figure[] = [
      ratio('faster', 3, 'more'),
      ratio('slower', 3, 'less'),
      { name: 'time', value: 3, unit: 'ms' },
    ];
    const baseline = { faster: 2, slower: 2, time: 2 };
    expect(row(figures, 'faster', baseline)).to.deep.equal(['faster', '3.00 ×', '2.00', '1.50']);
    expect(row(figures, 'slower', baseline)).to.deep.equal(['slower', '3.00 ×', '2.00', '0.67 SLOWER']);
    expect(row(figures, 'time', baseline)).to.deep.equal(['time', '3.00 ms', '2.00']);
  });

  it('shows the figure of the peer in a column of its own', () => {
    const figures: Figure[] = [
      { name: 'p50', value: 15, unit: 'ms', peer: { operation: 'archive', what: 'p50' } },
      ratio('ratio', 7.5, 'less', { peer: { operation: 'archive', what: 'peer ÷ raw' } }),
      { name: 'unknown', value: 1, unit: 'ms', peer: { operation: 'archive', what: 'p99' } },
    ];
    expect(row(figures, 'figure').at(-1)).to.equal('Peer');
    expect(row(figures, 'p50')).to.deep.equal(['p50', '15.00 ms', '40.00 ms']);
    expect(row(figures, 'ratio')).to.deep.equal(['ratio', '7.50 ×', '20.00 ×']);
    expect(row(figures, 'unknown')).to.deep.equal(['unknown', '1.00 ms']);
  });

  it('names what did not run: a benchmark, a figure of the baseline, and why one failed', () => {
    expect(row([], 'B7')).to.deep.equal(['B7 mailboxes that idle', 'not run', 'npm run bench -- b7']);
    expect(row([], 'other size', { 'other size': 7 })).to.deep.equal(['other size', 'not run', '7.00']);
    const failed = [{ bench: 'b3', figures: [], failure: 'Error: no Dovecot' }];
    const table = tableOf(failed, benches, { baseline: {}, peer });
    expect(table).to.match(/^b3 FAILED +Error: no Dovecot$/m);
  });
});

describe('figures of the peer', () => {
  it('computes the distance to the raw protocol', () => {
    const of = (what: 'p50' | 'cpu' | 'peer − raw' | 'peer ÷ raw' | 'raw ÷ peer'): number =>
      peerValue(peer, { operation: 'archive', what });
    expect([of('p50'), of('cpu'), of('peer − raw'), of('peer ÷ raw'), of('raw ÷ peer')]).to.deep.equal([
      40, 34, 38, 20, 0.05,
    ]);
  });

  it('returns NaN for what was not measured and refuses an unknown operation', () => {
    expect(peerValue(peer, { operation: 'lists', what: 'peer ÷ raw' })).to.be.NaN;
    expect(() => peerValue(peer, { operation: 'copy', what: 'p50' })).to.throw('copy');
  });

  it('reads them from the data file', () => {
    expect(peerValue(readPeer(), { operation: 'archive', what: 'p50' })).to.equal(41.8);
  });
});
