import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readMochaReport } from '../../support/suite/mocha-report.ts';

describe('mocha report', () => {
  it('is read whatever the differing values were', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-report-'));
    try {
      const path = join(folder, 'report.json');
      const failures = [
        { fullTitle: 'counts', err: { message: 'differs', actual: 3, expected: '+0' } },
        { fullTitle: 'names', err: { message: 'differs', actual: '"a"', expected: '"b"' } },
        { fullTitle: 'always', err: { message: 'fails after 4 tests', cause: { message: 'no answer' } } },
        ...[{}, null, 'closed'].map((cause) => ({ fullTitle: 'never', err: { message: 'fails', cause } })),
      ];
      await writeFile(path, JSON.stringify({ passes: [], pending: [], failures }));
      expect(readMochaReport(path)?.failures).to.deep.equal([
        'counts\ndiffers\nexpected +0\nactual   3',
        'names\ndiffers\nexpected "b"\nactual   "a"',
        'always\nfails after 4 tests\ncaused by no answer',
        ...Array<string>(3).fill('never\nfails'),
      ]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
