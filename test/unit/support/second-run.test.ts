import { expect } from 'chai';
import type { FinishedJob } from '../../support/suite/job.ts';
import { judgeAlone, MOST_FILES } from '../../support/suite/second-run.ts';

const job = (name: string, failedFiles: readonly string[], failures = failedFiles): FinishedJob => ({
  name,
  seconds: 1,
  passed: 3,
  skipped: [],
  failures,
  failedFiles,
});

/** Judges these jobs where the named files pass alone, and tells the failures that stay and those that were unstable. */
async function judge(finished: readonly FinishedJob[], passing: readonly string[] = []) {
  const asked: string[] = [];
  const { finished: judged, unstable } = await judgeAlone(finished, {
    isStrict: (file) => file.startsWith('races'),
    jobOf: (files) => ({ name: files.join(), run: () => Promise.reject(new Error('not run here')) }),
    run: ({ name }) => {
      asked.push(name);
      return Promise.resolve(job(name, passing.includes(name) ? [] : [name]));
    },
  });
  return { asked, unstable, failed: judged.flatMap(({ failures }) => failures), judged };
}

describe('judgeAlone', () => {
  it('counts a failure as passed and unstable when its file passes alone', async () => {
    const told = await judge([job('one', ['a.test.ts']), job('two', [])], ['a.test.ts']);
    expect(told).to.deep.include({ asked: ['a.test.ts'], unstable: ['a.test.ts'], failed: [] });
    expect(told.judged[0]?.passed).to.equal(4);
  });

  it('keeps a failure when its file fails alone too', async () => {
    const told = await judge([job('one', ['a.test.ts'])]);
    expect(told).to.deep.include({ asked: ['a.test.ts'], unstable: [], failed: ['a.test.ts'] });
  });

  it('keeps a failure without asking when it is of a race or of no test', async () => {
    const told = await judge([job('one', ['races.test.ts', 'a.test.ts']), job('lint', [], ['style'])]);
    expect(told).to.deep.include({ asked: [], failed: ['races.test.ts', 'a.test.ts', 'style'] });
  });

  it('keeps every failure without asking when more files failed than neighbours explain', async () => {
    const files = Array.from({ length: MOST_FILES + 1 }, (_, n) => `${String(n)}.test.ts`);
    const told = await judge([job('one', files)], files);
    expect(told).to.deep.include({ asked: [], unstable: [], failed: files });
  });
});
