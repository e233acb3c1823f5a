import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  againstBaseline,
  readBaseline,
  recordResults,
  type Result,
  withResults,
} from '../../../bench/baseline.ts';
import { BENCHES } from '../../../bench/benches.ts';
import { ratio } from '../../../bench/figures.ts';

const found = (bench: string, figures: Record<string, number>): Result => ({
  bench,
  figures: Object.entries(figures).map(([name, value]) => ({ name, value, unit: 'ms' })),
});

describe('a recording', () => {
  const known = ['b1', 'b3', 'b4'];

  it('replaces all figures of a benchmark, so that none stays that no longer exists', () => {
    const before = { b3: { 'old row': 1, p50: 2 } };
    expect(withResults(before, [found('b3', { p50: 1.23456 })], known)).to.deep.equal({ b3: { p50: 1.235 } });
  });

  it('keeps the figures of benchmarks that did not run, or not to their end', () => {
    const before = { b1: { rate: 1 }, b4: { rate: 2 } };
    const results = [found('b3', { p50: 3 }), { ...found('b4', {}), failure: 'Error' }];
    expect(withResults(before, results, known)).to.deep.equal({
      b1: { rate: 1 },
      b3: { p50: 3 },
      b4: { rate: 2 },
    });
  });

  it('drops benchmarks that no longer exist and values that are no numbers', () => {
    const recorded = withResults({ b99: { rate: 1 } }, [found('b1', { rss: Number.NaN, rate: 5 })], known);
    expect(recorded).to.deep.equal({ b1: { rate: 5 } });
  });

  it('is written to a file that the next run reads', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-baseline-'));
    const file = join(folder, 'baseline.json');
    try {
      recordResults(file, [found('b1', { rate: 5 })], known);
      recordResults(file, [found('b3', { p50: 2 })], known);
      expect(readBaseline(file)).to.deep.equal({ b1: { rate: 5 }, b3: { p50: 2 } });
      expect(readFileSync(file, 'utf8')).to.match(/\}\n$/);
      writeFileSync(file, '{"b1": 5}');
      expect(() => readBaseline(file)).to.throw();
      expect(readBaseline(join(folder, 'absent.json'))).to.deep.equal({});
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a figure beside the baseline', () => {
  it('is compared when it is a ratio, in the direction that is better', () => {
    expect(againstBaseline(ratio('r', 3, 'more'), 2)).to.equal(1.5);
    expect(againstBaseline(ratio('r', 4, 'less'), 2)).to.equal(0.5);
    expect(againstBaseline(ratio('r', 4, 'less'), undefined)).to.equal(null);
    expect(againstBaseline({ name: 'p50', value: 4, unit: 'ms' }, 2)).to.equal(null);
  });
});

describe('the recorded baseline', () => {
  it('has benchmarks that exist', () => {
    const recorded = Object.keys(readBaseline('bench/baseline.json'));
    const known = BENCHES.map(({ name }) => name);
    expect(recorded.filter((name) => !known.includes(name))).to.deep.equal([]);
  });
});
