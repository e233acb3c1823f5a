import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { productSources } from '../../support/suite/sources.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The files of the table under `## Memory`. */
function listed(): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, section = ''] = /^## Memory\n([^]*?)^## /m.exec(page) ?? [];
  return [...section.matchAll(/^\|[^|]*\| ([\w./-]+\.ts) /gm)].map(([, file = '']) => file);
}

describe('caches', () => {
  it('are all in the table of operations.md', () => {
    const caches = productSources()
      .filter(({ text }) => text.includes('new BoundedMap<'))
      .map(({ path }) => path);
    expect(caches).to.have.length.above(10);
    expect(listed()).to.include.members(caches);
    for (const file of listed()) expect(existsSync(join(ROOT, file)), file).to.equal(true);
  });
});
