import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { factsOf, longJobs } from '../../support/suite/mocha-jobs.ts';

describe('longJobs', () => {
  it('lists every test file that imports its two forms', () => {
    const files = globSync('test/**/*.test.ts').filter((file) =>
      /import \{[^}]*\b(?:isLong|timesOf|figure)\b[^}]*\} from/.test(readFileSync(file, 'utf8')),
    );
    expect(files).to.include('test/e2e/soak.test.ts').and.have.length.above(20);
    expect(longJobs().map(({ name }) => name)).to.have.members(files);
  });
});

describe('factsOf', () => {
  it('counts a file as lengthy when it has a long form or starts gateways', () => {
    const names = ['soak', 'replicas', 'backup', 'access'].map((name) => `test/e2e/${name}.test.ts`);
    expect(names.map((name) => factsOf(name).isLengthy)).to.deep.equal([true, true, true, false]);
  });
});
